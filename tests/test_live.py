"""The live bridge: a real server, browsers that pair and tell, and everyone who must stay out."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from live import ORIGIN, Browser, ago, event, free_port, paired, served, settled, tab
from mcp import Client, StdioServerParameters

from brain.bridge.guards import GUARDS
from brain.services import access, commands
from brain.services.pairing import make_code
from brain.services.tabs import active_tab, open_tabs
from brain.workspace import Workspace, open_workspace

KEYED = sorted(path for path, guard in GUARDS.items() if guard == "key" and path.startswith("/api/"))


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return open_workspace(tmp_path_factory.mktemp("live") / "höme 湖")


@pytest.fixture(scope="module")
def url(lake: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(lake.home.root, tmp_path_factory.mktemp("log") / "log") as address:
        yield address


@pytest.fixture(scope="module")
def chrome(url: str, lake: Workspace) -> Browser:
    return paired(url, lake)


def rows(ws: Workspace, query: str) -> list[tuple[Any, ...]]:
    return list(settled(ws).lake.sql(query).rows())


class TestPairing:
    def test_a_code_is_good_once(self, url: str, lake: Workspace) -> None:
        code = make_code(lake).text
        body = {"code": code.lower().replace("-", " "), "name": "once", "browser": "firefox", "profile": "p"}
        first = httpx2.post(f"{url}/api/pair", json=body)
        assert first.status_code == 200
        assert set(first.json()) == {"id", "key", "name"}
        again = httpx2.post(f"{url}/api/pair", json=body)
        assert again.status_code == 401
        assert "wrong, used or older" in again.json()["error"]
        (key,) = [key for key in access.list_keys(lake) if key.name == "once"]
        assert (key.scope, key.browser, key.profile, key.origin) == ("write", "firefox", "p", None)
        assert first.json()["key"] not in (lake.home.keys / "clients.json").read_text()

    def test_five_minutes_later_it_is_not(self, workspace: Workspace) -> None:
        from brain.errors import UsageError
        from brain.services.pairing import pair

        code = make_code(workspace).text
        now = workspace.settings.now()
        later = Workspace(replace(workspace.settings, fixed_now=now + timedelta(minutes=5, seconds=1)))
        with pytest.raises(UsageError, match="older than five minutes"):
            pair(later, code, "late")

    def test_after_five_wrong_ones_the_right_one_is_void(self, workspace: Workspace) -> None:
        from brain.errors import UsageError
        from brain.services.pairing import pair

        code = make_code(workspace).text
        for _ in range(5):
            with pytest.raises(UsageError):
                pair(workspace, "AAAA-AAAA", "guess")
        with pytest.raises(UsageError):
            pair(workspace, code, "right")

    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:3747"])
    def test_a_web_page_cannot_pair_even_with_the_code(self, url: str, lake: Workspace, origin: str) -> None:
        body = {"code": make_code(lake).text, "name": "page"}
        assert httpx2.post(f"{url}/api/pair", json=body, headers={"Origin": origin}).status_code == 403
        assert httpx2.post(f"{url}/api/pair", json=body, headers={"Origin": ORIGIN}).status_code == 200

    def test_a_revoked_browser_is_out_at_its_next_request(self, url: str, lake: Workspace) -> None:
        browser = paired(url, lake, "edge", "Gone")
        browser.send()
        access.revoke_key(lake, "edge Gone")
        assert browser.post("/api/events", {"events": []}).status_code == 401


class TestGuards:
    @pytest.mark.parametrize("path", KEYED)
    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({}, 401),
            ({"Authorization": "Bearer brain_000000000000_" + "a" * 43}, 401),
            ({"Host": "evil.example:3747"}, 421),
            ({"Host": "127.0.0.1.evil.example"}, 421),
        ],
    )
    def test_nobody_without_a_key_or_under_a_foreign_name(
        self, url: str, path: str, headers: dict[str, str], status: int
    ) -> None:
        for method in ("GET", "POST"):
            answer = httpx2.request(method, f"{url}{path}", headers=headers)
            assert answer.status_code in (status, 405), method
            assert "access-control-allow-origin" not in answer.headers

    @pytest.mark.parametrize("path", KEYED)
    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "chrome-extension://" + "z" * 32])
    def test_a_good_key_is_no_use_to_another_origin(self, chrome: Browser, path: str, origin: str) -> None:
        stolen = Browser(chrome.url, chrome.key, origin)
        method = "GET" if path == "/api/commands" else "POST"
        answer = httpx2.request(method, f"{chrome.url}{path}", headers=stolen.headers, json={"events": []})
        assert answer.status_code == 403

    @pytest.mark.parametrize("scope", ["read", "write", "admin"])
    def test_only_the_key_of_a_browser_tells_events(self, url: str, lake: Workspace, scope: str) -> None:
        key = access.add_key(lake, f"no browser {scope}", scope).secret
        assert Browser(url, key, None).post("/api/events", {"events": []}).status_code == 403

    @pytest.mark.parametrize(
        ("content", "kind", "status"),
        [
            (b'{"events": []}', "text/plain", 415),
            (b"events=1", "application/x-www-form-urlencoded", 415),
            (b'{"events": []}', "", 415),
            (b"", "application/json", 400),
            (b"{", "application/json", 400),
            (b"[]", "application/json", 400),
            (b"[" * 100_000, "application/json", 400),
            (b'{"events": {}}', "application/json", 400),
            (b'{"events": [' + b"1," * 10_001 + b"1]}", "application/json", 400),
            (b'{"x": "' + b"x" * 5_000_000 + b'"}', "application/json", 413),
        ],
    )
    def test_what_is_no_list_of_events_is_refused(
        self, chrome: Browser, content: bytes, kind: str, status: int
    ) -> None:
        headers = chrome.headers | ({"Content-Type": kind} if kind else {})
        answer = httpx2.post(f"{chrome.url}/api/events", content=content, headers=headers, timeout=60)
        assert answer.status_code == status
        assert list(answer.json()) == ["error"]

    @pytest.mark.parametrize(
        "path", [p for p, guard in GUARDS.items() if guard == "key" and p.startswith("/api")]
    )
    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            b"[" * 100_000,
            b'{"a":' * 600 + b'"\\ud800"' + b"}" * 600,
            b'{"query": "x", "limit": 99999999999999999999}',
            b'{"query": "x", "limit": NaN}',
            b'{"query": "\\ud800", "url": "https://z.example/\\ud800", "title": "\\udfff", "text": "'
            + b"\\ud800 word " * 60
            + b'", "ok": true, "result": {"\\ud800": ["\\ud800"]}}',
            b'{"events": [{"id": "\\ud800", "kind": "note", "at": "2026-12-01T00:00:00Z", '
            b'"data": {"text": "\\ud800"}}]}',
            b'{"url": 5, "title": [], "text": {}, "query": {}, "ok": "yes"}',
        ],
    )
    def test_no_body_breaks_a_route(self, chrome: Browser, path: str, body: bytes) -> None:
        headers = chrome.headers | {"Content-Type": "application/json"}
        answer = httpx2.post(
            chrome.url + path.replace("{command}", "none"), content=body, headers=headers, timeout=60
        )
        assert answer.status_code < 500
        assert answer.status_code < 300 or answer.status_code == 405 or answer.json()["error"]

    def test_too_many_requests_are_told_to_wait(self, url: str, lake: Workspace) -> None:
        browser = paired(url, lake, "vivaldi", "Busy")
        codes = set()
        with httpx2.Client(headers=browser.headers) as http:
            for _ in range(610):
                codes.add(http.get(f"{url}/api/commands?wait=0").status_code)
                if 429 in codes:
                    break
        assert codes == {200, 429}


class TestEvents:
    def test_each_event_is_judged_alone(self, chrome: Browser, lake: Workspace) -> None:
        told = chrome.send(
            event("visit", "good", url="https://a.example/one", title="One"),
            event("visit", "good", url="https://a.example/one", title="One"),
            event("visit", "future", at=datetime.now(UTC) + timedelta(hours=1), url="https://a.example/"),
            event("dance", 1),
            event("thought", 1, content="not a browser's to write"),
            event("command", 1, command="close_tabs", data={}),
            {"id": "no-data", "kind": "visit", "at": "2026-11-30T00:00:00Z"},
            {"id": "no-zone", "kind": "visit", "at": "2026-11-30T00:00:00", "data": {}},
            17,
        )
        assert (told["accepted"], told["duplicate"]) == (1, 1)
        assert {each["id"]: each["reason"].split(";")[0] for each in told["rejected"]} == {
            "visit-future": "`at` lies in the future",
            "dance-1": "unknown kind 'dance'",
            "thought-1": "unknown kind 'thought'",
            "command-1": "unknown kind 'command'",
            "no-data": "`data` must be an object",
            "no-zone": "`at` must be an ISO 8601 instant with a zone, such as 2026-11-30T12:00:00Z",
            "events[8]": "not a JSON object",
        }
        query = "SELECT title, source, browser, profile FROM visits WHERE url = 'https://a.example/one'"
        assert rows(lake, query) == [("One", "extension", "chrome", "Default")]
        assert chrome.send(event("visit", "good", url="https://a.example/one"))["duplicate"] == 1

    def test_two_browsers_may_count_alike(self, chrome: Browser, url: str, lake: Workspace) -> None:
        other = paired(url, lake, "firefox", "Alike")
        for browser in (chrome, other):
            assert browser.send(event("visit", "alike", url="https://alike.example/"))["accepted"] == 1
        query = "SELECT browser FROM visits WHERE domain = 'alike.example' ORDER BY 1"
        assert rows(lake, query) == [("chrome",), ("firefox",)]

    def test_an_extension_cannot_say_that_it_is_someone_else(self, chrome: Browser, lake: Workspace) -> None:
        said = {"client": "root", "source": "slack", "browser": "safari", "profile": "x"}
        chrome.send(event("note", "who", text="whose note is this") | said)
        (found,) = rows(lake, "SELECT source, origin FROM documents WHERE text = 'whose note is this'")
        assert found == ("extension", "Default")

    def test_ten_thousand_events_at_once_are_all_there_once(self, url: str, lake: Workspace) -> None:
        browser = paired(url, lake, "brave", "Many")
        began = ago(20_000)
        told = browser.send(
            *(
                event("visit", n, began + timedelta(seconds=n), url=f"https://many.example/{n}", title=f"{n}")
                for n in range(10_000)
            )
        )
        assert told == {"accepted": 10_000, "duplicate": 0, "rejected": []}
        query = "SELECT count(*), count(DISTINCT url) FROM visits WHERE domain = 'many.example'"
        assert rows(lake, query) == [(10_000, 10_000)]

    def test_what_cannot_be_applied_is_kept_and_the_rest_is_there(
        self, chrome: Browser, lake: Workspace
    ) -> None:
        before = (
            len(list((lake.home.inbox / "rejected").glob("*.json")))
            if (lake.home.inbox / "rejected").exists()
            else 0
        )
        told = chrome.send(
            event("visit", "blank", url=" "),
            event(
                "dwell",
                "backwards",
                url="https://a.example/",
                **{"from": "2026-11-30T10:00:00Z", "to": "2026-11-30T09:00:00Z"},
            ),
            event("tabs", "none", tabs="many"),
            event("visit", "fine", url="https://fine.example/"),
        )
        assert told["accepted"] == 4
        assert rows(lake, "SELECT count(*) FROM visits WHERE domain = 'fine.example'") == [(1,)]
        reasons = {path.read_text() for path in (lake.home.inbox / "rejected").glob("*.reason")}
        assert {"`data.url` is missing", "`data.to` must be after `data.from`, by a day at most"} <= reasons
        assert len(list((lake.home.inbox / "rejected").glob("*.json"))) == before + 3

    def test_texts_and_bookmarks_are_found_by_what_they_say(self, chrome: Browser, lake: Workspace) -> None:
        from brain.services.find import search

        page = {"url": "https://garden.example/composting", "title": "Composting"}
        assert chrome.post("/api/search", {"query": ""}).status_code == 400
        chrome.send(
            event("highlight", 1, **page, text="Turn the heap every fortnight", note="in the rain"),
            event("note", 1, text="Buy a thermometer for the heap", url=page["url"]),
            event("capture", 1, **page, text="A long article on rotting leaves and patience.", lang="en"),
            event("bookmark", 1, **page, folder=["Garden"], change="added"),
        )
        ws = settled(lake)
        found = {hit.kind for hit in search(ws, "heap leaves").results}
        assert found >= {"highlight", "note", "capture"}
        answer = chrome.post("/api/search", {"query": "thermometer for the heap", "limit": 1}).json()
        assert [row["snippet"] for row in answer["results"]] == ["Buy a thermometer for the heap"]
        query = "SELECT title, folder, browser, profile FROM bookmarks WHERE domain = 'garden.example'"
        assert rows(lake, query) == [("Composting", ["Garden"], "chrome", "Default")]
        assert rows(lake, "SELECT count(*) FROM visits WHERE domain = 'garden.example'") == [(0,)]
        chrome.send(event("bookmark", 2, **page, folder=["Garden"], change="removed"))
        assert rows(lake, query) == []

    def test_time_in_front_is_added_to_the_visit(self, chrome: Browser, lake: Workspace) -> None:
        at = ago(100)
        chrome.send(event("visit", "dwelt", at, url="https://dwell.example/", title="Dwell"))
        for number in range(2):
            chrome.send(
                event(
                    "dwell",
                    f"dwelt {number}",
                    url="https://dwell.example/",
                    **{"from": at.isoformat(), "to": (at + timedelta(seconds=20)).isoformat()},
                )
            )
        assert rows(lake, "SELECT foreground_us FROM visits WHERE domain = 'dwell.example'") == [
            (40_000_000,)
        ]


class TestTabs:
    def test_the_newest_list_of_each_browser_counts(self, chrome: Browser, url: str, lake: Workspace) -> None:
        other = paired(url, lake, "firefox", "Tabs")
        chrome.send(
            event(
                "tabs",
                "new",
                ago(1),
                tabs=[tab(1, "https://now.example/", "Now", active=True), tab(2, "https://two.example/")],
            ),
            event("tabs", "old", ago(30), tabs=[tab(9, "https://old.example/")]),
        )
        other.send(
            event("tabs", 1, ago(2), tabs=[tab(1, "https://fox.example/?token=hunter2hunter2hunter2", "Fox")])
        )
        found = open_tabs(settled(lake))
        assert found.live
        assert [(t.browser, t.tab, t.domain) for t in found.tabs] == [
            ("chrome", 1, "now.example"),
            ("chrome", 2, "two.example"),
            ("firefox", 1, "fox.example"),
        ]
        assert "hunter2" not in str(found)
        front = active_tab(found)
        assert front
        assert front.url == "https://now.example/"

    def test_what_is_private_is_not_told(self, chrome: Browser, lake: Workspace) -> None:
        chrome.send(
            event(
                "tabs",
                "private",
                tabs=[
                    tab(1, "https://plain.example/"),
                    tab(2, "https://zebra.example/", incognito=True),
                    tab(3, "chrome://settings/"),
                    tab(4, "file:///home/me/zebra.txt"),
                ],
            )
        )
        chrome_tabs = [t.url for t in open_tabs(settled(lake)).tabs if t.browser == "chrome"]
        assert chrome_tabs == ["https://plain.example/"]

    def test_after_ninety_seconds_nothing_is_live(self, chrome: Browser, lake: Workspace) -> None:
        chrome.send(
            event("visit", "recent", ago(60), url="https://recent.example/"),
            event("tabs", "last", tabs=[tab(1, "https://plain.example/", active=True)]),
        )
        ws = settled(lake)
        assert open_tabs(ws).live
        later = datetime.now(UTC) + timedelta(seconds=95)
        found = open_tabs(Workspace(replace(ws.settings, fixed_now=later)))
        assert (found.live, found.tabs) == (False, [])
        assert "https://recent.example/" in [page.url for page in found.recent]


class TestCommands:
    def test_a_command_is_claimed_once_and_its_outcome_told(
        self, chrome: Browser, url: str, lake: Workspace
    ) -> None:
        other = paired(url, lake, "firefox", "Commands")
        asked = commands.stage(
            lake, "close_tabs", {"tabs": [1]}, browser="chrome", profile="Default", client="me"
        )
        assert other.commands() == []
        ((command),) = chrome.commands(wait=5)
        assert (command["id"], command["kind"], command["data"]) == (asked, "close_tabs", {"tabs": [1]})
        assert chrome.commands() == []
        assert commands.outcome(lake, asked).state == "claimed"
        assert other.post(f"/api/commands/{asked}", {"ok": True}).status_code == 400
        assert (
            chrome.post(f"/api/commands/{asked}", {"ok": True, "result": {"closed": [1]}}).status_code == 200
        )
        assert commands.outcome(lake, asked) == commands.CommandState("done", {"closed": [1]})
        assert chrome.post(f"/api/commands/{asked}", {"ok": False}).status_code == 400
        assert chrome.post("/api/commands/nope", {"ok": True}).status_code == 400
        assert chrome.post(f"/api/commands/{asked}", {"ok": "yes"}).status_code == 400

    def test_what_nobody_claims_expires(self, chrome: Browser, lake: Workspace) -> None:
        asked = commands.stage(lake, "close_tabs", {}, browser="opera", expires_in=1)
        assert commands.outcome(lake, asked, wait_s=5).state == "expired"

    def test_what_is_no_command_is_refused(self, lake: Workspace) -> None:
        from brain.errors import UsageError

        with pytest.raises(UsageError, match="must be one of"):
            commands.stage(lake, "run_program", {})


def test_a_second_server_says_that_the_port_is_taken(lake: Workspace, url: str) -> None:
    port = url.rpartition(":")[2]
    command = [sys.executable, "-m", "brain", "--home", str(lake.home.root), "serve", "--port", port]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode != 0
    assert (
        ran.stderr
        == f"error: cannot listen on 127.0.0.1:{port}: another program listens there already; choose another --port\n"
    )


@pytest.mark.anyio
async def test_every_process_of_the_home_tells_the_same_tabs(chrome: Browser, lake: Workspace) -> None:
    chrome.send(event("tabs", "shared", tabs=[tab(1, "https://shared.example/", "Shared", active=True)]))
    told = []
    for _ in range(3):
        command = ["-m", "brain", "--home", str(lake.home.root), "mcp"]
        async with Client(StdioServerParameters(command=sys.executable, args=command)) as client:
            answer = await client.call_tool("get_active_tab", {})
            told.append(answer.structured_content)
    assert told[0] == told[1] == told[2]
    assert (told[0]["url"], told[0]["live"], told[0]["tabId"]) == ("https://shared.example/", True, 1)


def test_what_came_while_the_server_was_killed_is_applied_by_the_next(tmp_path: Path) -> None:
    ws = open_workspace(tmp_path / "home")
    ws.home.ensure()
    port = free_port()
    with served(ws.home.root, tmp_path / "log", port) as url:
        browser = paired(url, ws)
        browser.send(*(event("visit", n, ago(100 - n), url=f"https://k.example/{n}") for n in range(50)))
    with served(ws.home.root, tmp_path / "log", port) as url:
        told = browser.send(
            *(event("visit", n, ago(100 - n), url=f"https://k.example/{n}") for n in range(60))
        )
        assert told["accepted"] + told["duplicate"] == 60
        query = "SELECT count(DISTINCT url), count(*) FROM visits WHERE domain = 'k.example'"
        assert rows(ws, query) == [(60, 60)]
    assert json.loads((ws.home.keys / "pairing.json").read_text())["codes"] == []
