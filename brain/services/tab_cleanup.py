"""Clean-up of tabs: a plan of what may go, carried out by the extension, and taken back by it.

A plan is a file of the home, good for a day. The extension closes a tab only while it still shows the planned page and
is neither active, pinned nor audible, and an archived one only after the lake has its text; it alone keeps the exact
addresses that an undo needs.
"""

import json
import secrets
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from brain import private_files
from brain.cleanup_rules import Action, TabFacts, judge
from brain.errors import UsageError
from brain.intervals import iso
from brain.locks import lock
from brain.services import commands
from brain.services.tabs import HOW_TO_CONNECT, Tab, open_tabs
from brain.sql import records
from brain.workspace import Workspace

_GOOD_FOR = timedelta(days=1)
_CLOSES: tuple[Action, ...] = ("Close", "Archive")
_EXPIRES_S = 300


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to do with one tab. `tab` and `window` are the browser's numbers; `title` is quoted from the page."""

    tab: int
    window: int | None
    url: str
    title: str | None
    action: Action
    reason: str
    browser: str
    profile: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A suggestion for every open tab, window by window."""

    plan_id: str
    tabs: list[Suggestion]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`state` is done, waiting (a browser has not told yet) or expired (no browser took it). `closed` or `opened` are
    tab numbers; `kept` tells which tabs stayed and why."""

    plan_id: str
    state: str
    closed: list[int]
    opened: list[int]
    kept: list[dict[str, Any]]


def suggest(ws: Workspace, browser: str | None = None, profile: str | None = None) -> Plan:
    """A plan for the open tabs, of one browser and profile where given. Raises UsageError when none are live."""
    found = open_tabs(ws)
    if not found.live:
        raise UsageError(HOW_TO_CONNECT)
    tabs = [
        tab
        for tab in found.tabs
        if (browser is None or tab.browser == browser) and (profile is None or tab.profile == profile)
    ]
    now, facts = ws.settings.now(), _facts(ws, tabs)
    plan = Plan(
        f"plan-{secrets.token_hex(6)}",
        [
            Suggestion(
                *(tab.tab, tab.window, tab.url, tab.title),
                *judge(known, now),
                *(tab.browser, tab.profile),
            )
            for tab, known in zip(tabs, facts, strict=True)
        ],
    )
    _drop_old(ws, now)
    _write(ws, {**asdict(plan), "made_at": iso(now), "closing": [], "opening": []})
    return plan


def closes(ws: Workspace, plan_id: str, tabs: Sequence[int] | None = None) -> list[int]:
    """The tabs that applying the plan would close. Raises UsageError for an unknown plan."""
    with _locked(ws, plan_id) as plan:
        return [tab["tab"] for tab in _closing(plan, tabs)]


def apply(
    ws: Workspace,
    plan_id: str,
    tabs: Sequence[int] | None = None,
    client: str | None = None,
    wait_s: float = 60.0,
    told: commands.Told = commands.unheard,
) -> Outcome:
    """Close the tabs that the plan closes or archives, those of `tabs` alone where given; a second call tells how it
    went. Raises UsageError for an unknown plan, and when it was applied and undone.
    """
    with _locked(ws, plan_id) as plan:
        if plan["opening"]:
            raise UsageError(f"{plan_id} was applied and undone; suggest anew")
        if not plan["closing"]:
            by_browser: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
            for tab in _closing(plan, tabs):
                by_browser[tab["browser"], tab["profile"]].append(
                    {"tab": tab["tab"], "url": tab["url"], "archive": tab["action"] == "Archive"}
                )
            for (browser, profile), closing in by_browser.items():
                asked = _stage(ws, "close_tabs", {"tabs": closing}, browser, profile, client)
                plan["closing"].append([asked, browser, profile])
                _write(ws, plan)
    return _outcome(ws, plan_id, [asked for asked, _, _ in plan["closing"]], wait_s, told)


def undo(
    ws: Workspace,
    plan_id: str,
    client: str | None = None,
    wait_s: float = 60.0,
    told: commands.Told = commands.unheard,
) -> Outcome:
    """Open again what the plan closed: in its windows, places and groups. Raises UsageError when it was not applied."""
    with _locked(ws, plan_id) as plan:
        if not plan["closing"]:
            raise UsageError(f"{plan_id} was not applied")
        undone = {closed for _, closed in plan["opening"]}
        for closed, browser, profile in plan["closing"]:
            if closed not in undone:
                asked = _stage(ws, "open_tabs", {"closed_by": closed}, browser, profile, client)
                plan["opening"].append([asked, closed])
                _write(ws, plan)
    return _outcome(ws, plan_id, [asked for asked, _ in plan["opening"]], wait_s, told)


