"""What was read and written around a moment, in order."""

from dataclasses import dataclass
from typing import Any

from brain import ids, intervals
from brain.errors import UsageError
from brain.intervals import Interval, iso
from brain.models import LATEST_US
from brain.services.coverage import Coverage, cover
from brain.sql import records
from brain.workspace import Workspace

_MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class Timeline:
    """Items ordered by instant: at, kind, id, title, url, origin."""

    items: list[dict[str, Any]]
    coverage: Coverage


def timeline(ws: Workspace, around: str | None = None, window: str = "30m", limit: int = 500) -> Timeline:
    """Visible visits and everything written within `window` before and after a moment.

    `around` is an id (a visit, a page's newest visit, a document), an instant or a phrase such as `yesterday`, whose
    whole period is then shown; default now. Raises UsageError for an unknown id or a phrase not understood.
    """
    if ws.lake.exists:
        ws.lake.ensure()
    # Nothing lies outside these, and instants far beyond them cannot be written as dates.
    start, end = (min(max(us, 0), LATEST_US) for us in _bounds(ws, around, window))
    interval = Interval(start, end, ws.settings.timezone)
    if not ws.lake.exists:
        return Timeline([], cover(ws, interval))
    with ws.lake.read(what="timeline") as con:
        found = con.execute(
            f"""
            SELECT epoch_us(visited_at) AS at, 'page' AS kind, {ids.sql("v", "visit_key")} AS id,
                   coalesce(v.title, u.title) AS title, u.url,
                   s.browser || CASE WHEN s.profile = '' THEN '' ELSE '/' || s.profile END AS origin
            FROM store.visits v JOIN store.urls u USING (url_id) JOIN store.sources s USING (source_id)
            WHERE visited_at >= make_timestamptz($1) AND visited_at < make_timestamptz($2)
                AND is_visible AND duplicate_of IS NULL
            UNION ALL
            SELECT epoch_us(last_at), kind, doc_id, coalesce(title, left(text, 200)), url, origin
            FROM store.documents
            WHERE kind <> 'page' AND state NOT IN ('removed', 'gone')
                AND last_at >= make_timestamptz($1) AND last_at < make_timestamptz($2)
            ORDER BY 1, 3 LIMIT $3""",
            [start, end, limit],
        )
        items = [item | {"at": iso(item["at"])} for item in records(found)]
    return Timeline(items, cover(ws, interval))


def _bounds(ws: Workspace, around: str | None, window: str) -> tuple[int, int]:
    start, end = intervals.period(window, ws.settings)
    width = intervals.to_us(end) - intervals.to_us(start)
    if not width:
        raise UsageError(f"not a window: {window!r}; write it like 30m, 2h or 1d")
    if around is None:
        moment = intervals.to_us(ws.settings.now())
        return moment - width, moment + width
    if (moment_of := _instant_of_id(ws, around)) is not None:
        return moment_of - width, moment_of + width
    first, last = (intervals.to_us(m) for m in intervals.period(around, ws.settings))
    return (first - width, first + width) if first == last else (first, last)


def _instant_of_id(ws: Workspace, text: str) -> int | None:
    """The instant of a visit, page or document, None when `text` is not shaped like an id."""
    if (parts := ids.parts(text)) is None:
        return None
    letter, number = parts
    row = None
    if ws.lake.exists:
        with ws.lake.read(what="timeline") as con:
            if letter == "v":
                row = con.execute(
                    "SELECT epoch_us(visited_at) FROM store.visits WHERE visit_key = ?", [number]
                ).fetchone()
            else:
                row = con.execute(
                    "SELECT epoch_us(last_at) FROM store.documents "
                    "WHERE doc_id = ? AND state NOT IN ('removed', 'gone')",
                    [text],
                ).fetchone()
    if row is None or row[0] is None:
        raise UsageError(f"there is nothing with the id {text}")
    return int(row[0])
