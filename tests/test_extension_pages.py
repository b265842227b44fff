"""The popup and the options as people see them: in light and dark, by keyboard and by screen reader."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from extension_browser import CHROME, SOURCE, Chromium, Site, chromium
from live import ago, event, paired, served, settled

from brain.workspace import open_workspace

AXE = SOURCE / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROME is None, reason="needs a Chromium")]


@pytest.fixture(scope="module")
def browser(extension: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A paired browser with a page open, something to find, something refused, and tabs that may go."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "site").mkdir()
    site = Site(folder / "site")
    site.page("starter.html", "Keeping a sourdough starter alive", *["It doubles within six hours."] * 20)
    site.page("oven.html", "A hot oven and a lot of steam", *["Steam keeps the crust soft."] * 20)
    ws = open_workspace(folder / "home")
    with served(ws.home.root, folder / "log") as address, chromium(extension, folder / "profile") as started:
        started.pair(ws, address, "Work")
        past = paired(address, ws, "firefox", "past")
        past.send(
            *(
                event("visit", n, ago((5 + n) * 86_400), url=site.url(name))
                for n, name in enumerate(["oven.html", "index.html"])
            )
        )
        settled(ws)
        page = started.desk
        page.evaluate(
            """async () => {
                const {change} = await import('../src/settings.js');
                await change({deny: ['bank.example', 'clinic.example/patients'], autoCapture: ['recipes.example']});
                const queue = await import('../src/queue.js');
                const {event} = await import('../src/tell.js');
                await queue.add([event('juggling', {})]);
            }"""
        )
        started.worker.evaluate(
            """() => {
                const query = chrome.tabs.query.bind(chrome.tabs);
                chrome.tabs.query = async (asked) =>
                    (await query(asked)).map((tab) => ({...tab, lastAccessed: tab.lastAccessed - 7_200_000}));
            }"""
        )
        for name in ("oven.html", "oven.html", "starter.html"):
            tab = started.context.new_page()
            tab.goto(site.url(name))
        kept = started.tab_of(site.url("starter.html"))
        started.ask("capture", tab=kept["id"])
        started.settle()
        settled(ws)
        started.site, started.kept = site, kept["id"]  # type: ignore[attr-defined]
        yield started
    site.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["popup", "options"])
def test_a_page_is_accessible_and_loads_nothing_from_elsewhere(
    browser: Chromium, name: str, scheme: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    if not AXE.exists():
        pytest.skip("needs axe-core, which npm fetches")
    page = browser.context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    if name == "popup":
        page.set_viewport_size({"width": 380, "height": 780})
        page.goto(f"{browser.base}popup/popup.html?tab={browser.kept}")  # type: ignore[attr-defined]
        page.fill("#query", "sourdough")
        page.press("#query", "Enter")
        page.locator("#results li").first.wait_for()
        page.click("#suggest")
        page.locator("#tabs li").first.wait_for()
    else:
        page.set_viewport_size({"width": 900, "height": 1300})
        page.goto(f"{browser.base}options/options.html")
        page.locator("#dead li").first.wait_for()
    page.screenshot(path=tmp_path / f"{name}-{scheme}.png", full_page=True)
    # The page's own policy forbids what is not the extension's, so that axe is given as the extension's own script.
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate(
        "() => axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']})"
    )
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]] == []
    assert len(found["passes"]) > 15
    assert {url.partition("://")[0] for url in asked} == {"chrome-extension"}
    page.close()


def test_the_popup_is_used_by_keyboard_alone(browser: Chromium) -> None:
    page = browser.open(f"popup/popup.html?tab={browser.kept}")  # type: ignore[attr-defined]
    page.wait_for_selector("#page:not([hidden])")
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("() => document.activeElement.id || document.activeElement.textContent"))
    wanted = ["options", "query", "Search", "capture", "deny", "text", "Keep note", "suggest", "pause"]
    assert [one for one in reached if one in wanted][: len(wanted)] == wanted
    page.focus("#text")
    page.keyboard.type("A thought in passing")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#said:not([hidden])")
    assert page.inner_text("#said") == "The note is kept."
    assert page.get_attribute("#said", "role") == "alert"
    page.close()


def test_the_address_bar_suggests_what_the_lake_holds(browser: Chromium) -> None:
    ask = "(words) => new Promise((show) => chrome.omnibox.onInputChanged.dispatch(words, show))"
    suggested = browser.worker.evaluate(ask, "sourdough starter")
    url = browser.site.url("starter.html")  # type: ignore[attr-defined]
    assert suggested[0] == {
        "content": url,
        "description": f"Keeping a sourdough starter alive <dim>–</dim> <url>{url}</url>",
    }


def test_the_card_tells_what_was_read_before_where_the_page_cannot_reach_it(browser: Chromium) -> None:
    """The bridge's answer is given here; what it answers is tested in test_seen_before."""
    site = browser.site  # type: ignore[attr-defined]
    browser.worker.evaluate(
        """() => {
            const real = fetch;
            globalThis.asked = [];
            globalThis.fetch = (url, options) => {
                if (!String(url).endsWith('/api/check-context')) return real(url, options);
                globalThis.asked.push(JSON.parse(options.body));
                const seen = {title: '<b>Old</b>', url: 'https://old.example/', last_visited: '2026-01-02T00:00:00Z'};
                return Promise.resolve(new Response(JSON.stringify({seen})));
            };
        }"""
    )
    page = browser.context.new_page()
    page.goto(site.url("starter.html"))
    page.wait_for_timeout(3_000)
    assert page.locator("aside").count() == 0  # off until it is switched on
    change = "async (some) => (await import('../src/settings.js')).change(some)"
    browser.desk.evaluate(change, {"card": True})
    browser.desk.wait_for_timeout(500)
    page.goto(site.url("oven.html"))
    page.locator("aside").wait_for(state="attached")
    assert page.evaluate("() => document.querySelector('aside').shadowRoot") is None
    page.goto(site.url("oven.html", "www.bank.example"))  # denied
    page.wait_for_timeout(3_000)
    assert page.locator("aside").count() == 0
    asked = browser.worker.evaluate("() => globalThis.asked")
    assert [each["url"] for each in asked] == [site.url("oven.html")]
    assert "Steam keeps the crust soft." in asked[0]["text"]
    browser.desk.evaluate(change, {"card": False})
    page.close()