def _closing(plan: dict[str, Any], tabs: Sequence[int] | None) -> list[dict[str, Any]]:
    return [tab for tab in plan["tabs"] if tab["action"] in _CLOSES and (tabs is None or tab["tab"] in tabs)]


def _stage(
    ws: Workspace, kind: str, data: dict[str, Any], browser: str, profile: str, client: str | None
) -> str:
    return commands.stage(
        ws, kind, data, browser=browser, profile=profile, client=client, expires_in=_EXPIRES_S
    )


def _outcome(ws: Workspace, plan_id: str, asked: list[str], wait_s: float, told: commands.Told) -> Outcome:
    closed: list[int] = []
    opened: list[int] = []
    kept: list[dict[str, Any]] = []
    states = set()
    for command_id in asked:
        found = commands.outcome(ws, command_id, wait_s, told)
        states.add(found.state)
        if found.state == "failed":
            kept.append({"tab": None, "reason": str(found.result)})
        elif isinstance(found.result, dict):
            closed += found.result.get("closed", [])
            opened += found.result.get("opened", [])
            kept += found.result.get("kept", [])
    state = "waiting" if states & {"staged", "claimed"} else "expired" if "expired" in states else "done"
    return Outcome(plan_id, state, closed, opened, kept)


def _facts(ws: Workspace, tabs: list[Tab]) -> list[TabFacts]:
    pages = list({tab.page_id for tab in tabs})
    with ws.lake.read(what="cleanup") as con:
        visits = records(
            con.execute(
                """
                SELECT u.page_id, count(*) AS visits, max(v.visited_at) AS last_visited
                FROM store.visits v JOIN store.urls u USING (url_id)
                WHERE u.page_id IN (SELECT unnest($1)) AND v.is_visible AND v.duplicate_of IS NULL GROUP BY ALL""",
                [pages],
            )
        )
        marked = con.execute(
            "SELECT DISTINCT u.page_id FROM store.bookmarks b JOIN store.urls u USING (url_id) "
            "WHERE u.page_id IN (SELECT unnest($1)) AND b.shelf = 'bookmarks'",
            [pages],
        ).fetchall()
    known = {row["page_id"]: row for row in visits}
    bookmarked = {page for (page,) in marked}
    by_page: dict[int, list[Tab]] = defaultdict(list)
    for tab in tabs:
        by_page[tab.page_id].append(tab)
    keepers = {page: max(same, key=_worth) for page, same in by_page.items()}
    return [
        TabFacts(
            active=tab.active,
            pinned=tab.pinned,
            audible=tab.audible,
            last_used=tab.last_accessed,
            visits=known.get(tab.page_id, {}).get("visits", 0),
            last_visited=known.get(tab.page_id, {}).get("last_visited"),
            bookmarked=tab.page_id in bookmarked,
            newer_copy=keepers[tab.page_id] is not tab,
        )
        for tab in tabs
    ]


def _worth(tab: Tab) -> tuple[bool, float, int]:
    """Of tabs on one page the greatest stays: one in use, else the one used last, else the one opened last."""
    used = tab.last_accessed.timestamp() if tab.last_accessed else 0.0
    return tab.active or tab.pinned or tab.audible, used, tab.tab


@contextmanager
def _locked(ws: Workspace, plan_id: str) -> Iterator[dict[str, Any]]:
    """The plan, while nobody else changes it."""
    ws.home.ensure()
    with lock(ws.home.locks / "plans.lock", what="plan"):
        yield _read(ws, plan_id)


def _read(ws: Workspace, plan_id: str) -> dict[str, Any]:
    path = ws.home.plans / f"{plan_id}.json"
    try:
        if path.parent != ws.home.plans or not plan_id.removeprefix("plan-").isalnum():
            raise FileNotFoundError
        plan: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if ws.settings.now() - datetime.fromisoformat(plan["made_at"]) <= _GOOD_FOR:
            return plan
    except (OSError, ValueError, LookupError):
        pass
    raise UsageError(f"there is no plan {plan_id!r}, or it is older than a day; suggest anew")


def _write(ws: Workspace, plan: dict[str, Any]) -> None:
    folder = ws.home.plans
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    private_files.replace(folder / f"{plan['plan_id']}.json", json.dumps(plan))


def _drop_old(ws: Workspace, now: datetime) -> None:
    for path in ws.home.plans.glob("plan-*.json"):
        try:
            if path.stat().st_mtime < (now - 2 * _GOOD_FOR).timestamp():
                path.unlink()
        except OSError:
            continue  # another process dropped it
