"""The extension in a real Chromium against a real server: what it tells, loses, and must not tell."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from extension_browser import CHROME, Chromium, Site, chromium
from live import free_port, served, settled

from brain.services.tabs import open_tabs
from brain.services.timeline import timeline
from brain.sql import records
from brain.workspace import Workspace, open_workspace

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROME is None, reason="needs a Chromium")]

STARTER = (
    "The starter doubles within six hours when it stands warm, and smells of apples rather than of vinegar."
)


@dataclass
class Scene:
    """A lake with its server, a browser paired with it, and a site to read."""

    ws: Workspace
    browser: Chromium
    site: Site

    def rows(self, sql: str) -> list[dict[str, Any]]:
        self.browser.settle()
        settled(self.ws)
        with self.ws.lake.read(what="test") as con:
            return records(con.execute(sql))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("site"))
    made.page("starter.html", "Keeping a starter", *[STARTER] * 8, other="oven.html")
    made.page("oven.html", "A hot oven", *["Steam in the first ten minutes keeps the crust soft."] * 8)
    yield made
    made.close()


@pytest.fixture
def scene(extension: Path, site: Site, tmp_path: Path) -> Iterator[Scene]:
    ws = open_workspace(tmp_path / "home")
    with (
        served(ws.home.root, tmp_path / "log") as address,
        chromium(extension, tmp_path / "profile") as browser,
    ):
        browser.pair(ws, address, "Work")
        yield Scene(ws, browser, site)


def eventually(true: Callable[[], object], seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.2)


def test_what_a_person_does_in_the_browser_is_in_the_lake(scene: Scene) -> None:
    browser, site = scene.browser, scene.site
    page = browser.context.new_page()
    page.goto(site.url("starter.html"))
    page.wait_for_timeout(1_300)
    page.click("#link")
    page.wait_for_url(site.url("oven.html"))
    page.evaluate("history.pushState({}, '', '/oven.html/steam')")
    page.wait_for_timeout(300)
    page.evaluate("history.back()")
    page.wait_for_timeout(300)
    page.goto(site.url("starter.html"))
    tab = browser.tab_of(site.url("starter.html"))
    assert browser.ask("capture", tab=tab["id"])["ok"]
    assert browser.ask("note", text="Feed it *twice* a day", tab=tab["id"])["ok"]
    chosen = {"menuItemId": "highlight", "selectionText": "smells of apples", "pageUrl": tab["url"]}
    browser.worker.evaluate(
        "([info, tab]) => chrome.contextMenus.onClicked.dispatch(info, tab)", [chosen, tab]
    )
    made = browser.worker.evaluate(
        "(url) => chrome.bookmarks.create({title: 'Starter', url})", site.url("starter.html")
    )
    eventually(lambda: scene.rows("SELECT 1 FROM bookmarks"))

    visits = scene.rows(
        "SELECT url, title, navigation, is_visible, is_back_forward FROM visits ORDER BY visited_at"
    )
    told = [(v["url"].rpartition("/")[2], v["title"], v["navigation"], v["is_back_forward"]) for v in visits]
    assert told == [
        ("starter.html", "Keeping a starter", "typed", False),
        ("oven.html", "A hot oven", "link", False),
        ("steam", "A hot oven", "link", False),
        ("oven.html", "A hot oven", "link", True),
        ("starter.html", "Keeping a starter", "typed", False),
    ]
    assert {v["is_visible"] for v in visits} == {True}
    dwelt = scene.rows("SELECT max(foreground_us) AS us FROM visits WHERE url LIKE '%starter.html'")
    assert 1_000_000 <= dwelt[0]["us"] < 20_000_000
    texts = scene.rows("SELECT kind, title, text FROM store.texts ORDER BY kind")
    assert [(t["kind"], t["title"]) for t in texts] == [
        ("capture", "Keeping a starter"),
        ("highlight", "Keeping a starter"),
        ("note", "Keeping a starter"),
    ]
    assert texts[0]["text"].count(STARTER) == 8
    assert "Imprint" not in texts[0]["text"]  # what is around the article is left out
    assert texts[1]["text"] == "smells of apples"
    assert texts[2]["text"] == "Feed it *twice* a day"
    assert scene.rows("SELECT url, title, folder, browser, profile FROM bookmarks") == [
        {
            "url": site.url("starter.html"),
            "title": "Starter",
            "folder": ["Other bookmarks"],
            "browser": "chromium",
            "profile": "Work",
        }
    ]
    browser.worker.evaluate("(id) => chrome.bookmarks.remove(id)", made["id"])
    eventually(lambda: scene.rows("SELECT 1 FROM bookmarks") == [])
    found = browser.ask("search", query="apples rather than vinegar")["results"]
    assert {hit["kind"] for hit in found} >= {"capture", "highlight"}


def test_any_process_sees_the_open_tabs_as_they_change(scene: Scene) -> None:
    browser, site = scene.browser, scene.site
    urls = [
        site.url(name, domain)
        for name in ("starter.html", "oven.html")
        for domain in ("a.example", "b.example")
    ]
    pages = []
    for url in urls:
        page = browser.context.new_page()
        page.goto(url)
        pages.append(page)
    pages[2].bring_to_front()
    browser.worker.evaluate(
        """async (url) => {
            const [tab] = (await chrome.tabs.query({})).filter(t => t.url === url);
            const group = await chrome.tabs.group({tabIds: [tab.id]});
            await chrome.tabGroups.update(group, {title: 'Baking'});
        }""",
        urls[0],
    )
    wanted = {
        (urls[0], False, "Baking"),
        (urls[1], False, None),
        (urls[2], True, None),
        (urls[3], False, None),
    }
    eventually(lambda: {(t.url, t.active, t.group) for t in open_tabs(scene.ws).tabs} == wanted)
    pages[3].close()
    eventually(lambda: {t.url for t in open_tabs(scene.ws).tabs} == set(urls[:3]))
    assert open_tabs(scene.ws).live


def test_while_the_server_is_away_nothing_is_lost_and_nothing_comes_twice(
    extension: Path, site: Site, tmp_path: Path
) -> None:
    ws, port = open_workspace(tmp_path / "home"), free_port()
    with chromium(extension, tmp_path / "profile") as browser:
        with served(ws.home.root, tmp_path / "log", port) as address:
            browser.pair(ws, address)
        page = browser.context.new_page()  # the server is gone
        for number in range(12):
            page.goto(site.url("starter.html" if number % 2 else "oven.html", f"n{number}.example"))
            page.wait_for_timeout(100)
        assert not browser.ask("note", text="while away").get("error")
        assert browser.settle()["connection"]["failures"] > 0
        status = browser.ask("status")
        assert status["waiting"] >= 13
        assert status["connection"]["problem"] == "Brainlake is not running on this machine"
        with served(ws.home.root, tmp_path / "log", port):
            # As if an answer had been lost on its way: the same events once more.
            browser.worker.evaluate(
                """async () => {
                    const real = fetch;
                    let lost = 0;
                    globalThis.fetch = async (url, options) => {
                        const answer = await real(url, options);
                        if (String(url).endsWith('/api/events') && lost++ < 2) throw new TypeError('lost');
                        return answer;
                    };
                }"""
            )
            for _ in range(4):
                told = browser.settle()
            assert (told["waiting"], told["connection"]["failures"]) == (0, 0)
            settled(ws)
            with ws.lake.read(what="test") as con:
                hosts = Counter(host for (host,) in con.execute("SELECT host FROM visits").fetchall())
                notes = con.execute("SELECT count(*) FROM store.texts").fetchall()
    assert hosts == {f"n{number}.example": 1 for number in range(12)}
    assert notes == [(1,)]


def test_what_waits_survives_the_end_of_the_browser(extension: Path, site: Site, tmp_path: Path) -> None:
    ws, port = open_workspace(tmp_path / "home"), free_port()
    with chromium(extension, tmp_path / "profile") as browser:
        with served(ws.home.root, tmp_path / "log", port) as address:
            browser.pair(ws, address)
        page = browser.context.new_page()
        page.goto(site.url("starter.html"))
        eventually(lambda: browser.ask("status")["waiting"])
    with served(ws.home.root, tmp_path / "log", port), chromium(extension, tmp_path / "profile") as browser:
        assert browser.settle()["waiting"] == 0
        assert [item["url"] for item in timeline(settled(ws)).items] == [site.url("starter.html")]


def test_nothing_leaves_of_a_denied_site_a_private_window_or_while_paused(scene: Scene) -> None:
    browser, site = scene.browser, scene.site
    assert browser.ask("deny", entry="secret.example")["ok"]
    page = browser.context.new_page()
    page.goto(site.url("starter.html", "deep.secret.example"))
    tab = browser.tab_of(page.url)
    refused = browser.ask("capture", tab=tab["id"])
    assert (refused["ok"], refused["error"]) == (False, "This site is on your deny list")
    chosen = {"menuItemId": "highlight", "selectionText": "apples", "pageUrl": tab["url"]}
    browser.worker.evaluate(
        "([info, tab]) => chrome.contextMenus.onClicked.dispatch(info, tab)", [chosen, tab]
    )
    link = {"menuItemId": "link", "linkUrl": site.url("oven.html", "open.example"), "pageUrl": tab["url"]}
    browser.worker.evaluate("([info, tab]) => chrome.contextMenus.onClicked.dispatch(info, tab)", [link, tab])
    browser.worker.evaluate("(url) => chrome.bookmarks.create({title: 'x', url})", page.url)
    popup = browser.open(f"popup/popup.html?tab={tab['id']}")
    assert "This site is on your deny list: nothing of it is sent." in popup.inner_text("#page")
    assert popup.is_disabled("#capture")
    popup.close()
    # A link from it to a page that may be told must not tell where it came from.
    page.click("#link")
    page.wait_for_url("**/oven.html")
    page.goto(site.url("oven.html", "open.example"))
    assert browser.ask("note", text="in my own words", tab=tab["id"])["ok"]
    browser.worker.evaluate(
        "(url) => chrome.windows.create({incognito: true, url})", site.url("starter.html", "private.example")
    )
    page.wait_for_timeout(1_000)
    paused = browser.open("popup/popup.html")
    paused.click("#pause")
    paused.wait_for_selector("#resume:not([hidden])")
    page.goto(site.url("starter.html", "paused.example"))
    page.wait_for_timeout(500)
    paused.click("#resume")
    paused.wait_for_selector("#pause:not([hidden])")
    paused.close()
    page.goto(site.url("starter.html", "last.example"))
    page.wait_for_timeout(500)
    hosts = {row["host"] for row in scene.rows("SELECT host FROM visits")}
    assert hosts == {"open.example", "last.example"}
    assert scene.rows("SELECT count(*) AS n FROM bookmarks") == [{"n": 0}]
    assert [row["text"] for row in scene.rows("SELECT text FROM store.texts")] == ["in my own words"]
    assert {tab.domain for tab in open_tabs(scene.ws).tabs} == {"last.example"}
    everything = b"".join(path.read_bytes() for path in scene.ws.home.inbox.rglob("*") if path.is_file())
    assert b"secret.example" not in everything


def test_the_history_of_the_browser_is_copied_once_with_the_exact_instants(scene: Scene) -> None:
    browser, site = scene.browser, scene.site
    page = browser.context.new_page()
    for domain in ("one.example", "two.example", "one.example"):
        page.goto(site.url("starter.html", domain))
        page.wait_for_timeout(150)
    live = scene.rows("SELECT count(*) AS n FROM visits")
    assert live == [{"n": 3}]
    assert browser.ask("backfill")["visits"] == 3
    assert browser.ask("backfill")["visits"] == 3
    # Each visit was told twice, live and by the history, and counts once.
    counted = scene.rows("SELECT count(*) AS n FROM visits WHERE duplicate_of IS NULL")
    assert counted == [{"n": 3}]
    known = browser.worker.evaluate(
        """async () => {
            const pages = await chrome.history.search({text: '', startTime: 0, maxResults: 100});
            const urls = pages.map(({url}) => url).filter((url) => url.includes('.example'));
            const visits = await Promise.all(urls.map((url) => chrome.history.getVisits({url})));
            return visits.flat().map(({visitTime}) => visitTime);
        }"""
    )
    told = scene.rows("SELECT epoch_us(visited_at) AS us FROM visits")
    assert {round(ms * 1000) for ms in known} <= {row["us"] for row in told}


def test_a_refused_event_lies_among_the_dead_with_its_reason(scene: Scene) -> None:
    browser = scene.browser
    page = browser.open("options/options.html")
    page.evaluate(
        """async () => {
            const queue = await import('../src/queue.js');
            const {event} = await import('../src/tell.js');
            await queue.add([event('juggling', {}), event('note', {text: 'good'})]);
        }"""
    )
    page.click("#send")
    page.locator("#dead li").wait_for()
    assert browser.settle()["waiting"] == 0
    reasons = page.locator("#dead").inner_text()
    assert "unknown kind 'juggling'" in reasons
    assert [row["text"] for row in scene.rows("SELECT text FROM store.texts")] == ["good"]
    page.click("#bury")
    eventually(lambda: page.locator("#dead li").count() == 0)


def test_a_wrong_code_is_refused_and_said(extension: Path, site: Site, tmp_path: Path) -> None:
    ws = open_workspace(tmp_path / "home")
    with (
        served(ws.home.root, tmp_path / "log") as address,
        chromium(extension, tmp_path / "profile") as browser,
    ):
        options = browser.open("options/options.html")
        options.fill("#code", "ABCD-EFGH")
        options.fill("#address", address)
        options.click("#pair button")
        options.wait_for_selector("#said.bad")
        assert "brain extension pair" in options.inner_text("#said")
        options.fill("#address", "http://example.org")
        options.click("#pair button")
        eventually(lambda: "this machine" in options.inner_text("#said"))
        # Unpaired, a browser keeps nothing for later.
        page = browser.context.new_page()
        page.goto(site.url("starter.html"))
        page.wait_for_timeout(500)
        assert browser.ask("status")["waiting"] == 0
