"""Where running tasks say how far they are, for whoever started the flow in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from brain.progress import Progress, silent

_listener: ContextVar[Progress | None] = ContextVar("listener", default=None)


@contextmanager
def reporting(listener: Progress | None) -> Iterator[None]:
    """Let flows started in this block tell `listener`. Runs in other processes tell nobody but their log."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def current() -> Progress:
    """The listener in effect, or one that ignores everything."""
    return _listener.get() or silent
