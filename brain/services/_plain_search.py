"""Plain text matching in the lake: what search falls back to while there is no index."""

import re
from typing import Any

from brain.errors import UsageError
from brain.intervals import iso
from brain.models import Hit
from brain.search import Filters
from brain.sql import records
from brain.workspace import Workspace

_WORD = re.compile(r"\w+", re.UNICODE)
_SNIPPET = 240


def search_lake(
    ws: Workspace, query: str, filters: Filters, limit: int, cursor: str | None
) -> tuple[list[Hit], str | None]:
    """Documents that hold most of the query's words, accents and case folded, the newest first among equals.

    Relevance is the share of words found. The same filters as for the index apply.
    """
    words = list(dict.fromkeys(_WORD.findall(query.lower())))[:32] or [query.strip().lower()]
    offset = _offset(cursor)
    values: dict[str, Any] = {f"w{n}": word for n, word in enumerate(words)}
    share = " + ".join(f"contains(body, strip_accents($w{n}))::INT" for n in range(len(words)))
    conditions = _conditions(filters, values)
    with ws.lake.read(what="search") as con:
        found = con.execute(
            f"""
            WITH docs AS (
                SELECT *, strip_accents(lower(concat_ws(' ', title, text, url))) AS body
                FROM store.documents d WHERE state NOT IN ('removed', 'gone') {conditions})
            SELECT doc_id, kind, title, url, left(text, {_SNIPPET}) AS text, epoch_us(last_at) AS last_us,
                   visit_count, origin, ({share}) / {len(words)} AS share
            FROM docs WHERE ({share}) * 2 >= {len(words)}
            ORDER BY share DESC, last_at DESC, doc_id LIMIT {limit + 1} OFFSET {offset}""",
            values,
        )
        rows = records(found)
    return [_hit(row) for row in rows[:limit]], f"plain:{offset + limit}" if len(rows) > limit else None


def _hit(row: dict[str, Any]) -> Hit:
    return Hit(
        id=row["doc_id"],
        kind=row["kind"],
        title=row["title"],
        url=row["url"],
        snippet=row["text"] or row["title"] or "",
        relevance=round(row["share"], 4),
        match="keyword",
        last_visited=iso(row["last_us"]),
        visit_count=row["visit_count"],
        origin=row["origin"],
    )


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    name, _, number = cursor.partition(":")
    if name != "plain" or not number.isdecimal() or len(number) > 9:
        raise UsageError("this cursor belongs to an earlier state of the index; search again from the start")
    return int(number)


def _conditions(filters: Filters, values: dict[str, Any]) -> str:
    parts = []
    if filters.kinds:
        values["kinds"] = list(filters.kinds)
        parts.append("kind IN (SELECT unnest($kinds))")
    if filters.sources:
        values["sources"] = list(filters.sources)
        parts.append("source IN (SELECT unnest($sources))")
    if filters.domain:
        values["domain"] = filters.domain.lower()
        parts.append("domain = $domain")
    if filters.since_us is not None or filters.until_us is not None:
        values |= {"since": filters.since_us, "until": filters.until_us}
        inside = (
            "coalesce({0} >= make_timestamptz($since::BIGINT), true) "
            "AND coalesce({0} < make_timestamptz($until::BIGINT), true)"
        )
        parts.append(
            f"""(({inside.format("last_at")}) OR ({inside.format("first_at")}) OR EXISTS (
                SELECT 1 FROM store.visits v JOIN store.urls u USING (url_id)
                WHERE u.page_id = d.page_id AND v.is_visible AND v.duplicate_of IS NULL
                    AND {inside.format("v.visited_at")}))"""
        )
    return "".join(f" AND {part}" for part in parts)
