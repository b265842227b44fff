"""What makes a grouping of tabs good, groups from titles alone, and that only good ones reach the browser."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live import Browser, event, paired, served, settled, tab
from mcp import Client

from brain.grouping_critic import Group, judge
from brain.mcp_server.server import build
from brain.services import tab_grouping
from brain.workspace import Workspace, open_workspace

HOSTS = {1: "a.example", 2: "b.example", 3: "a.example", 4: "a.example", 5: "c.example", 6: "c.example"}


def grouping(*groups: tuple[str, tuple[int, ...]]) -> list[Group]:
    return [Group(name, "blue", tabs) for name, tabs in groups]


class TestCritic:
    @pytest.mark.parametrize(
        ("groups", "score", "penalties"),
        [
            ((("Baking bread", (1, 2, 3)), ("Sea ferries", (4, 5, 6))), 100, []),
            # No group joins two hosts: 60 + 40, and nothing to win.
            ((("Baking bread", (1, 3, 4)), ("Sea ferries", (5, 6)), ("Maps", (2,))), 100, []),
            # One of six is left out: 60 x 5/6 + 40 = 90; no more than 85 would be allowed for two.
            ((("Baking bread", (1, 2, 3)), ("Sea ferries", (4, 5))), 90, ["tabs in no group: 6"]),
            ((("Baking bread", (1, 2, 3)), ("Sea ferries", (4,))), 80, ["tabs in no group: 5, 6"]),
            # Twice: 60 x (1 - 2/6) + 40 = 80, no more than 75.
            ((("Baking bread", (1, 2, 3, 4)), ("Sea ferries", (4, 5, 6))), 75, ["tabs in several groups: 4"]),
            (
                (("Baking bread", (1, 2, 3)), ("Sea ferries", (4, 5, 6, 7))),
                75,
                ["ids of no open tab that can be grouped: 7"],
            ),
            # Half of the names fit: 60 + 20 + 30 x 1.
            (
                (("Baking bread", (1, 2, 3)), ("Go", (4, 5, 6))),
                100,
                ["'Go' has 2 characters; 3 to 48 fit"],
            ),
            ((("Bread", (1, 3, 4)), ("bread ", (2,)), ("Sea", (5, 6))), 80, ["2 groups are called 'bread'"]),
            # Three of four groups hold one tab: 60 + 40 - 40 x (0.75 - 0.4) / 0.6, and the one other spans two hosts.
            (
                (("Baking", (1, 2, 3)), ("Ferries", (4,)), ("Maps", (5,)), ("Glass", (6,))),
                100,
                ["75% of the groups hold a single tab"],
            ),
            (
                (("One", (1,)), ("Two", (2,)), ("Three", (3, 4, 5, 6))),
                100,
                ["67% of the groups hold a single tab"],
            ),
        ],
    )
    def test_every_fault_costs_its_points_and_is_named(
        self, groups: Any, score: float, penalties: list[str]
    ) -> None:
        found = judge(grouping(*groups), HOSTS)
        assert (found.score, found.penalties) == (score, penalties)

    def test_many_left_out_cap_the_score(self) -> None:
        hosts = dict.fromkeys(range(100), "a.example")
        found = judge(grouping(("Baking", tuple(range(94)))), hosts)
        assert (found.score, len(found.penalties)) == (85, 1)
        assert judge(grouping(("Baking", tuple(range(95)))), hosts).score == 97

    @pytest.mark.parametrize(
        "name",
        ["Other", "misc", "General stuff", "Untitled", "YouTube", "git hub", "Stack Overflow", "example.com"],
    )
    def test_a_name_that_says_nothing_is_worth_nothing(self, name: str) -> None:
        found = judge(grouping(("Baking bread", (1, 2, 3)), (name, (4, 5, 6))), HOSTS)
        assert found.score == 0
        assert name in found.penalties[0]

    @pytest.mark.parametrize(
        "name", ["Other people's gardens", "YouTube editing", "v2.0 release", "Node.js streams"]
    )
    def test_a_name_may_hold_such_words(self, name: str) -> None:
        assert judge(grouping((name, (1, 2, 3, 4, 5, 6))), HOSTS).score == 100

    def test_no_groups_are_worth_nothing(self) -> None:
        assert judge([], HOSTS).score == 0


TITLES = {
    1: ("https://bread.example/a", "How to keep a sourdough starter alive"),
    2: ("https://mill.example/b", "Feeding schedule for your sourdough starter"),
    3: ("https://news.example/c", "Sourdough starter problems and their causes"),
    4: ("https://db.example/d", "DuckDB window functions explained"),
    5: ("https://docs.example/e", "Window functions of DuckDB by example"),
    6: ("https://sea.example/f", "Ferry timetable to the outer islands"),
    7: ("https://quiet.example/g", "Lorem"),
    8: ("https://quiet.example/h", "Zebra crossing"),
    9: ("https://pinned.example/i", "Sourdough starter calendar"),
}


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return open_workspace(tmp_path / "home")


@pytest.fixture
def browser(ws: Workspace, tmp_path: Path) -> Iterator[Browser]:
    with served(ws.home.root, tmp_path / "log") as address:
        paired_browser = paired(address, ws)
        tabs = [tab(n, url, title, pinned=n == 9) for n, (url, title) in TITLES.items()]
        paired_browser.send(event("tabs", 1, tabs=tabs))
        settled(ws)
        yield paired_browser


def test_tabs_are_grouped_by_what_they_are_about_then_by_site_and_the_rest_stays(
    browser: Browser, ws: Workspace
) -> None:
    found = tab_grouping.suggest(ws)
    assert [(group.name, group.tabs) for group in found.groups] == [
        ("Sourdough Starter", (1, 2, 3)),
        ("Duckdb Window", (4, 5)),
        ("Quiet", (7, 8)),
    ]
    assert found.critique.score >= 90
    told = browser.post("/api/suggest-grouping", {}).json()
    assert [group["name"] for group in told["groups"]] == [group.name for group in found.groups]


def test_an_assistant_mends_what_the_critic_finds_and_the_browser_gets_the_good_one(
    browser: Browser, ws: Workspace
) -> None:
    async def talk() -> None:
        async with Client(build(ws)) as client:
            groups = [
                {"name": "Sourdough", "color": "blue", "tabIds": [1, 2, 3]},
                {"name": "Everything", "color": "red", "tabIds": [4, 5, 6, 7, 8]},
            ]
            refused = await client.call_tool("apply_tab_grouping", {"groups": groups})
            assert refused.is_error
            assert "scores 0 of 100" in str(refused.content)
            assert "'Everything' is a catch-all" in str(refused.content)
            groups[1] = {"name": "DuckDB and ferries", "color": "mauve", "tabIds": [4, 5, 6, 7, 8]}
            refused = await client.call_tool("apply_tab_grouping", {"groups": groups})
            assert "unknown colour mauve" in str(refused.content)
            groups[1]["color"] = "red"
            words: list[str | None] = []

            async def hear(done: float, total: float | None, message: str | None) -> None:
                words.append(message)

            call = asyncio.create_task(
                client.call_tool("apply_tab_grouping", {"groups": groups}, progress_callback=hear)
            )
            commands = []
            while not commands:
                commands = await asyncio.to_thread(browser.commands, 5)
            assert commands[0]["kind"] == "group_tabs"
            assert commands[0]["data"]["groups"][1] == {
                "name": "DuckDB and ferries",
                "color": "red",
                "tabs": [4, 5, 6, 7, 8],
            }
            result = {"grouped": [{"name": "Sourdough", "group": 3, "tabs": [1, 2, 3]}], "failed": []}
            answer = {"ok": True, "result": result}
            await asyncio.to_thread(browser.post, f"/api/commands/{commands[0]['id']}", answer)
            done = await call
            assert done.structured_content == {"state": "done", **result}
            assert words[0] == "waiting for the browser"

    asyncio.run(talk())
