"""Bring the search index up to the lake: rows for what is new at once, vectors as they are computed.

Pages become documents when a person saw them at least once. A crash at any point leaves documents marked `stale`
(not in the index yet) or `pending` (in it, found by keyword, without a vector); the next run finishes them.
"""

import time
from dataclasses import dataclass

import polars as pl

from brain import ids
from brain.embedding import DEFAULT, Embedder
from brain.embedding.installed import IDENTITY
from brain.progress import Progress, silent
from brain.services import coverage
from brain.sql import Connection, frame, transaction
from brain.workspace import Workspace

_ROWS_PER_LEASE = 20_000
_WATERMARK = "documents_through_change"


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one run did: documents written to the index, vectors made, documents left without one and why."""

    indexed: int
    removed: int
    embedded: int
    pending: int
    seconds: float
    degraded: list[str]


def index_documents(
    ws: Workspace, *, rebuild: bool = False, embed: bool = True, progress: Progress | None = None
) -> IndexReport:
    """Index everything that waits. `rebuild` drops the derived index and makes it anew from the lake.

    Without a model documents are found by keyword and the report says so. Raises IndexUnavailable when the index
    cannot be written.
    """
    started = time.monotonic()
    say = progress or silent
    if not ws.lake.exists:
        return IndexReport(0, 0, 0, 0, 0.0, [])
    ws.lake.ensure()
    if not rebuild and _is_current(ws):
        return IndexReport(0, 0, 0, 0, round(time.monotonic() - started, 3), [])
    embedder, reason = ws.embedder_or_none() if embed else (None, None)
    if rebuild:  # before anything else asks the index, which may be damaged
        ws.index.drop()
        _mark_all_stale(ws)
    ws.index.prepare(embedder.identity if embedder and ws.index.model in (None, embedder.identity) else None)
    refresh_pages(ws, say)
    indexed, removed = _write_stale(ws, say)
    embedded = _embed(ws, embedder, say) if embedder else 0
    ws.index.optimize()
    pending = ws.index.pending()
    _settle(ws)
    coverage.refresh(ws)
    degraded = [f"keyword only: {reason}"] if reason else []
    return IndexReport(indexed, removed, embedded, pending, round(time.monotonic() - started, 3), degraded)


def _is_current(ws: Workspace) -> bool:
    """Whether nothing waits, told without loading a model or opening the index."""
    if ws.settings.embedder != DEFAULT or ws.index.model != IDENTITY:
        return False
    with ws.lake.read(what="index") as con:
        since, through = _watermarks(con)
        ((waiting,),) = con.execute(
            "SELECT count(*) FROM store.documents WHERE state IN ('stale', 'pending', 'removed')"
        ).fetchall()
    return through <= since and not waiting


def _embed(ws: Workspace, embedder: Embedder, say: Progress) -> int:
    """Make the vectors that are missing; all of them, beside the live ones, when the model is another."""

    def progress(done: int, total: int) -> None:
        say("embedding", done, total)

    if ws.index.model != embedder.identity:
        return ws.index.switch(embedder, progress)
    return ws.index.embed_pending(embedder, progress)


def refresh_pages(ws: Workspace, say: Progress = silent) -> int:
    """Make or renew the documents of pages and bookmarks touched since the last run; returns how many changed.

    Those whose visits or bookmarks all went are marked `gone`.
    """
    with ws.lake.snapshot() as con:
        since, through = _watermarks(con)
        if through <= since:
            return 0
        changed = pl.concat([_changed_pages(con, since), _changed_bookmarks(con, since)])
    for start in range(0, changed.height, _ROWS_PER_LEASE):
        part = changed.slice(start, _ROWS_PER_LEASE)
        with ws.lake.write(what="documents") as con, transaction(con):
            con.register("part", part.to_arrow())
            con.execute("DELETE FROM store.documents WHERE doc_id IN (SELECT doc_id FROM part)")
            con.execute("""
                INSERT INTO store.documents
                SELECT doc_id, kind, page_id, title, text, url, domain, source, origin, first_at, last_at,
                       visit_count, 1, CASE WHEN is_there THEN 'stale' ELSE 'removed' END,
                       nextval('store.change_seq')
                FROM part""")
            con.unregister("part")
        say("documents", min(start + _ROWS_PER_LEASE, changed.height), changed.height)
    with ws.lake.write(what="documents") as con:
        con.execute(
            "INSERT INTO store.meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [_WATERMARK, str(through)],
        )
    return changed.height


def _watermarks(con: Connection) -> tuple[int, int]:
    """The change up to which pages have been made documents, and the newest change there is."""
    ((since, through),) = con.execute(
        """
        SELECT coalesce((SELECT value::BIGINT FROM store.meta WHERE name = ?), 0),
               coalesce(greatest((SELECT max(change_id) FROM store.urls), (SELECT max(change_id) FROM store.visits),
                                 (SELECT max(change_id) FROM store.bookmarks)), 0)
        """,
        [_WATERMARK],
    ).fetchall()
    return since, through


def _changed_pages(con: Connection, since: int) -> pl.DataFrame:
    """Pages whose visits or titles changed, where that changes their document."""
    return frame(
        con,
        f"""
        WITH dirty AS (
            SELECT page_id FROM store.urls WHERE change_id > $1
            UNION SELECT page_id FROM store.visits v JOIN store.urls USING (url_id) WHERE v.change_id > $1),
        seen AS (
            SELECT u.page_id, min(v.visited_at) AS first_at, max(v.visited_at) AS last_at, count(*) AS visit_count,
                   arg_max(u.url, v.visited_at) AS url, any_value(u.domain) AS domain,
                   arg_max(v.source_id, v.visited_at) AS source_id
            FROM store.visits v JOIN store.urls u USING (url_id) SEMI JOIN dirty USING (page_id)
            WHERE v.is_visible AND v.duplicate_of IS NULL GROUP BY u.page_id),
        named AS (
            SELECT page_id, arg_max(title, title_as_of) AS title
            FROM store.urls SEMI JOIN dirty USING (page_id) GROUP BY page_id),
        page AS (
            SELECT {ids.sql("p", "page_id")} AS doc_id, page_id, title, url, domain, source,
                   browser || CASE WHEN profile = '' THEN '' ELSE '/' || profile END AS origin,
                   first_at, last_at, coalesce(visit_count, 0) AS visit_count
            FROM dirty LEFT JOIN seen USING (page_id) LEFT JOIN named USING (page_id)
            LEFT JOIN store.sources USING (source_id))
        SELECT p.doc_id, 'page' AS kind, p.page_id, p.title, '' AS text, p.url, p.domain,
               coalesce(p.source, d.source) AS source, p.origin, p.first_at, p.last_at, p.visit_count,
               p.visit_count > 0 AS is_there
        FROM page p LEFT JOIN store.documents d USING (doc_id)
        WHERE CASE WHEN p.visit_count = 0 THEN d.doc_id IS NOT NULL AND d.state NOT IN ('removed', 'gone')
              ELSE d.doc_id IS NULL OR d.state IN ('removed', 'gone')
                  OR (p.title, p.url, p.last_at, p.visit_count, p.first_at)
                     IS DISTINCT FROM (d.title, d.url, d.last_at, d.visit_count, d.first_at) END""",
        [since],
    )


def _changed_bookmarks(con: Connection, since: int) -> pl.DataFrame:
    """Bookmarked pages, one document each whatever the number of bookmarks, where that changes their document."""
    return frame(
        con,
        f"""
        WITH dirty AS (
            SELECT page_id FROM store.urls WHERE change_id > $1
            UNION SELECT page_id FROM store.bookmarks b JOIN store.urls USING (url_id) WHERE b.change_id > $1),
        kept AS (
            SELECT u.page_id, arg_max(b.title, b.added_at) FILTER (b.title IS NOT NULL) AS newest_title,
                   any_value(b.title) AS any_title, arg_max(u.url, b.added_at) AS newest_url,
                   any_value(u.url) AS any_url, any_value(u.domain) AS domain,
                   min(b.source_id) AS source_id, min(b.added_at) AS first_at,
                   max(greatest(b.added_at, b.modified_at)) AS last_at,
                   string_agg(DISTINCT concat_ws(E'\n', nullif(array_to_string(b.folder, ' / '), ''),
                                        nullif(array_to_string(b.tags, ', '), ''), b.note), E'\n'
                              ORDER BY concat_ws(E'\n', nullif(array_to_string(b.folder, ' / '), ''),
                                        nullif(array_to_string(b.tags, ', '), ''), b.note)) AS text
            FROM store.bookmarks b JOIN store.urls u USING (url_id) SEMI JOIN dirty USING (page_id)
            GROUP BY u.page_id),
        bookmark AS (
            SELECT {ids.sql("b", "page_id")} AS doc_id, page_id, coalesce(newest_title, any_title) AS title,
                   coalesce(text, '') AS text, coalesce(newest_url, any_url) AS url, domain, source,
                   browser || CASE WHEN profile = '' THEN '' ELSE '/' || profile END AS origin, first_at, last_at,
                   k.page_id IS NOT NULL AS is_there
            FROM dirty LEFT JOIN kept k USING (page_id) LEFT JOIN store.sources USING (source_id))
        SELECT b.doc_id, 'bookmark' AS kind, b.page_id, b.title, b.text, b.url, b.domain,
               coalesce(b.source, d.source) AS source, b.origin, b.first_at, b.last_at, 0::BIGINT AS visit_count,
               b.is_there
        FROM bookmark b LEFT JOIN store.documents d USING (doc_id)
        WHERE CASE WHEN NOT b.is_there THEN d.doc_id IS NOT NULL AND d.state NOT IN ('removed', 'gone')
              ELSE d.doc_id IS NULL OR d.state IN ('removed', 'gone')
                  OR (b.title, b.text, b.url, b.first_at, b.last_at)
                     IS DISTINCT FROM (d.title, d.text, d.url, d.first_at, d.last_at) END""",
        [since],
    )


def _write_stale(ws: Workspace, say: Progress) -> tuple[int, int]:
    """Write waiting documents to the index; a document that changes meanwhile stays stale for the next round."""
    indexed = removed = 0
    while True:
        with ws.lake.read(what="index") as con:
            ((total,),) = con.execute(
                "SELECT count(*) FROM store.documents WHERE state IN ('stale', 'removed')"
            ).fetchall()
            part = frame(
                con,
                f"""
                SELECT doc_id AS id, kind, text, title, url, domain, source, origin, epoch_us(first_at) AS first_us,
                       epoch_us(last_at) AS last_us, visit_count, state, change_id
                FROM store.documents WHERE state IN ('stale', 'removed') LIMIT {_ROWS_PER_LEASE}""",
            )
        if not part.height:
            return indexed, removed
        gone = part.filter(pl.col("state") == "removed")
        if gone.height:
            ws.index.delete(gone["id"].to_list())
            removed += gone.height
        fresh = part.filter(pl.col("state") == "stale").drop("state", "change_id")
        if fresh.height:
            ws.index.upsert(fresh)
            indexed += fresh.height
        with ws.lake.write(what="index") as con:
            con.register("part", part.select("id", "state", "change_id").to_arrow())
            # Another process may have written the same documents first: what has moved on stays where it is.
            con.execute("""
                UPDATE store.documents SET state = CASE part.state WHEN 'stale' THEN 'pending' ELSE 'gone' END
                FROM part WHERE part.id = doc_id AND part.change_id = documents.change_id
                    AND part.state = documents.state""")
            con.unregister("part")
        say("indexing", indexed, indexed + total - fresh.height)


def _settle(ws: Workspace) -> None:
    """Mark documents ready whose vectors are all there."""
    waiting = ws.index.pending_ids()
    with ws.lake.write(what="index") as con:
        con.register("waiting", pl.DataFrame({"id": waiting}, schema={"id": pl.String}).to_arrow())
        con.execute("""
            UPDATE store.documents SET state = 'ready'
            WHERE state = 'pending' AND doc_id NOT IN (SELECT id FROM waiting)""")
        con.unregister("waiting")


def _mark_all_stale(ws: Workspace) -> None:
    with ws.lake.write(what="index rebuild") as con:
        con.execute("UPDATE store.documents SET state = 'stale' WHERE state IN ('pending', 'ready')")
