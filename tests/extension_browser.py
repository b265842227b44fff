"""What the tests of the extension share: the built extension in a real Chromium, a site to read, the options page."""

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Error, Page, Worker, sync_playwright

from brain.services.pairing import make_code
from brain.workspace import Workspace

SOURCE = Path(__file__).parents[1] / "extension"
CHROME = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    # Sites of these names are served by the test; no other name is found.
    *("--disable-sync", "--no-first-run", "--host-resolver-rules=MAP *.example 127.0.0.1"),
)
ARTICLE = """<!doctype html><html lang="en"><head><title>{title}</title><meta name="author" content="Ida Baker"></head>
<body><nav><a href="/">Home</a> <a id="link" href="/{other}">Next</a></nav><article><h1>{title}</h1>{text}</article>
<footer>Imprint and cookies</footer></body></html>"""


def build(target: Path) -> Path:
    """The extension as `make extension` makes it, with every optional permission given.

    A browser without a screen cannot be asked: what a person grants by a click is granted here in the manifest.
    """
    subprocess.run([sys.executable, SOURCE / "build.py", target], check=True, capture_output=True)
    path = target / "chromium" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["permissions"] += manifest.pop("optional_permissions")
    manifest["host_permissions"] += manifest.pop("optional_host_permissions")
    path.write_text(json.dumps(manifest))
    return target / "chromium"


class Site:
    """Pages under any name that ends in .example."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        handler = partial(_Quiet, directory=str(folder))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.port = self._server.server_address[1]
        self.page("index.html", "Front page", "Nothing much.")

    def page(self, name: str, title: str, *paragraphs: str, other: str = "") -> None:
        text = "".join(f"<p>{each}</p>" for each in paragraphs)
        (self._folder / name).write_text(ARTICLE.format(title=title, text=text, other=other), "utf-8")

    def url(self, name: str, domain: str = "bread.example") -> str:
        return f"http://{domain}:{self.port}/{name}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


class Chromium:
    """A Chromium with the extension."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.worker: Worker = (
            context.service_workers[0] if context.service_workers else context.wait_for_event("serviceworker")
        )
        self.base = self.worker.url.removesuffix("src/background.js")

    def open(self, page: str) -> Page:
        """A page of the extension, in a tab."""
        tab = self.context.new_page()
        try:
            tab.goto(self.base + page)
        except Error as error:  # while the extension starts, Chromium may begin the same navigation once more
            if "interrupted by another navigation" not in str(error):
                raise
            tab.wait_for_url(self.base + page)
        return tab

    def pair(self, ws: Workspace, address: str, profile: str = "") -> None:
        """As a person does it: a code typed into the options."""
        options = self.desk
        options.fill("#code", make_code(ws).text.lower())
        options.fill("#profile", profile)
        options.fill("#address", address)
        options.click("#pair button")
        options.wait_for_selector("#paired:not([hidden])")

    @cached_property
    def desk(self) -> Page:
        """A page of the extension that stays open, to ask the worker from; it comes to no one's front."""
        return self.open("options/options.html")

    def ask(self, what: str, **more: Any) -> dict[str, Any]:
        """Ask the worker as the popup does."""
        return dict(self.desk.evaluate("(m) => chrome.runtime.sendMessage(m)", {"do": what, **more}))

    def settle(self) -> dict[str, Any]:
        """Send all that waits, also what waits for its title; what the worker says after that."""
        for _ in range(60):
            told = self.ask("send")
            if told["waiting"] == 0 or told["connection"]["failures"]:
                break
            time.sleep(0.5)
        return told

    def tab_of(self, url: str) -> dict[str, Any]:
        """The browser's own tab that shows this URL."""
        found = self.worker.evaluate(
            "async (url) => (await chrome.tabs.query({})).find(t => t.url === url)", url
        )
        assert found, url
        return dict(found)


@contextmanager
def chromium(extension: Path, profile: Path, **options: Any) -> Iterator[Chromium]:
    """Start a Chromium with the extension on a profile of its own."""
    load = (f"--disable-extensions-except={extension}", f"--load-extension={extension}")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=CHROME, headless=True, args=[*FLAGS, *load], **options
        )
        context.set_default_timeout(20_000)
        try:
            yield Chromium(context)
        finally:
            context.close()
