"""The server on stdin and stdout: nothing but protocol on stdout, and gone when the client is."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brain.mcp_server.server import BrainServer

_PARENT_LOOKED_AT = 2.0  # seconds between looks
_WARM_UP_AFTER = 1.0  # seconds: after the handshake, which must not wait for it


def serve(build: Callable[[], "BrainServer"], warm_up: Callable[[], object]) -> None:
    """Run the server that `build` makes until stdin ends or the parent process is gone.

    `warm_up` is called in the background once clients had time to shake hands. What is printed meanwhile, also by
    libraries as they are imported, goes to stderr.
    """
    with _stdout_kept():
        server = build()
    _watch_parent()
    _warm_up_later(warm_up)
    server.run("stdio")
    # Threads that still work on a call nobody waits for must not keep the process; what they wrote is durable.
    sys.stderr.flush()
    os._exit(0)


@contextmanager
def _stdout_kept() -> Iterator[None]:
    """Let descriptor 1 be stderr within the block."""
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(wire, 1)
        os.close(wire)


def _watch_parent() -> None:
    """End the process when its parent is gone: another child of the parent may hold our stdin open."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_LOOKED_AT)
        os._exit(0)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()


def _warm_up_later(warm_up: Callable[[], object]) -> None:
    def warm() -> None:
        time.sleep(_WARM_UP_AFTER)
        with suppress(Exception):  # whatever is wrong is told to whoever asks for an answer
            warm_up()

    threading.Thread(target=warm, name="warm-up", daemon=True).start()
