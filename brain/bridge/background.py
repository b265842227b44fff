"""What a server does beside answering: it applies waiting events, and makes what they brought searchable."""

import logging
import threading
import time
from contextlib import suppress

from brain.errors import BrainError, LakeBusy
from brain.services import drain_inbox
from brain.services.index_documents import index_documents
from brain.workspace import Workspace

_LOOK_S = 0.25
_INDEX_AFTER_S = 2.0  # what comes within this time is indexed together
_LOG = logging.getLogger(__name__)


class Background:
    """A thread that drains and indexes until it is stopped."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="drain", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after what is being done now."""
        self._stop.set()
        self._thread.join(5)

    def _run(self) -> None:
        box = drain_inbox.inbox(self._ws)
        index_at: float | None = None
        failed = ""
        while not self._stop.wait(_LOOK_S):
            try:
                if box.waiting() and drain_inbox.drain(self._ws).applied and index_at is None:
                    index_at = time.monotonic() + _INDEX_AFTER_S
                if index_at is not None and time.monotonic() >= index_at:
                    index_at = None
                    index_documents(self._ws)
                failed = ""
            except LakeBusy:
                pass  # next time
            except BrainError as error:
                if str(error) != failed:  # once, not four times a second
                    failed = str(error)
                    _LOG.warning("waiting events are not applied: %s", failed)
                self._stop.wait(5)
            except Exception:
                with suppress(Exception):
                    _LOG.exception("waiting events are not applied")
                self._stop.wait(30)
