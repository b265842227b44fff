"""The Firefox build in a real Firefox, driven over WebDriver BiDi: it loads, pairs, and tells tabs and visits."""

import itertools
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from extension_browser import SOURCE, Site
from live import free_port, served, settled
from websockets.sync.client import ClientConnection, connect

from brain.services.pairing import make_code
from brain.services.tabs import open_tabs
from brain.workspace import open_workspace

FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
PREFERENCES = {
    "network.dns.localDomains": "bread.example",
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.normandy.enabled": False,
    "services.settings.server": "",
}
PAIR = """(async () => {
    const field = (id) => document.getElementById(id);
    const until = async (true_) => {
        for (let i = 0; i < 100 && !true_(); i++) await new Promise((done) => setTimeout(done, 100));
    };
    await until(() => !field('pair').hidden);
    field('code').value = CODE;
    field('address').value = ADDRESS;
    field('pair').requestSubmit();
    await until(() => !field('paired').hidden);
    return field('said').textContent;
})()"""

pytestmark = [pytest.mark.browser, pytest.mark.skipif(FIREFOX is None, reason="needs a Firefox")]


class Firefox:
    """A Firefox that takes commands."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._ids = itertools.count(1)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        self._connection.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._connection.recv(60))
            if answer.get("id") == number:
                assert answer["type"] == "success", answer
                return dict(answer["result"])


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Firefox]:
    profile = tmp_path / "profile"
    profile.mkdir()
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("\n".join(lines))
    port = free_port()
    options = ["--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", str(port)]
    assert FIREFOX is not None
    with (tmp_path / "firefox.log").open("wb") as log:
        process = subprocess.Popen([FIREFOX, *options], stdout=log, stderr=log)
    try:
        for _ in range(600):
            try:
                connection = connect(f"ws://127.0.0.1:{port}/session", max_size=None)
                break
            except OSError:
                assert process.poll() is None, (tmp_path / "firefox.log").read_text()
                time.sleep(0.1)
        with connection:
            started = Firefox(connection)
            started.call("session.new", capabilities={})
            yield started
    finally:
        process.terminate()
        process.wait(30)


def test_the_firefox_build_pairs_and_tells_tabs_and_visits(firefox: Firefox, tmp_path: Path) -> None:
    subprocess.run([sys.executable, SOURCE / "build.py", tmp_path / "built"], check=True, capture_output=True)
    ws = open_workspace(tmp_path / "home")
    (tmp_path / "site").mkdir()
    site = Site(tmp_path / "site")
    site.page("starter.html", "Keeping a starter", "It doubles within six hours.")
    with served(ws.home.root, tmp_path / "log") as address:
        folder = {"type": "path", "path": str(tmp_path / "built" / "firefox")}
        firefox.call("webExtension.install", extensionData=folder)
        for _ in range(100):  # the options open by themselves after installation
            contexts = firefox.call("browsingContext.getTree")["contexts"]
            options = [c["context"] for c in contexts if c["url"].endswith("options/options.html")]
            if options:
                break
            time.sleep(0.1)
        code, where = json.dumps(make_code(ws).text), json.dumps(address)
        paired = firefox.call(
            "script.evaluate",
            expression=PAIR.replace("CODE", code).replace("ADDRESS", where),
            target={"context": options[0]},
            awaitPromise=True,
        )
        assert paired["result"]["value"] == "Paired as firefox."
        tab = firefox.call("browsingContext.create", type="tab")["context"]
        url = site.url("starter.html")
        firefox.call("browsingContext.navigate", context=tab, url=url, wait="complete")
        until = time.monotonic() + 60
        rows: list[Any] = []
        while not (rows and rows[0][1]) or url not in {t.url for t in open_tabs(ws).tabs}:
            assert time.monotonic() < until, rows
            time.sleep(0.5)
            with settled(ws).lake.read(what="test") as con:
                rows = con.execute("SELECT url, title, browser FROM visits").fetchall()
    site.close()
    assert rows == [(url, "Keeping a starter", "firefox")]
    assert [(t.url, t.title, t.active, t.browser) for t in open_tabs(ws).tabs] == [
        (url, "Keeping a starter", True, "firefox")
    ]
