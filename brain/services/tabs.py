"""Open tabs, as the newest list of each browser tells them; any process of the home gives the same answer."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from brain.errors import LakeBusy
from brain.services import drain_inbox
from brain.sql import records
from brain.workspace import Workspace

LIVE = timedelta(seconds=90)  # a list older than this says nothing of what is open now
_RECENT = timedelta(hours=4)
_RECENT_PAGES = 20

HOW_TO_CONNECT = (
    "no browser has told its tabs within 90 s: start `brain serve`, load the extension (`brain extension path`) "
    "and pair it (`brain extension pair`)"
)


@dataclass(frozen=True, slots=True)
class Tab:
    """One open tab. `tab` and `window` are the browser's own numbers, good with `browser` and `profile` only."""

    tab: int
    window: int | None
    index: int | None
    url: str
    title: str | None
    domain: str
    page_id: int
    active: bool
    pinned: bool
    audible: bool
    discarded: bool
    group: str | None
    last_accessed: datetime | None
    browser: str
    profile: str


@dataclass(frozen=True, slots=True)
class RecentPage:
    """A page visited lately, for want of tabs."""

    url: str
    title: str | None
    last_visited: datetime


@dataclass(frozen=True, slots=True)
class OpenTabs:
    """`live` tells whether `tabs` are known to be open now. If not, `recent` are pages of the last four hours."""

    live: bool
    tabs: list[Tab]
    recent: list[RecentPage]
    taken_at: datetime | None


def open_tabs(ws: Workspace) -> OpenTabs:
    """The open tabs of all browsers, window by window; where none are live, the pages of the last four hours."""
    if not ws.lake.exists and not drain_inbox.inbox(ws).waiting():
        return OpenTabs(False, [], [], None)
    with suppress(LakeBusy):  # what browsers told a moment ago counts
        drain_inbox.drain(ws)
    ws.lake.ensure()
    now = ws.settings.now()
    with ws.lake.read(what="tabs") as con:
        ((newest,),) = con.execute(
            "SELECT max(taken_at) FROM store.tab_snapshots WHERE taken_at BETWEEN $1::TIMESTAMPTZ - INTERVAL 90 SECOND "
            "AND $1::TIMESTAMPTZ + INTERVAL 5 MINUTE",
            [now],
        ).fetchall()
        if newest is not None:
            rows = records(
                con.execute(
                    """
                    SELECT t.tab, t."window", t.place AS index, t.url, t.title, t.domain, t.page_id,
                           t.is_active AS active, t.is_pinned AS pinned, t.is_audible AS audible,
                           t.is_discarded AS discarded, t.tab_group AS "group", t.last_accessed, s.browser, s.profile
                    FROM store.tabs t JOIN store.tab_snapshots n USING (source_id)
                    JOIN store.sources s USING (source_id)
                    WHERE n.taken_at >= $1::TIMESTAMPTZ - INTERVAL 90 SECOND
                    ORDER BY s.browser, s.profile, t."window", t.place, t.tab""",
                    [now],
                )
            )
            return OpenTabs(True, [Tab(**row) for row in rows], [], newest)
        rows = records(
            con.execute(
                """
                SELECT url, title, last_visited FROM (
                    SELECT p.url, p.title, max(v.visited_at) AS last_visited
                    FROM visits v JOIN pages p ON p.id = v.page_id
                    WHERE v.is_visible AND v.visited_at BETWEEN $1 AND $2 GROUP BY ALL)
                ORDER BY last_visited DESC, url LIMIT $3""",
                [now - _RECENT, now, _RECENT_PAGES],
            )
        )
    return OpenTabs(False, [], [RecentPage(**row) for row in rows], None)


def active_tab(tabs: OpenTabs) -> Tab | None:
    """The tab in front: of several windows' the one used last."""
    front = [tab for tab in tabs.tabs if tab.active]
    return max(front, key=lambda tab: (tab.last_accessed is not None, tab.last_accessed), default=None)
