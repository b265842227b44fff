"""Schedules and UI for one home, until told to stop: a Prefect server and a runner beside it."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from brain.errors import UsageError
from pipelines.catalog import CATALOG
from pipelines.runtime import applied, environment, served_at
from pipelines.server import Server, address

if TYPE_CHECKING:
    from brain.workspace import Workspace

PORT = 4200


def serve(
    ws: "Workspace", host: str = "127.0.0.1", port: int = PORT, ready: Callable[[str], None] | None = None
) -> None:
    """Run the flows on their schedules, in the user's zone, and serve the UI; returns after SIGINT or SIGTERM.

    `ready` is called with the UI's address once schedules are in place. Runs are processes of their own; those
    under way are cancelled when this ends, and schedules pause so that nothing is late at the next start. Call from
    the main thread. Raises UsageError when it runs already or for an address outside this machine, BrainError when
    the server does not start.
    """
    home = ws.home.ensure()
    home.prefect.mkdir(mode=0o700, exist_ok=True)
    if url := served_at(home):
        raise UsageError(f"the flows of this lake are served already, at {url}")
    server = Server(
        environment(home, address(host, port), ui=True), host, port, home.logs / "flow-server.log"
    )
    note = home.prefect / "serving.json"
    try:
        server.wait()
        with applied(environment(home, server.url, ui=True)):
            note.write_text(
                json.dumps({"url": server.url, "host": host, "port": port, "pid": os.getpid()}), "utf-8"
            )
            _serve_deployments(ws, lambda: ready(server.url) if ready else None)
    finally:
        note.unlink(missing_ok=True)
        server.stop()


def _serve_deployments(ws: "Workspace", ready: Callable[[], None]) -> None:
    import asyncio

    from prefect.runner import Runner

    runner = Runner(name="brainlake", pause_on_shutdown=True, limit=1)
    for deployment in _deployments(ws):
        runner.add_deployment(deployment)
    ready()
    with suppress(KeyboardInterrupt):
        asyncio.run(runner.start())


def _deployments(ws: "Workspace") -> list[Any]:
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.schedules import Cron
    from prefect.types.entrypoint import EntrypointType

    from pipelines import flows

    return [
        getattr(flows, info.function).to_deployment(
            name="lake",
            schedule=Cron(info.cron, timezone=ws.settings.timezone) if info.cron else None,
            parameters={"home": str(ws.home.root)},
            description=info.what,
            paused=False,
            # A run that is due while the last one still works is left out: the next does its work.
            concurrency_limit=ConcurrencyLimitConfig(
                limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
            ),
            entrypoint_type=EntrypointType.MODULE_PATH,
        )
        for info in CATALOG
    ]
