"""How much was read, when and where: counts of visits and pages by day, hour, domain or source."""

from dataclasses import dataclass
from typing import Any

from brain import intervals
from brain.errors import UsageError
from brain.services.coverage import Coverage, cover
from brain.sql import records
from brain.workspace import Workspace

# Days and hours follow the user's zone, with its clock changes, at query time.
_KEYS = {
    "day": "strftime(timezone($zone, visited_at), '%Y-%m-%d')",
    "hour": "strftime(timezone($zone, visited_at), '%H')",
    "domain": "u.domain",
    "source": "s.source",
}


@dataclass(frozen=True, slots=True)
class Stats:
    """`rows` hold key, visits, visible_visits, pages and seconds (known foreground time; None where none is known)."""

    rows: list[dict[str, Any]]
    totals: dict[str, int]
    coverage: Coverage


def browsing_stats(
    ws: Workspace,
    by: str = "day",
    since: str | None = None,
    until: str | None = None,
    limit: int | None = None,
) -> Stats:
    """Count visits in an interval, grouped by `day`, `hour` (of the day), `domain` or `source`.

    `pages` counts distinct pages seen. Days and hours come in order; domains and sources most visited first, at most
    `limit` of them; totals cover all. Raises UsageError for another grouping or a bad interval.
    """
    if by not in _KEYS:
        raise UsageError(f"cannot group by {by!r}; choose {', '.join(_KEYS)}")
    interval = intervals.resolve(ws.settings, since, until)
    if not ws.lake.exists:
        return Stats([], {"visits": 0, "visible_visits": 0, "pages": 0}, cover(ws, interval))
    ws.lake.ensure()
    values: dict[str, Any] = {"since": interval.since_us, "until": interval.until_us}
    seen = "is_visible AND duplicate_of IS NULL"
    measures = f"""
        count(*) AS visits, count(*) FILTER (WHERE {seen}) AS visible_visits,
        count(DISTINCT page_id) FILTER (WHERE {seen}) AS pages,
        sum(foreground_us) FILTER (WHERE {seen}) / 1e6 AS seconds"""
    tables = """
        FROM store.visits v JOIN store.urls u USING (url_id) JOIN store.sources s USING (source_id)
        WHERE ($since IS NULL OR visited_at >= make_timestamptz($since::BIGINT))
          AND ($until IS NULL OR visited_at < make_timestamptz($until::BIGINT))"""
    order = "key" if by in {"day", "hour"} else "visible_visits DESC, visits DESC, key"
    if "$zone" in _KEYS[by]:
        values["zone"] = interval.zone
    with ws.lake.read(what="stats") as con:
        grouped = f"SELECT {_KEYS[by]} AS key, {measures} {tables} GROUP BY 1 ORDER BY {order}"
        rows = records(con.execute(grouped, values))
        values.pop("zone", None)
        total = con.execute(f"SELECT {measures} {tables}", values).fetchone()
    assert total
    totals = {"visits": total[0], "visible_visits": total[1], "pages": total[2]}
    return Stats(rows[:limit], totals, cover(ws, interval))
