"""Reading thoughts: by meaning, by filters, and counted."""

from dataclasses import dataclass, field
from typing import Any

from brain import intervals
from brain.errors import UsageError
from brain.extraction import TYPES
from brain.intervals import Interval, iso
from brain.plaintext import clean
from brain.services.coverage import Coverage, cover
from brain.services.find import search
from brain.sql import Connection, records
from brain.workspace import Workspace

_FIELDS = (
    *("thought_id", "content", "type", "topics", "people", "action_items", "dates", "source", "client"),
    *("created_at", "version", "edited_at", "deleted_at", "superseded_by", "same_as"),
)


@dataclass(frozen=True, slots=True)
class Thought:
    """One thought. Instants are ISO 8601 UTC; `relevance` and `match` are of a search, else None."""

    id: str
    content: str
    type: str
    topics: list[str]
    people: list[str]
    action_items: list[str]
    dates: list[str]
    source: str
    client: str | None
    created_at: str
    version: int
    edited_at: str | None = None
    deleted_at: str | None = None
    superseded_by: str | None = None
    same_as: str | None = None
    repeats: int = 0
    relevance: float | None = None
    match: str | None = None


@dataclass(frozen=True, slots=True)
class ThoughtList:
    """Thoughts, a cursor to go on with, and what the answer rests on; `hidden` counts weaker hits left out."""

    thoughts: list[Thought]
    cursor: str | None
    coverage: Coverage
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class ThoughtStats:
    """Counts over all thoughts of an interval, deleted ones apart. Weeks begin on Monday in the user's zone."""

    total: int
    first: str | None
    last: str | None
    by_type: dict[str, int]
    topics: list[dict[str, Any]]
    people: list[dict[str, Any]]
    weeks: list[dict[str, Any]]
    open_action_items: list[dict[str, Any]]
    coverage: Coverage
    sources: dict[str, int] = field(default_factory=dict)


def search_thoughts(
    ws: Workspace, query: str, *, limit: int = 10, threshold: float | None = None
) -> ThoughtList:
    """Thoughts by words and meaning, best first; repeats of one text are one hit.

    `threshold` (0..1) hides hits found by meaning alone that are weaker; a hit by words is never hidden. Raises
    UsageError for an empty query or a value out of range.
    """
    if threshold is not None and not 0 <= threshold <= 1:
        raise UsageError("the threshold must be from 0 to 1")
    found = search(ws, query, kinds=("thought",), limit=limit)
    kept = [
        h for h in found.results if threshold is None or h.match != "semantic" or h.relevance >= threshold
    ]
    by_id = {thought.id: thought for thought in _by_ids(ws, [hit.id for hit in kept])}
    thoughts = [
        _replaced(by_id[hit.id], relevance=hit.relevance, match=hit.match) for hit in kept if hit.id in by_id
    ]
    return ThoughtList(thoughts, None, found.coverage, len(found.results) - len(kept))


def list_thoughts(
    ws: Workspace,
    *,
    limit: int = 10,
    type: str | None = None,  # noqa: A002  (the field's name)
    topic: str | None = None,
    person: str | None = None,
    days: int | None = None,
    since: str | None = None,
    until: str | None = None,
    deleted: bool = False,
    cursor: str | None = None,
) -> ThoughtList:
    """Thoughts, newest first; filters are joined by AND and ignore case. `deleted` lists those that can be restored.

    Raises UsageError for an unknown type, a bad interval or a foreign cursor.
    """
    if type is not None and type not in TYPES:
        raise UsageError(f"unknown type {type!r}; choose {', '.join(TYPES)}")
    if not 1 <= limit <= 200:
        raise UsageError("the limit must be from 1 to 200")
    if days is not None:
        if since is not None or days < 1:
            raise UsageError("give days (1 or more) or since, not both")
        since = f"{days}d"
    interval = intervals.resolve(ws.settings, since, until)
    after = _place(cursor) if cursor else (None, None)
    if not ws.lake.exists:
        return ThoughtList([], None, cover(ws, interval))
    ws.lake.ensure()
    values: dict[str, Any] = {
        **_bounds(interval),
        "type": type,
        "topic": topic and topic.casefold(),
        "person": person and person.casefold(),
        "limit": limit + 1,
        "after": after[0],
        "id": after[1],
    }
    with ws.lake.read(what="thoughts") as con:
        rows = records(
            con.execute(
                f"""
                SELECT {", ".join(_FIELDS)} FROM store.thoughts
                WHERE {"deleted_at IS NOT NULL" if deleted else "deleted_at IS NULL"} AND {_INSIDE}
                    AND ($type IS NULL OR type = $type)
                    AND ($topic IS NULL OR len(list_filter(topics, lambda t: contains(lower(t), $topic))) > 0)
                    AND ($person IS NULL OR len(list_filter(people, lambda p: contains(lower(p), $person))) > 0)
                    AND ($after IS NULL OR (epoch_us(created_at), thought_id) < ($after::BIGINT, $id::VARCHAR))
                ORDER BY created_at DESC, thought_id DESC LIMIT $limit""",
                values,
            )
        )
    thoughts = [_thought(row) for row in rows[:limit]]
    following = None
    if len(rows) > limit:
        last = rows[limit - 1]
        following = f"{intervals.to_us(last['created_at'])}.{last['thought_id']}"
    return ThoughtList(thoughts, following, cover(ws, interval))


