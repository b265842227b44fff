"""What the tests of the live bridge share: a running server, a paired browser, events as an extension sends them."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2

from brain.services.pairing import make_code
from brain.workspace import Workspace, open_workspace

ORIGIN = "chrome-extension://abcdefghijklmnopabcdefghijklmnop"


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(home: Path, log: Path, port: int | None = None) -> Iterator[str]:
    """A `brain serve` over the home; its address."""
    port = port or free_port()
    command = [sys.executable, "-m", "brain", "--home", str(home), "serve", "--port", str(port)]
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                httpx2.get(f"{url}/api/status")
                break
            except httpx2.TransportError:
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(20)


@dataclass
class Browser:
    """A paired browser, as its extension speaks."""

    url: str
    key: str
    origin: str | None = ORIGIN

    def post(self, path: str, body: Any, **headers: str) -> httpx2.Response:
        return httpx2.post(f"{self.url}{path}", json=body, headers=self.headers | headers, timeout=60)

    def send(self, *events: dict[str, Any]) -> dict[str, Any]:
        answer = self.post("/api/events", {"events": list(events)})
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    def commands(self, wait: int = 0) -> list[dict[str, Any]]:
        answer = httpx2.get(f"{self.url}/api/commands?wait={wait}", headers=self.headers, timeout=60)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["commands"])

    @property
    def headers(self) -> dict[str, str]:
        origin = {"Origin": self.origin} if self.origin else {}
        return {"Authorization": f"Bearer {self.key}", **origin}


def paired(url: str, ws: Workspace, browser: str = "chrome", profile: str = "Default") -> Browser:
    body = {
        "code": make_code(ws).text,
        "name": f"{browser} {profile}",
        "browser": browser,
        "profile": profile,
    }
    answer = httpx2.post(f"{url}/api/pair", json=body, headers={"Origin": ORIGIN}, timeout=60)
    assert answer.status_code == 200, answer.text
    return Browser(url, answer.json()["key"])


def event(kind: str, number: int | str = 0, at: datetime | None = None, **data: Any) -> dict[str, Any]:
    moment = at or datetime.now(UTC)
    return {"id": f"{kind}-{number}", "kind": kind, "at": moment.isoformat(), "data": data}


def tab(number: int, url: str, title: str = "", **more: Any) -> dict[str, Any]:
    flags = {"active": False, "pinned": False, "audible": False, "discarded": False}
    return {"tab": number, "window": 1, "index": number, "url": url, "title": title, **flags, **more}


def ago(seconds: float) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)


def settled(ws: Workspace, timeout: float = 30.0) -> Workspace:
    """Wait until the server has applied everything."""
    new = ws.home.inbox / "new"
    until = time.monotonic() + timeout
    while list(new.glob("*.json")):
        assert time.monotonic() < until, "the server does not drain"
        time.sleep(0.05)
    return open_workspace(ws.home.root)
