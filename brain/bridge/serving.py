"""Running the HTTP application until it is told to stop."""

import errno
import socket
from collections.abc import Callable, Sequence

import uvicorn

from brain.bridge.app import Address, make_app
from brain.errors import UsageError
from brain.workspace import Workspace


def run(ws: Workspace, address: Address, toolsets: Sequence[str], ready: Callable[[], object]) -> None:
    """Serve until interrupted; `ready` is called when connections are accepted.

    Raises UsageError when the address cannot be listened on, or must not be.
    """
    app = make_app(ws, address, toolsets)
    listening = _listen(address)
    ready()
    # No access log: it would hold what people look for.
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=3)
    uvicorn.Server(config).run(sockets=[listening])


def _listen(address: Address) -> socket.socket:
    try:
        found = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return socket.create_server(found[0][4][:2], family=found[0][0])
    except OSError as error:
        taken = "another program listens there already; choose another --port"
        reason = taken if error.errno in _TAKEN else (error.strerror or str(error))
        raise UsageError(f"cannot listen on {address.host}:{address.port}: {reason}") from error


_TAKEN = {errno.EADDRINUSE}