def thought_stats(
    ws: Workspace, since: str | None = None, until: str | None = None, top: int = 10
) -> ThoughtStats:
    """Count all thoughts of an interval. Raises UsageError for a bad interval."""
    interval = intervals.resolve(ws.settings, since, until)
    if not ws.lake.exists:
        return ThoughtStats(0, None, None, {}, [], [], [], [], cover(ws, interval))
    ws.lake.ensure()
    bounds = _bounds(interval)
    some = f"FROM store.thoughts WHERE deleted_at IS NULL AND {_INSIDE}"
    with ws.lake.read(what="thought stats") as con:
        ((total, first, last),) = con.execute(
            f"SELECT count(*), min(created_at), max(created_at) {some}", bounds
        ).fetchall()
        by_type = con.execute(
            f"SELECT type, count(*) {some} GROUP BY 1 ORDER BY 2 DESC, 1", bounds
        ).fetchall()
        sources = con.execute(
            f"SELECT source, count(*) {some} GROUP BY 1 ORDER BY 2 DESC, 1", bounds
        ).fetchall()
        weeks = con.execute(
            f"SELECT strftime(date_trunc('week', timezone($zone, created_at)), '%Y-%m-%d'), count(*) {some} "
            "GROUP BY 1 ORDER BY 1",
            bounds | {"zone": interval.zone},
        ).fetchall()
        topics, people = (_top(con, name, some, bounds, top) for name in ("topics", "people"))
    return ThoughtStats(
        total,
        iso(first),
        iso(last),
        dict(by_type),
        topics,
        people,
        [{"week": week, "thoughts": count} for week, count in weeks],
        open_action_items(ws, interval),
        cover(ws, interval),
        dict(sources),
    )


def open_action_items(
    ws: Workspace, interval: Interval | None = None, limit: int = 50
) -> list[dict[str, Any]]:
    """Action items of thoughts that are neither deleted nor superseded, newest first: text, id, created_at."""
    if not ws.lake.exists:
        return []
    ws.lake.ensure()
    bounds = _bounds(interval or intervals.resolve(ws.settings))
    with ws.lake.read(what="action items") as con:
        rows = con.execute(
            f"""
            SELECT unnest(action_items), thought_id, created_at FROM store.thoughts
            WHERE deleted_at IS NULL AND superseded_by IS NULL AND same_as IS NULL AND {_INSIDE}
            ORDER BY created_at DESC LIMIT {int(limit)}""",
            bounds,
        ).fetchall()
    return [{"text": text, "id": thought_id, "created_at": iso(at)} for text, thought_id, at in rows]


def get_thought(ws: Workspace, thought_id: str) -> Thought | None:
    """One thought, deleted or not; None when there is none."""
    found = _by_ids(ws, [thought_id])
    return found[0] if found else None


_INSIDE = """($since::BIGINT IS NULL OR created_at >= make_timestamptz($since::BIGINT))
                    AND ($until::BIGINT IS NULL OR created_at < make_timestamptz($until::BIGINT))"""


def _bounds(interval: Interval) -> dict[str, Any]:
    return {"since": interval.since_us, "until": interval.until_us}


def _by_ids(ws: Workspace, ids: list[str]) -> list[Thought]:
    if not ids or not ws.lake.exists:
        return []
    ws.lake.ensure()
    with ws.lake.read(what="thoughts") as con:
        rows = records(
            con.execute(
                f"""
                SELECT {", ".join(_FIELDS)}, (SELECT count(*) FROM store.thoughts s
                    WHERE s.content_hash = t.content_hash AND s.deleted_at IS NULL) - 1 AS repeats
                FROM store.thoughts t WHERE thought_id IN (SELECT unnest(?))""",
                [ids],
            )
        )
    return [_thought(row) for row in rows]


def _thought(row: dict[str, Any]) -> Thought:
    named = {name: iso(value) if name.endswith("_at") else value for name, value in row.items()}
    return Thought(id=named.pop("thought_id"), **named)


def _replaced(thought: Thought, **changes: Any) -> Thought:
    from dataclasses import replace

    return replace(thought, **changes)


def _top(con: Connection, name: str, some: str, bounds: dict[str, Any], top: int) -> list[dict[str, Any]]:
    rows = con.execute(
        f"""
        SELECT any_value(item), count(*) FROM (SELECT unnest({name}) AS item {some})
        GROUP BY lower(item) ORDER BY 2 DESC, 1 LIMIT {int(top)}""",
        bounds,
    ).fetchall()
    return [{"name": clean(item), "thoughts": count} for item, count in rows]


def _place(cursor: str) -> tuple[int, str]:
    us, _, thought_id = cursor.partition(".")
    if not us.isdecimal() or len(us) > 18 or len(thought_id) > 40:
        raise UsageError("the cursor is not one of ours; leave it out to start at the newest")
    return int(us), thought_id
