"""Rows of thoughts: what makes two the same, the document that shows them, thoughts taken over from elsewhere."""

import hashlib
import json
from typing import Any

import polars as pl

from brain.extraction import TYPES, extract
from brain.merge import Merged
from brain.sql import Connection, frame

LISTS = ("topics", "people", "action_items", "dates")


def hash_of(content: str) -> str:
    """Equal for texts that differ in case and white space only."""
    return hashlib.sha256(" ".join(content.lower().split()).encode()).hexdigest()


def refresh_document(con: Connection, digest: str) -> None:
    """One document for all thoughts of one text: that of the earliest that is there, dated by the latest."""
    refresh_documents(con, [digest])


def refresh_documents(con: Connection, digests: list[str]) -> None:
    """The same for the thoughts of many texts at once."""
    if not digests:
        return
    heads = frame(
        con,
        """
        SELECT content_hash, arg_min(thought_id, (created_at, rowid)) AS id,
               arg_min(content, (created_at, rowid)) AS content, arg_min(channel, (created_at, rowid)) AS channel,
               arg_min(source, (created_at, rowid)) AS source, min(created_at) AS first, max(created_at) AS last
        FROM store.thoughts
        WHERE content_hash IN (SELECT unnest($1)) AND deleted_at IS NULL AND superseded_by IS NULL
        GROUP BY content_hash""",
        [digests],
    )
    con.register("heads", heads.to_arrow())
    con.execute(
        """
        UPDATE store.documents SET state = 'removed', change_id = nextval('store.change_seq')
        WHERE kind = 'thought' AND state NOT IN ('removed', 'gone') AND doc_id NOT IN (SELECT id FROM heads)
            AND doc_id IN (SELECT thought_id FROM store.thoughts WHERE content_hash IN (SELECT unnest($1)))""",
        [digests],
    )
    con.execute("DELETE FROM store.documents WHERE doc_id IN (SELECT id FROM heads)")
    con.execute("""
        INSERT INTO store.documents (doc_id, kind, title, text, url, domain, source, origin, first_at, last_at,
                                     visit_count, state, change_id)
        SELECT id, 'thought', NULL, content, NULL, NULL, channel, source, first, last, 0, 'stale',
               nextval('store.change_seq') FROM heads""")
    con.unregister("heads")


def merge_thoughts(con: Connection, rows: pl.DataFrame, source_id: int) -> Merged:
    """Make imported texts of kind thought real thoughts: one occurrence at the instant it was had.

    What the source found in them is taken from `details`, the rest found here. A thought that is known by its id is
    left as it is, also where it was edited or deleted since. Runs inside the caller's transaction.
    """
    ((source, profile),) = con.execute(
        "SELECT source, profile FROM store.sources WHERE source_id = ?", [source_id]
    ).fetchall()
    con.register("told", rows.select("doc_id").to_arrow())
    known = frame(con, "SELECT doc_id FROM told SEMI JOIN store.thoughts ON thought_id = doc_id")["doc_id"]
    con.unregister("told")
    fresh = rows.filter(~pl.col("doc_id").is_in(known.implode()))
    if not fresh.height:
        return Merged(0, 0)
    found = [_metadata(row) for row in fresh.iter_rows(named=True)]
    made = fresh.select(
        pl.col("doc_id").alias("thought_id"),
        pl.col("text").alias("content"),
        pl.Series("content_hash", [hash_of(text) for text in fresh["text"]], pl.String),
        pl.coalesce("created_at", "modified_at").alias("created_at"),
        pl.Series("type", [meta["type"] for meta in found], pl.String),
        *(pl.Series(name, [meta[name] for meta in found], pl.List(pl.String)) for name in LISTS),
        pl.int_range(pl.len()).alias("place"),
    )
    con.register("made", made.to_arrow())
    # The earliest of the same text that the lake has, else the first of them here.
    con.execute(
        """
        INSERT INTO store.thoughts BY NAME
        WITH earlier AS (
            SELECT content_hash, arg_min(thought_id, (created_at, rowid)) AS first FROM store.thoughts
            WHERE content_hash IN (SELECT content_hash FROM made) AND deleted_at IS NULL GROUP BY content_hash),
        told AS (
            SELECT *, first_value(thought_id) OVER (PARTITION BY content_hash ORDER BY place) AS leader FROM made)
        SELECT m.* EXCLUDE (place, leader, created_at), $whence AS source, $channel AS channel,
               coalesce(m.created_at, now()) AS created_at, now() AS captured_at, 1 AS version,
               coalesce(e.first, nullif(m.leader, m.thought_id)) AS same_as,
               nextval('store.change_seq') AS change_id
        FROM told m LEFT JOIN (SELECT content_hash, first FROM earlier) e USING (content_hash) ORDER BY place""",
        {"whence": profile or source, "channel": source},
    )
    con.execute(
        """
        INSERT INTO store.thought_occurrences
        SELECT thought_id, $1, NULL, coalesce(created_at, now()), now(), 'import:' || thought_id FROM made""",
        [profile or source],
    )
    con.unregister("made")
    refresh_documents(con, made["content_hash"].unique(maintain_order=True).to_list())
    return Merged(made.height, 0)


def with_metadata(rows: pl.DataFrame) -> pl.DataFrame:
    """Texts whose thoughts say all about themselves in `details`, so that merging them has nothing left to find out."""
    if not (rows["kind"] == "thought").any():
        return rows
    details = [
        json.dumps(_metadata(row), ensure_ascii=False) if row["kind"] == "thought" else row["details"]
        for row in rows.iter_rows(named=True)
    ]
    return rows.with_columns(pl.Series("details", details, pl.String))


def _metadata(row: dict[str, Any]) -> dict[str, Any]:
    """What the source tells of a thought, and what its text does of the rest."""
    try:
        told = json.loads(row["details"] or "{}")
    except (ValueError, RecursionError):
        told = {}
    told = told if isinstance(told, dict) else {}
    meta = {
        name: [str(value)[:500] for value in told[name][:20]]
        for name in LISTS
        if isinstance(told.get(name), list)
    }
    if told.get("type") in TYPES:
        meta["type"] = told["type"]
    if len(meta) > len(LISTS):
        return meta
    created = row["created_at"] or row["modified_at"]
    found = extract(row["text"], created) if created is not None else None
    rest: dict[str, Any] = {name: getattr(found, name) if found else [] for name in LISTS}
    return rest | {"type": found.type if found else "observation"} | meta
