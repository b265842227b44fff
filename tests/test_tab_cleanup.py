"""Which tabs may go, and plans for them, with browsers that speak as the extension does; a real one is in
test_extension_tabs."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from live import Browser, ago, event, paired, served, settled, tab
from mcp import Client

from brain.cleanup_rules import TabFacts, judge
from brain.errors import UsageError
from brain.mcp_server.server import build
from brain.services import tab_cleanup
from brain.services.commands import outcome
from brain.workspace import Workspace, open_workspace

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = 86_400


def facts(**some: Any) -> TabFacts:
    known: dict[str, Any] = {
        **dict.fromkeys(("active", "pinned", "audible", "bookmarked", "newer_copy"), False),
        "last_used": NOW - timedelta(hours=2),
        "visits": 2,
        "last_visited": NOW - timedelta(days=1),
    }
    return TabFacts(**known | some)


class TestRules:
    @pytest.mark.parametrize(
        ("some", "action", "reason"),
        [
            ({}, "Read Later", "visited 2 times, last 24 hours ago"),
            ({"visits": 1}, "Read Later", "visited once, last 24 hours ago"),
            ({"visits": 0, "last_visited": None}, "Keep", "the lake knows no visit to it"),
            (
                {"visits": 1, "last_visited": NOW - timedelta(days=3)},
                "Read Later",
                "visited once, last 3 days ago",
            ),
            (
                {"visits": 1, "last_visited": NOW - timedelta(days=3, seconds=1)},
                "Close",
                "visited once, 3 days ago",
            ),
            ({"visits": 1, "last_visited": NOW - timedelta(days=90)}, "Close", "visited once, 90 days ago"),
            ({"last_visited": NOW - timedelta(days=5)}, "Read Later", "visited 2 times, last 5 days ago"),
            ({"last_visited": NOW - timedelta(days=6)}, "Archive", "last visited 6 days ago, 2 visits"),
            (
                {"visits": 9, "last_visited": NOW - timedelta(days=6)},
                "Archive",
                "last visited 6 days ago, 9 visits",
            ),
            ({"visits": 5}, "Read Later", "visited 5 times, last 24 hours ago"),
            ({"visits": 6}, "Keep", "visited 6 times"),
            ({"newer_copy": True}, "Close", "another tab shows the same page"),
            ({"visits": 6, "bookmarked": True}, "Keep", "visited 6 times; bookmarked"),
        ],
    )
    def test_the_first_rule_that_speaks_decides(self, some: dict[str, Any], action: str, reason: str) -> None:
        assert judge(facts(**some), NOW) == (action, reason)

    @pytest.mark.parametrize("use", ["active", "pinned", "audible"])
    def test_a_tab_in_use_stays_whatever_else_is_true(self, use: str) -> None:
        old = {"visits": 1, "last_visited": NOW - timedelta(days=400), "newer_copy": True}
        assert judge(facts(**old, **{use: True}), NOW)[0] == "Keep"

    def test_what_was_used_within_the_hour_stays(self) -> None:
        old = {"visits": 1, "last_visited": NOW - timedelta(days=400)}
        assert judge(facts(**old, last_used=NOW - timedelta(minutes=59)), NOW)[0] == "Keep"
        assert judge(facts(**old, last_used=NOW - timedelta(minutes=60)), NOW)[0] == "Close"
        assert judge(facts(**old, last_used=None), NOW)[0] == "Close"


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return open_workspace(tmp_path / "home")


@pytest.fixture
def bridge(ws: Workspace, tmp_path: Path) -> Iterator[str]:
    with served(ws.home.root, tmp_path / "log") as address:
        yield address


def with_tabs(bridge: str, ws: Workspace, profile: str) -> Browser:
    """A browser with a tab in front, one seen once long ago, two on one page."""
    browser = paired(bridge, ws, "chrome", profile)
    url = f"https://{profile.lower()}.example"
    browser.send(event("visit", f"{profile}1", ago(10 * DAY), url=f"{url}/old", title="Old"))
    tabs = [
        tab(1, f"{url}/front", active=True),
        tab(2, f"{url}/old"),
        tab(3, f"{url}/two"),
        tab(4, f"{url}/two"),
    ]
    browser.send(event("tabs", profile, tabs=tabs))
    settled(ws)
    return browser


def test_a_plan_is_carried_out_by_each_browser_for_its_own_tabs(bridge: str, ws: Workspace) -> None:
    work, home = with_tabs(bridge, ws, "Work"), with_tabs(bridge, ws, "Home")
    plan = tab_cleanup.suggest(ws)
    assert [(t.profile, t.tab, t.action) for t in plan.tabs] == [
        *(("Home", 1, "Keep"), ("Home", 2, "Close"), ("Home", 3, "Close"), ("Home", 4, "Keep")),
        *(("Work", 1, "Keep"), ("Work", 2, "Close"), ("Work", 3, "Close"), ("Work", 4, "Keep")),
    ]
    waiting = tab_cleanup.apply(ws, plan.plan_id, wait_s=0)
    assert (waiting.state, waiting.closed) == ("waiting", [])
    for browser, name in ((work, "work"), (home, "home")):
        (command,) = browser.commands()
        assert (command["kind"], command["data"]) == (
            "close_tabs",
            {
                "tabs": [
                    {"tab": 2, "url": f"https://{name}.example/old", "archive": False},
                    {"tab": 3, "url": f"https://{name}.example/two", "archive": False},
                ]
            },
        )
        kept = [{"tab": 3, "reason": "it is pinned"}] if name == "work" else []
        result = {"closed": [2] if kept else [2, 3], "kept": kept}
        assert (
            browser.post(f"/api/commands/{command['id']}", {"ok": True, "result": result}).status_code == 200
        )
        assert browser.commands() == []  # handed out once
    done = tab_cleanup.apply(ws, plan.plan_id)
    assert (done.state, sorted(done.closed), done.kept) == (
        "done",
        [2, 2, 3],
        [{"tab": 3, "reason": "it is pinned"}],
    )
    assert tab_cleanup.undo(ws, plan.plan_id, wait_s=0).state == "waiting"
    assert tab_cleanup.undo(ws, plan.plan_id, wait_s=0).state == "waiting"
    (back,) = work.commands()
    assert (back["kind"], set(back["data"])) == ("open_tabs", {"closed_by"})
    assert len(home.commands()) == 1
    with pytest.raises(UsageError, match="applied and undone"):
        tab_cleanup.apply(ws, plan.plan_id)


@pytest.mark.parametrize(
    "plan_id", ["plan-0123456789ab", "../config", "", "plan-../../keys/lake", "plan-" + "a" * 500]
)
def test_an_unknown_plan_is_refused_in_one_line(ws: Workspace, plan_id: str) -> None:
    for call in (tab_cleanup.apply, tab_cleanup.undo, tab_cleanup.closes):
        with pytest.raises(UsageError, match="suggest anew"):
            call(ws, plan_id)


def test_without_a_live_browser_there_is_no_plan(bridge: str, ws: Workspace) -> None:
    with pytest.raises(UsageError, match="brain extension pair"):
        tab_cleanup.suggest(ws)
    browser = paired(bridge, ws)
    browser.send(event("tabs", 1, ago(120), tabs=[tab(1, "https://a.example/")]))
    settled(ws)
    with pytest.raises(UsageError, match="brain extension pair"):
        tab_cleanup.suggest(ws)


def test_assistants_see_the_plan_first_and_change_nothing_without_confirmation(
    bridge: str, ws: Workspace
) -> None:
    asyncio.run(_plans_as_an_assistant(with_tabs(bridge, ws, "Work"), ws))


async def _plans_as_an_assistant(browser: Browser, ws: Workspace) -> None:
    async with Client(build(ws)) as client:
        plan = await client.call_tool("suggest_tab_cleanup", {})
        assert plan.structured_content is not None
        advice = [(t["tabId"], t["action"], t["trust"]) for t in plan.structured_content["tabs"]]
        assert advice == [(1, "Keep", "web"), (2, "Close", "web"), (3, "Close", "web"), (4, "Keep", "web")]
        plan_id = plan.structured_content["plan_id"]
        told = await client.call_tool("apply_tab_cleanup", {"plan_id": plan_id})
        assert told.structured_content is not None
        assert (told.structured_content["state"], told.structured_content["closed"]) == ("planned", [2, 3])
        assert browser.commands() == []
        wrong = await client.call_tool("apply_tab_cleanup", {"plan_id": "plan-none", "confirm": True})
        assert wrong.is_error


def test_what_a_browser_tells_of_a_command_is_stored_without_secrets(bridge: str, ws: Workspace) -> None:
    browser = with_tabs(bridge, ws, "Work")
    plan = tab_cleanup.suggest(ws)
    tab_cleanup.apply(ws, plan.plan_id, wait_s=0)
    (command,) = browser.commands()
    secret = "https://a.example/?access_token=Zq7w3e9r2t5y8u1i4o6p"
    browser.post(f"/api/commands/{command['id']}", {"ok": False, "result": {"kept": [{"reason": [secret]}]}})
    told = outcome(ws, command["id"], 5)
    assert told.state == "failed"
    assert "access_token=~" in str(told.result)
    assert "Zq7w3e9r2t5y8u1i4o6p" not in str(told.result)
