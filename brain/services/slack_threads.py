"""Threads of Slack: who said what where, and which pages linked in them were opened."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from brain import intervals
from brain.errors import UsageError
from brain.services.coverage import Coverage, cover
from brain.services.find import search
from brain.sql import records
from brain.workspace import Workspace

_CANDIDATES = 100  # threads that a search may bring


@dataclass(frozen=True, slots=True)
class LinkedPage:
    """A page linked in a thread; `is_opened` whether any browser has shown it."""

    url: str
    label: str | None
    is_opened: bool


@dataclass(frozen=True, slots=True)
class Thread:
    """`id` is what `fetch` takes. `title` is how it begins; instants are UTC."""

    id: str
    channel: str | None
    title: str | None
    started_by: str
    started_at: datetime
    last_at: datetime
    replies: int
    people: list[str]
    links: list[LinkedPage]


@dataclass(frozen=True, slots=True)
class ThreadList:
    """Threads, those found by a query best first, all others newest first."""

    threads: list[Thread]
    coverage: Coverage


def list_threads(
    ws: Workspace,
    query: str | None = None,
    *,
    channel: str | None = None,
    person: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 20,
) -> ThreadList:
    """Threads in which something was said within the interval, by words and meaning where a query is given.

    `channel` is a name with or without #, `person` a part of a name. Raises UsageError for a limit out of 1..100.
    """
    if not 1 <= limit <= 100:
        raise UsageError("the limit must be from 1 to 100")
    interval = intervals.resolve(ws.settings, since, until)
    if not ws.lake.exists:
        return ThreadList([], cover(ws, interval))
    ws.lake.ensure()
    found: list[str] | None = None
    if query and query.strip():
        hits = search(ws, query, kinds=("slack_thread",), since=since, until=until, limit=_CANDIDATES)
        found = [hit.id for hit in hits.results]
    values: dict[str, Any] = {
        "ids": found,
        "channel": channel and channel.strip().lstrip("#").lower(),
        "person": person and person.strip().lower(),
        "since": interval.since_us,
        "until": interval.until_us,
        "limit": limit,
    }
    with ws.lake.read(what="slack threads") as con:
        threads = records(
            con.execute(
                """
                SELECT id, channel, title, started_by, started_at, last_at, messages - 1 AS replies, people
                FROM slack_threads
                WHERE ($ids IS NULL OR list_contains($ids, id))
                    AND ($channel IS NULL OR lower(channel) = $channel)
                    AND ($person IS NULL OR len([p FOR p IN people IF contains(lower(p), $person)]) > 0)
                    AND ($since IS NULL OR epoch_us(last_at) >= $since)
                    AND ($until IS NULL OR epoch_us(started_at) < $until)
                ORDER BY list_position($ids, id), last_at DESC, id LIMIT $limit""",
                values,
            )
        )
        links = records(
            con.execute(
                """
                SELECT thread_id, any_value(url) AS url, any_value(label) AS label, bool_or(is_opened) AS is_opened
                FROM shared_links WHERE list_contains($1, thread_id)
                GROUP BY thread_id, page_id ORDER BY min(shared_at)""",
                [[thread["id"] for thread in threads]],
            )
        )
    linked: dict[str, list[LinkedPage]] = {}
    for link in links:
        linked.setdefault(link.pop("thread_id"), []).append(LinkedPage(**link))
    made = [Thread(**thread, links=linked.get(thread["id"], [])) for thread in threads]
    return ThreadList(made, cover(ws, interval))
