"""A web page in a real Chromium against the live bridge: whatever it tries, it reads nothing and changes nothing."""

import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest
from live import free_port, paired, served

from brain.services.pairing import make_code
from brain.workspace import Workspace, open_workspace

CHROME = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TRY = """
async ({bridge, code, key}) => {
    const event = {events: [{id: "x", kind: "note", at: "2026-11-30T00:00:00Z", data: {text: "zebra"}}]};
    const pairing = JSON.stringify({code, name: "page"});
    const said = {};
    const tries = {
        status: () => fetch(`${bridge}/api/status`),
        json: () => fetch(`${bridge}/api/events`, {method: "POST", body: JSON.stringify(event),
            headers: {"Content-Type": "application/json", Authorization: `Bearer ${key}`}}),
        plain: () => fetch(`${bridge}/api/events`, {method: "POST", body: JSON.stringify(event), mode: "no-cors"}),
        beacon: async () => {
            navigator.sendBeacon(`${bridge}/api/events`, JSON.stringify(event));
            throw Error("sent");
        },
        pair: () => fetch(`${bridge}/api/pair`, {method: "POST", mode: "no-cors", body: pairing}),
        pairJson: () => fetch(`${bridge}/api/pair`, {method: "POST", body: pairing,
            headers: {"Content-Type": "application/json"}}),
        commands: () => fetch(`${bridge}/api/commands?wait=0`, {mode: "no-cors"}),
        mcp: () => fetch(`${bridge}/mcp`, {method: "POST", mode: "no-cors", body: "{}"}),
        image: () => new Promise((yes, no) => {
            const image = new Image();
            Object.assign(image, {onload: yes, onerror: () => no(Error("no")), src: `${bridge}/api/commands?wait=0`});
        }),
        socket: () => new Promise((yes, no) => {
            const socket = new WebSocket(bridge.replace("http", "ws") + "/mcp");
            Object.assign(socket, {onopen: yes, onerror: () => no(Error("no"))});
        }),
    };
    for (const [name, attempt] of Object.entries(tries)) {
        try { const answer = await attempt(); said[name] = answer.type === "opaque" ? "opaque" : await answer.text(); }
        catch (error) { said[name] = "failed"; }
    }
    return said;
}
"""
FORM = """
<form method=post enctype=text/plain action="{bridge}/api/events"><input name='{{"events":[],"x":"' value='"}}'></form>
<script>document.forms[0].submit()</script>
"""

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROME is None, reason="needs a Chromium")]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return open_workspace(tmp_path_factory.mktemp("attack") / "home")


@pytest.fixture(scope="module")
def bridge(lake: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(lake.home.root, tmp_path_factory.mktemp("log") / "log") as address:
        yield address


@pytest.fixture(scope="module")
def site(bridge: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A site of someone else; its port."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.html").write_text("<title>evil</title>")
    (folder / "form.html").write_text(FORM.format(bridge=bridge))
    server = ThreadingHTTPServer(("127.0.0.1", free_port()), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")),
            executable_path=CHROME,
            headless=True,
            args=[
                *(
                    "--no-sandbox",
                    "--disable-gpu",
                    "--disable-background-networking",
                    "--disable-component-update",
                ),
                *("--disable-sync", "--host-resolver-rules=MAP evil.example 127.0.0.1"),
                "--disable-features=LocalNetworkAccessChecks",  # the bridge must hold without the browser's help
            ],
        )
        yield browser
        browser.close()


def holds(ws: Workspace) -> tuple[int, int, int]:
    """Events waiting or refused, and keys."""
    box = ws.home.inbox
    files = [len(list((box / part).glob("*.json"))) for part in ("new", "rejected")]
    return files[0], files[1], len((ws.home.keys / "clients.json").read_text())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "evil.example"])
def test_a_page_of_another_origin_reads_nothing_and_changes_nothing(
    context: Any, bridge: str, site: int, lake: Workspace, host: str
) -> None:
    browser = paired(bridge, lake, "chrome", host)
    code, before = make_code(lake).text, holds(lake)
    page = context.new_page()
    page.goto(f"http://{host}:{site}/index.html")
    said = page.evaluate(TRY, {"bridge": bridge, "code": code, "key": browser.key})
    page.goto(f"http://{host}:{site}/form.html")
    page.wait_for_url(f"{bridge}/**")
    assert "the body must be application/json" in page.content() or "a key is needed" in page.content()
    page.close()
    assert set(said.values()) <= {"failed", "opaque"}, said
    assert holds(lake) == before
    # The code that the page knew is still good: nothing it sent was taken for a pairing.
    answer = httpx2.post(f"{bridge}/api/pair", json={"code": code, "name": f"after {host}"}, timeout=30)
    assert answer.status_code == 200


def test_a_name_rebound_to_this_machine_is_not_served(context: Any, bridge: str, lake: Workspace) -> None:
    """The page is of the same origin as the bridge, as the browser sees it: only the Host tells."""
    port = bridge.rpartition(":")[2]
    page = context.new_page()
    answer = page.goto(f"http://evil.example:{port}/api/status")
    assert answer.status == 421
    said = page.evaluate(
        TRY, {"bridge": f"http://evil.example:{port}", "code": make_code(lake).text, "key": "brain_x_y"}
    )
    page.close()
    texts = {text for text in said.values() if text not in ("failed", "opaque")}
    assert all("this Host is not served here" in text for text in texts), said
    assert "json" in said
