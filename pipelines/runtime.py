"""Prefect for one home: everything it reads and writes is there, and nothing leaves the machine.

Prefect reads its settings when it is first imported, so a process that runs flows enters `running(home)` (or
`serving.serve`) before it imports `pipelines.flows`. Starting the server takes several seconds; it does so beside
whatever the caller does before the first flow.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain.config import Home
from brain.progress import Progress
from pipelines import catalog
from pipelines.progress import reporting
from pipelines.records import RunReport
from pipelines.server import Server, address, free_port, is_up

if TYPE_CHECKING:
    from brain.workspace import Workspace


def environment(home: Home, url: str, *, ui: bool = False) -> dict[str, str]:
    """This process's environment with Prefect's part of it replaced by ours.

    Whatever the user has set up for Prefect elsewhere (a cloud account, another database) does not apply here.
    """
    values = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    folder = home.prefect
    values |= {
        "PREFECT_HOME": str(folder),
        "PREFECT_PROFILES_PATH": str(folder / "profiles.toml"),
        "PREFECT_LOCAL_STORAGE_PATH": str(folder / "storage"),
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{folder / 'prefect.db'}",
        "PREFECT_API_URL": f"{url}/api",
        "PREFECT_SERVER_UI_API_URL": f"{url}/api",
        "PREFECT_SERVER_UI_ENABLED": str(ui),
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "False",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": url,
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "False",
        "PREFECT_API_BLOCKS_REGISTER_ON_START": "False",
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "False",
        "PREFECT_CLI_PROMPT": "False",
        # Off together: either alone leaves a call to the outside.
        "PREFECT_SERVER_ANALYTICS_ENABLED": "False",
        "DO_NOT_TRACK": "1",
        "PREFECT_LOGGING_LEVEL": "INFO",
        "PREFECT_SERVER_LOGGING_LEVEL": "ERROR",
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
        "PYTHONUTF8": "1",
    }
    for name in ("no_proxy", "NO_PROXY"):
        values[name] = ",".join(filter(None, [values.get(name), "127.0.0.1,localhost,::1"]))
    if not ui:  # without schedules to keep, the services behind them need not run
        values["PREFECT__SERVER_EPHEMERAL"] = "1"
        values["PREFECT__SERVER_FINAL"] = "1"
    return values


@contextmanager
def applied(values: dict[str, str]) -> Iterator[None]:
    """Run a block with this environment in effect, for Prefect too, even where it was imported before."""
    before = dict(os.environ)
    _replace_environment(values)
    try:
        with ExitStack() as stack:
            from prefect.context import use_profile
            from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, Profile, temporary_settings

            profile = Profile(name="brainlake", settings={})
            stack.enter_context(use_profile(profile, include_current_context=False))
            # A heartbeat tells a distant server that a run is alive, at a second per run. Ours is in sight.
            stack.enter_context(temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}))
            yield
    finally:
        _replace_environment(before)


def _replace_environment(values: dict[str, str]) -> None:
    for name in os.environ.keys() - values.keys():
        del os.environ[name]
    os.environ.update(values)


class Runtime:
    """Runs flows in this process. Made by `running`."""

    def __init__(self, ws: "Workspace", server: Server | None, url: str) -> None:
        self._ws = ws
        self._server = server
        self._url = url

    def run(self, name: str, paths: list[Path] | None = None, progress: Progress | None = None) -> RunReport:
        """Run the flow of that name to its end; `paths` are for flows that import.

        Raises UsageError for an unknown name, BrainError when Prefect cannot be started, and what the flow
        raises after its retries.
        """
        info = catalog.find(name)
        if self._server:
            self._server.wait()
        with applied(environment(self._ws.home, self._url)), reporting(progress):
            from pipelines import flows

            parameters: dict[str, Any] = {"home": str(self._ws.home.root)}
            if paths is not None:
                parameters["paths"] = [str(path.absolute()) for path in paths]
            flow = getattr(flows, info.function)
            try:
                return RunReport(**flow(**parameters))
            finally:
                _send_what_waits()


def _send_what_waits() -> None:
    """Logs and events reach the server from threads of their own; after the block it may be gone."""
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogHandler

    APILogHandler().flush()
    EventsWorker.drain_all(timeout=5)


@contextmanager
def running(ws: "Workspace") -> Iterator[Runtime]:
    """Prefect for this home, stopped after the block. Returns at once: the server starts beside you.

    A server that `brain flows serve` runs for the same home is used, so that its UI shows these runs too.
    """
    home = ws.home.ensure()
    home.prefect.mkdir(mode=0o700, exist_ok=True)
    if url := served_at(home):
        yield Runtime(ws, None, url)
        return
    port = free_port()
    url = address("127.0.0.1", port)
    server = Server(environment(home, url), "127.0.0.1", port, home.logs / "flow-server.log")
    try:
        yield Runtime(ws, server, url)
    finally:
        server.stop()


def served_at(home: Home) -> str | None:
    """Address of the server that `brain flows serve` runs for this home, if one answers."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads((home.prefect / "serving.json").read_text("utf-8"))
        if is_up(known["host"], known["port"]):
            return str(known["url"])
    return None
