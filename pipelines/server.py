"""The Prefect server as a child process: loopback only, closed to other origins, gone when its parent is.

Run as `python -m pipelines.server HOST PORT` with the environment of `runtime.environment`. Standard input is a
lifeline: the server stops when it closes, so that no crash of the parent leaves one behind.
"""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from brain.errors import BrainError, UsageError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
START_SECONDS = 180.0
STOP_SECONDS = 10.0

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]


class OwnPagesOnly:
    """Answers 403 to requests that name another host or come from another site's page.

    Any web page can send requests to a local port, and a name can be made to point at 127.0.0.1. The server
    knows no users, so what a browser sends along (Host, Origin) has to tell its own pages from others.
    """

    def __init__(self, app: App, port: int) -> None:
        self._app = app
        self._hosts = {f"{_bracketed(host)}:{port}".encode() for host in LOOPBACK}

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] in {"http", "websocket"} and not self._is_own(dict(scope["headers"])):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._app(scope, receive, send)

    def _is_own(self, headers: dict[bytes, bytes]) -> bool:
        origin = headers.get(b"origin")
        return headers.get(b"host") in self._hosts and (
            origin is None or urlsplit(origin).netloc in self._hosts
        )


class Server:
    """A Prefect server on this machine. Starting returns at once; `wait()` until it answers."""

    def __init__(self, environment: dict[str, str], host: str, port: int, log: Path) -> None:
        if host not in LOOPBACK:
            raise UsageError(
                f"the flow server knows no users, so it binds this machine only, not {host}; "
                "to see it from elsewhere use a tunnel such as ssh -L"
            )
        if not _is_free(host, port):
            raise BrainError(f"port {port} is taken by another program; choose one with --port")
        self.host, self.port, self._log = host, port, log
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with log.open("w") as out:
            log.chmod(0o600)
            # Its own session: a Ctrl-C meant for us must not take the server away before we are done with it.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pipelines.server", host, str(port)],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def url(self) -> str:
        """Address of the UI; the API is below `/api`."""
        return address(self.host, self.port)

    def wait(self, seconds: float = START_SECONDS) -> None:
        """Return once the server answers. Raises BrainError when it ends or does not answer in time."""
        deadline = time.monotonic() + seconds
        while not is_up(self.host, self.port):
            if self._process.poll() is not None:
                raise BrainError(
                    f"the flow server ended at once; its log is {self._log}{_last_line(self._log)}"
                )
            if time.monotonic() > deadline:
                raise BrainError(
                    f"the flow server did not answer within {seconds:.0f} s; its log is {self._log}"
                )
            time.sleep(0.05)

    def stop(self) -> None:
        """End the server, politely first. Harmless when it has ended."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()


def free_port() -> int:
    """A port of the loopback interface that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_up(host: str, port: int) -> bool:
    """Whether a Prefect server answers there. Asks directly, whatever proxies are configured."""
    connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", "/api/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def address(host: str, port: int) -> str:
    """What a browser is given to reach the server there."""
    return f"http://{_bracketed(host)}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _last_line(log: Path) -> str:
    with contextlib.suppress(OSError):
        lines = log.read_text("utf-8", errors="replace").strip().splitlines()
        return f" ({lines[-1][:200]})" if lines else ""
    return ""


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def main(host: str, port: int) -> None:
    """Serve until terminated or until standard input closes."""
    os.umask(0o077)  # the database beside the lake is as private as the lake
    threading.Thread(target=_end_with_parent, name="lifeline", daemon=True).start()
    import uvicorn
    from prefect.server.api.server import create_app

    app = OwnPagesOnly(create_app(), port)
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_level="error",
        lifespan="on",
        timeout_graceful_shutdown=3,
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
