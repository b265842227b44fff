"""Idempotent merges of bookmarks and texts; see `brain.merge`, whose rules hold here too."""

from typing import Literal

import polars as pl

from brain.merge import Merged, next_change
from brain.sql import Connection, frame
from brain.thought_rows import merge_thoughts

Record = Literal["bookmarks", "texts"]

_KEYS: dict[Record, str] = {"bookmarks": "bookmark_key", "texts": "doc_id"}
# Where a record as read (p) says something else than the lake's row of it (r). What is unknown says nothing.
_OTHERWISE: dict[Record, tuple[str, ...]] = {
    "bookmarks": ("title", "tags", "note", "added_at", "modified_at", "last_used_at"),
    "texts": ("title", "text", "tags", "url", "created_at", "modified_at", "details"),
}


def unsettled(con: Connection, record: Record, rows: pl.DataFrame) -> pl.DataFrame:
    """Which of these a merge would do anything with: the key, is_new. Reads only."""
    key = _KEYS[record]
    con.register("part", rows.to_arrow())
    found = frame(
        con,
        f"""
        SELECT p.{key}, r.{key} IS NULL AS is_new FROM part p LEFT JOIN store.{record} r USING ({key})
        WHERE (r.{key} IS NULL OR {_differs(record)})
            {"AND p.doc_id NOT IN (SELECT thought_id FROM store.thoughts)" if record == "texts" else ""}""",
    )
    con.unregister("part")
    return found


def merge_bookmarks(con: Connection, rows: pl.DataFrame, source_id: int, import_id: int | None) -> Merged:
    """Insert places of URLs the lake lacks; of known ones take the newer word, keep a date once known."""
    return _merge(con, "bookmarks", rows, source_id, import_id)


def merge_texts(con: Connection, rows: pl.DataFrame, source_id: int, import_id: int | None) -> Merged:
    """Insert texts the lake lacks, renew those that were edited, and make them documents; thoughts become thoughts."""
    thoughts = rows.filter(pl.col("kind") == "thought")
    if thoughts.height:
        made = merge_thoughts(con, thoughts, source_id)
        rest = rows.filter(pl.col("kind") != "thought")
        other = merge_texts(con, rest, source_id, import_id) if rest.height else Merged(0, 0)
        return Merged(made.new + other.new, made.updated + other.updated)
    merged = _merge(con, "texts", rows, source_id, import_id)
    con.register("part", rows.select("doc_id").to_arrow())
    con.execute(
        """
        CREATE OR REPLACE TEMP TABLE written AS
        SELECT t.doc_id, t.kind, t.title, t.text, t.url, t.domain, s.source,
               nullif(s.profile, '') AS origin, t.created_at AS first_at,
               coalesce(t.modified_at, t.created_at) AS last_at
        FROM store.texts t SEMI JOIN part USING (doc_id) JOIN store.sources s USING (source_id)
        LEFT JOIN store.documents d USING (doc_id)
        WHERE d.doc_id IS NULL OR d.state IN ('removed', 'gone')
            OR (t.title, t.text, t.url, t.created_at, coalesce(t.modified_at, t.created_at))
               IS DISTINCT FROM (d.title, d.text, d.url, d.first_at, d.last_at)"""
    )
    con.unregister("part")
    con.execute("DELETE FROM store.documents WHERE doc_id IN (SELECT doc_id FROM written)")
    con.execute("""
        INSERT INTO store.documents (doc_id, kind, title, text, url, domain, source, origin, first_at, last_at,
                                     visit_count, state, change_id)
        SELECT doc_id, kind, title, text, url, domain, source, origin, first_at, last_at, 0, 'stale',
               nextval('store.change_seq') FROM written""")
    con.execute("DROP TABLE written")
    return merged


def _merge(
    con: Connection, record: Record, rows: pl.DataFrame, source_id: int, import_id: int | None
) -> Merged:
    key = _KEYS[record]
    change = next_change(con)
    con.register("part", rows.to_arrow())
    con.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE fresh AS
        SELECT part.*, ?::USMALLINT AS source_id, ?::INTEGER AS import_id, ?::BIGINT AS change_id
        FROM part ANTI JOIN store.{record} USING ({key})""",
        [source_id, import_id, change],
    )
    ((new,),) = con.execute(f"INSERT INTO store.{record} BY NAME FROM fresh").fetchall()
    con.execute("DROP TABLE fresh")
    updated = 0
    if new < rows.height:
        taken = ", ".join(f"{name} = coalesce(p.{name}, r.{name})" for name in _OTHERWISE[record])
        ((updated,),) = con.execute(
            f"""
            UPDATE store.{record} r SET {taken}, change_id = ? FROM part p
            WHERE p.{key} = r.{key} AND ({_differs(record)})""",
            [change],
        ).fetchall()
    con.unregister("part")
    return Merged(int(new), int(updated))


def _differs(record: Record) -> str:
    return " OR ".join(
        f"(p.{name} IS NOT NULL AND p.{name} IS DISTINCT FROM r.{name})" for name in _OTHERWISE[record]
    )
