"""Search over everything, and what is related to one item: the one way every edge asks."""

from dataclasses import dataclass
from typing import Any

from brain import ids, intervals
from brain import search as retrieval
from brain.errors import IndexUnavailable, UsageError
from brain.intervals import Interval
from brain.models import KINDS, SOURCES, Hit
from brain.services._plain_search import search_lake
from brain.services.coverage import Coverage, cover
from brain.workspace import Workspace

LONGEST_QUERY = 10_000


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits best first, a cursor to go on with (None at the end), and what the answer rests on."""

    results: list[Hit]
    cursor: str | None
    coverage: Coverage


def search(
    ws: Workspace,
    query: str,
    *,
    kinds: tuple[str, ...] = (),
    sources: tuple[str, ...] = (),
    domain: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 10,
    mode: str = "hybrid",
    cursor: str | None = None,
) -> SearchResult:
    """Find documents by words and meaning. Filters come before ranking; an interval holds pages visited inside it.

    Without a model the answer is by words; without the index by plain text matching in the lake; `coverage.degraded`
    says so. Raises UsageError for an empty query or an argument out of its range.
    """
    _check(query, kinds, sources, limit, mode)
    interval = intervals.resolve(ws.settings, since, until)
    if not ws.lake.exists:
        return SearchResult([], None, cover(ws, interval, ["the lake is empty: import something first"]))
    filters = retrieval.Filters(
        kinds=kinds,
        sources=sources,
        domain=domain,
        since_us=interval.since_us,
        until_us=interval.until_us,
        inside_ids=lambda: _visited_inside(ws, interval),
    )
    embedder, reason = (None, None) if mode == "keyword" else ws.embedder_or_none()
    degraded = [f"keyword only: {reason}"] if reason else []
    if reason and mode == "semantic":
        raise UsageError(f"no search by meaning: {reason}")
    try:
        answer = retrieval.search(
            ws.index, embedder, query, filters=filters, limit=limit, mode=mode, cursor=cursor
        )
    except IndexUnavailable as error:
        hits, following = search_lake(ws, query, filters, limit, cursor)
        degraded = [f"plain text matching only: {error}"]
        return SearchResult(hits, following, cover(ws, interval, degraded))
    # Why there is no model is said once, and by whoever knows it.
    degraded += [note for note in answer.degraded if not (reason and note.startswith("keyword only"))]
    return SearchResult(answer.hits, answer.cursor, cover(ws, interval, degraded))


def related(ws: Workspace, item_id: str, limit: int = 10) -> SearchResult:
    """What is closest in meaning to a document, itself left out.

    Raises UsageError for an unknown id, IndexUnavailable or ModelUnavailable when neighbours cannot be told.
    """
    _check("x", (), (), limit, "semantic")
    unbounded = intervals.resolve(ws.settings)
    if not ws.lake.exists:
        raise UsageError(f"there is nothing with the id {item_id!r}: the lake is empty")
    doc_id = _document_of(ws, item_id)
    answer = retrieval.related(ws.index, doc_id, limit=limit)
    return SearchResult(answer.hits, None, cover(ws, unbounded, answer.degraded))


def _check(query: str, kinds: tuple[str, ...], sources: tuple[str, ...], limit: int, mode: str) -> None:
    if not query.strip():
        raise UsageError("the query is empty")
    if len(query) > LONGEST_QUERY:
        raise UsageError(f"the query has {len(query):,} characters; at most {LONGEST_QUERY:,} are searched")
    for name, given, known in (("kind", kinds, KINDS), ("source", sources, SOURCES)):
        if wrong := set(given) - set(known):
            raise UsageError(f"unknown {name} {', '.join(sorted(wrong))}; known: {', '.join(known)}")
    if not 1 <= limit <= 100:
        raise UsageError("the limit must be from 1 to 100")
    if mode not in retrieval.MODES:
        raise UsageError(f"unknown mode {mode!r}; choose {', '.join(retrieval.MODES)}")


def _visited_inside(ws: Workspace, interval: Interval) -> list[str]:
    """Pages with a visible visit inside the interval whose visits also lie before and after it."""
    with ws.lake.read(what="search") as con:
        rows = con.execute(
            """
            SELECT DISTINCT d.doc_id FROM store.visits v JOIN store.urls u USING (url_id)
            JOIN store.documents d USING (page_id)
            WHERE v.visited_at >= make_timestamptz($1::BIGINT) AND v.visited_at < make_timestamptz($2::BIGINT)
                AND v.is_visible AND v.duplicate_of IS NULL
                AND d.first_at < make_timestamptz($1::BIGINT) AND d.last_at >= make_timestamptz($2::BIGINT)""",
            [interval.since_us or 0, interval.until_us],
        ).fetchall()
    return [row[0] for row in rows]


def _document_of(ws: Workspace, item_id: str) -> str:
    """The document an id means: its own, or a visit's page."""
    letter, number = ids.parts(item_id) or ("", 0)
    with ws.lake.read(what="related") as con:
        if letter == "v":
            rows: list[Any] = con.execute(
                """
                SELECT d.doc_id FROM store.visits v JOIN store.urls u USING (url_id)
                JOIN store.documents d USING (page_id)
                WHERE v.visit_key = ? AND d.kind = 'page'""",
                [number],
            ).fetchall()
        else:
            rows = con.execute(
                "SELECT doc_id FROM store.documents WHERE doc_id = ? AND state NOT IN ('removed', 'gone')",
                [item_id],
            ).fetchall()
    if not rows:
        raise UsageError(f"there is nothing with the id {item_id!r}")
    return str(rows[0][0])
