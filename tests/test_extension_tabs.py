"""Plans carried out by the extension in a real Chromium: tabs closed and opened again as they were, pages captured."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from extension_browser import CHROME, Chromium, Site, chromium
from live import ago, event, paired, served, settled

from brain.services import commands, tab_cleanup
from brain.services.capture_page import capture_page
from brain.services.tabs import open_tabs
from brain.workspace import Workspace, open_workspace

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROME is None, reason="needs a Chromium")]

STATE = """async () => {
    const groups = new Map((await chrome.tabGroups.query({})).map(({id, title, color}) => [id, `${title} ${color}`]));
    const windows = await chrome.windows.getAll({populate: true});
    return windows.map(({tabs}) => tabs.filter(({url}) => url.includes('.example'))
        .map(({url, pinned, groupId}) => [url, pinned, groups.get(groupId) ?? null]))
        .filter((tabs) => tabs.length);
}"""
# Everything was used two hours ago.
LONG_AGO = """() => {
    const query = chrome.tabs.query.bind(chrome.tabs);
    chrome.tabs.query = async (asked) =>
        (await query(asked)).map((tab) => ({...tab, lastAccessed: tab.lastAccessed - 7_200_000}));
}"""
DAY = 86_400


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("site"))
    for name in ("once", "often", "old", "fresh", "group1", "group2", "front"):
        made.page(
            f"{name}.html", f"About {name}", *[f"All that can be said of {name} is said here, at length."] * 8
        )
    yield made
    made.close()


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return open_workspace(tmp_path / "home")


@pytest.fixture
def browser(extension: Path, site: Site, ws: Workspace, tmp_path: Path) -> Iterator[Chromium]:
    with (
        served(ws.home.root, tmp_path / "log") as address,
        chromium(extension, tmp_path / "profile") as started,
    ):
        started.pair(ws, address)
        other = paired(address, ws, "firefox", "past")
        old = [
            (name, days) for name, days in [("once", 4), ("old", 6), ("old", 7), ("group1", 8), ("group2", 8)]
        ]
        old += [("often", 9)] * 7
        other.send(
            *(
                event(
                    "visit", number, ago(days * DAY + number), url=site.url(f"{name}.html"), transition="link"
                )
                for number, (name, days) in enumerate(old)
            )
        )
        settled(ws)
        # What is opened now is no new visit, so that the tabs look as after days.
        page = started.open("options/options.html")
        page.uncheck("#visits")
        page.close()
        yield started


def eventually(true: Callable[[], object], seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.2)


def opened(browser: Chromium, site: Site) -> list[Any]:
    """Two windows with tabs of every kind, one group, one pinned tab; the state of it all."""
    url = site.url
    browser.worker.evaluate(
        """async ([first, second]) => {
            const open = async (windowId, url, more = {}) =>
                chrome.tabs.create({windowId, url, active: false, ...more});
            const one = await chrome.windows.create({url: first.front});
            const pinned = await open(one.id, first.pinned, {pinned: true});
            for (const url of first.tabs) await open(one.id, url);
            const two = await chrome.windows.create({url: second.front});
            const ids = [];
            for (const url of second.tabs) ids.push((await open(two.id, url)).id);
            const group = await chrome.tabs.group({tabIds: ids, createProperties: {windowId: two.id}});
            await chrome.tabGroups.update(group, {title: 'Trip', color: 'purple'});
        }""",
        [
            {
                "front": url("front.html"),
                "pinned": url("once.html"),
                "tabs": [
                    url("once.html", "www.bread.example"),
                    url("often.html"),
                    url("old.html"),
                    url("fresh.html"),
                ],
            },
            {"front": url("often.html"), "tabs": [url("group1.html"), url("group2.html")]},
        ],
    )
    eventually(lambda: all(tab["status"] == "complete" for tab in all_tabs(browser)))
    browser.worker.evaluate(LONG_AGO)
    return list(browser.worker.evaluate(STATE))


def all_tabs(browser: Chromium) -> list[dict[str, Any]]:
    return list(browser.worker.evaluate("() => chrome.tabs.query({})"))


def test_a_plan_is_carried_out_and_undone_as_it_was(browser: Chromium, site: Site, ws: Workspace) -> None:
    before = opened(browser, site)
    assert sum(map(len, before)) == 9
    browser.ask("cleanup")  # the tabs are told anew
    eventually(lambda: len([t for t in open_tabs(ws).tabs if "example" in t.url]) == 9)
    plan = tab_cleanup.suggest(ws)
    names = {(tab.url.rpartition("/")[2], tab.action) for tab in plan.tabs if "example" in tab.url}
    assert names == {
        ("front.html", "Keep"),
        ("once.html", "Keep"),  # pinned
        ("once.html", "Close"),
        ("often.html", "Keep"),
        ("often.html", "Close"),  # there twice; one is in front
        ("old.html", "Archive"),
        ("fresh.html", "Keep"),  # never visited
        ("group1.html", "Close"),
        ("group2.html", "Close"),
    }
    reasons = {
        tab.url.rpartition("/")[2]: tab.reason for tab in plan.tabs if tab.action in ("Close", "Archive")
    }
    assert reasons["old.html"] == "last visited 6 days ago, 2 visits"
    assert reasons["group1.html"] == "visited once, 8 days ago"
    assert sorted(tab_cleanup.closes(ws, plan.plan_id)) == sorted(
        tab.tab for tab in plan.tabs if tab.action in ("Close", "Archive")
    )
    done = tab_cleanup.apply(ws, plan.plan_id)
    assert (done.state, len(done.closed), done.kept) == ("done", 5, [])
    assert tab_cleanup.apply(ws, plan.plan_id) == done  # again: nothing more, the same answer
    after = browser.worker.evaluate(STATE)
    assert sorted(url.rpartition("/")[2] for tabs in after for url, _, _ in tabs) == [
        *("fresh.html", "front.html", "often.html", "once.html"),
    ]
    with settled(ws).lake.read(what="test") as con:
        texts = con.execute("SELECT title, text FROM store.texts").fetchall()
    assert [(title, "All that can be said of old" in text) for title, text in texts] == [("About old", True)]
    undone = tab_cleanup.undo(ws, plan.plan_id)
    assert (undone.state, len(undone.opened), undone.kept) == ("done", 5, [])
    eventually(lambda: browser.worker.evaluate(STATE) == before)


def test_tabs_of_a_window_that_is_gone_come_back_together_in_a_new_one(
    browser: Chromium, site: Site, ws: Workspace
) -> None:
    before = opened(browser, site)
    browser.ask("cleanup")
    eventually(lambda: len([t for t in open_tabs(ws).tabs if "example" in t.url]) == 9)
    plan = tab_cleanup.suggest(ws)
    assert len(tab_cleanup.apply(ws, plan.plan_id).closed) == 5
    front = next(tab for tab in plan.tabs if tab.url.endswith("often.html") and tab.action == "Keep")
    browser.worker.evaluate("(id) => chrome.windows.remove(id)", front.window)
    assert len(tab_cleanup.undo(ws, plan.plan_id).opened) == 5
    group = [tab for tab in before[1] if tab[2]]
    assert len(group) == 2
    eventually(lambda: browser.worker.evaluate(STATE) == [before[0], group])


def test_what_changed_since_the_plan_stays(browser: Chromium, site: Site, ws: Workspace) -> None:
    opened(browser, site)
    browser.ask("cleanup")
    eventually(lambda: len([t for t in open_tabs(ws).tabs if "example" in t.url]) == 9)
    plan = tab_cleanup.suggest(ws)
    tabs = {tab["url"].rpartition("/")[2]: tab["id"] for tab in all_tabs(browser) if not tab["pinned"]}
    update = "([id, some]) => chrome.tabs.update(id, some)"
    browser.worker.evaluate(update, [tabs["old.html"], {"active": True}])
    browser.worker.evaluate(update, [tabs["once.html"], {"pinned": True}])
    browser.worker.evaluate(update, [tabs["group1.html"], {"url": site.url("fresh.html")}])
    eventually(lambda: "fresh" in next(t["url"] for t in all_tabs(browser) if t["id"] == tabs["group1.html"]))
    browser.worker.evaluate("(id) => chrome.tabs.remove(id)", tabs["group2.html"])
    done = tab_cleanup.apply(ws, plan.plan_id)
    assert {one["tab"]: one["reason"] for one in done.kept} == {
        tabs["old.html"]: "it is the active tab of its window",
        tabs["once.html"]: "it is pinned",
        tabs["group1.html"]: "it shows another page by now",
        tabs["group2.html"]: "it is closed already",
    }
    assert len(done.closed) == 1


def test_a_page_whose_text_cannot_be_kept_is_not_closed(browser: Chromium, site: Site, ws: Workspace) -> None:
    opened(browser, site)
    browser.ask("cleanup")
    eventually(lambda: len([t for t in open_tabs(ws).tabs if "example" in t.url]) == 9)
    plan = tab_cleanup.suggest(ws)
    old = next(tab for tab in plan.tabs if tab.action == "Archive")
    browser.worker.evaluate(
        """() => {
            const real = fetch;
            globalThis.fetch = (url, options) => String(options?.body).includes('"capture"')
                ? Promise.reject(new TypeError('no')) : real(url, options);
        }"""
    )
    done = tab_cleanup.apply(ws, plan.plan_id, [old.tab])
    assert done.closed == []
    assert done.kept == [{"tab": old.tab, "reason": "Brainlake is not running on this machine"}]
    assert old.tab in {tab["id"] for tab in all_tabs(browser)}


def test_the_popup_closes_and_opens_again(browser: Chromium, site: Site, ws: Workspace) -> None:
    popup = browser.open("popup/popup.html")  # in the first window, so that no other's front changes
    before = opened(browser, site)
    popup.click("#suggest")
    popup.locator("#tabs li").nth(4).wait_for()
    assert popup.locator("#tabs li").count() == 5
    popup.locator("#tabs input").first.uncheck()
    popup.click("#close")
    eventually(lambda: "4 tabs closed." in popup.inner_text("#said"))
    assert sum(map(len, browser.worker.evaluate(STATE))) == 5
    popup.click("#undo")
    eventually(lambda: "4 tabs opened again." in popup.inner_text("#said"))
    eventually(lambda: browser.worker.evaluate(STATE) == before)
    assert popup.is_hidden("#undo")


def test_the_popup_groups_tabs_by_subject(browser: Chromium, site: Site) -> None:
    popup = browser.open("popup/popup.html")
    for number, title in enumerate(
        ["Sourdough starter basics", "Sourdough starter problems", "Ferry timetable"]
    ):
        site.page(f"topic{number}.html", title, "Text.")
        url = site.url(f"topic{number}.html", f"site{number}.example")
        browser.worker.evaluate("(url) => chrome.tabs.create({url, active: false})", url)
    eventually(lambda: all(tab["status"] == "complete" for tab in all_tabs(browser)))
    popup.click("#group")
    eventually(lambda: popup.inner_text("#said") == "Grouped: Sourdough Starter (2).")
    groups = browser.worker.evaluate(
        "async () => (await chrome.tabGroups.query({})).map(({title, color}) => [title, color])"
    )
    assert groups == [["Sourdough Starter", "blue"]]


def test_addresses_with_secrets_stay_in_the_browser_and_the_plan_still_finds_its_tab(
    browser: Chromium, site: Site, ws: Workspace
) -> None:
    secret = "Zq7w3e9r2t5y8u1i4o6p"
    url = f"{site.url('group1.html')}?token={secret}&page=2"
    browser.worker.evaluate("(url) => chrome.tabs.create({url, active: false})", url)
    eventually(lambda: any(tab["url"] == url and tab["status"] == "complete" for tab in all_tabs(browser)))
    tab = browser.tab_of(url)
    browser.ask("cleanup")
    eventually(lambda: any(t.tab == tab["id"] for t in open_tabs(ws).tabs))
    known = next(t for t in open_tabs(ws).tabs if t.tab == tab["id"])
    assert secret not in known.url
    asked = commands.stage(
        ws, "close_tabs", {"tabs": [{"tab": known.tab, "url": known.url, "archive": True}]}
    )
    done = commands.outcome(ws, asked, 30)
    assert (done.state, done.result) == ("done", {"closed": [tab["id"]], "kept": []})
    back = commands.outcome(ws, commands.stage(ws, "open_tabs", {"closed_by": asked}), 30)
    assert back.state == "done"
    eventually(lambda: any(tab["url"] == url for tab in all_tabs(browser)))
    settled(ws)
    with ws.lake.read(what="test") as con:
        everything = json.dumps(
            [
                con.execute(f"SELECT * FROM store.{table}").fetchall()
                for table in ("tabs", "texts", "commands", "urls")
            ],
            default=str,
        )
    assert "page=2" in everything
    assert secret not in everything


def test_an_assistant_gets_the_text_of_the_page_in_front(
    browser: Chromium, site: Site, ws: Workspace
) -> None:
    page = browser.context.new_page()
    page.goto(site.url("old.html"))
    page.bring_to_front()
    eventually(lambda: any(t.active and "old" in t.url for t in open_tabs(ws).tabs))
    made = capture_page(ws, site.url("old.html"))
    assert (made.status, made.title) == ("captured", "About old")
    assert "All that can be said of old" in (made.summary or "")
    again = capture_page(ws, site.url("old.html"), summary="Short.")
    assert (again.id, again.summary) == (made.id, "Short.")


def test_a_page_of_a_chosen_site_is_kept_after_twenty_seconds(
    browser: Chromium, site: Site, ws: Workspace
) -> None:
    options = browser.open("options/options.html")
    options.evaluate(
        "async () => (await import('../src/settings.js')).change({autoCapture: ['kept.example', 'sub.example/x']})"
    )
    options.wait_for_timeout(500)
    options.close()
    page = browser.context.new_page()
    page.goto(site.url("fresh.html", "kept.example"))
    page.bring_to_front()
    page.wait_for_timeout(23_000)
    browser.settle()
    with settled(ws).lake.read(what="test") as con:
        assert con.execute("SELECT title FROM store.texts").fetchall() == [("About fresh",)]
