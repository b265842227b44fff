"""One place where LanceDB's errors become IndexUnavailable."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from brain.errors import IndexUnavailable, first_line

_ATTEMPTS = 12


@contextmanager
def guarded() -> Iterator[None]:
    """Turn what LanceDB and the file system raise into IndexUnavailable with one line.

    LanceDB has no error base of its own: it raises RuntimeError, ValueError and OSError, and for its own bugs a
    RustPanic that it does not export.
    """
    try:
        yield
    except Exception as error:
        if not isinstance(error, RuntimeError | ValueError | OSError) and type(error).__name__ != "RustPanic":
            raise
        raise IndexUnavailable(
            f"the search index cannot be used ({first_line(error)[:200]}); `brain index --rebuild` makes it anew"
        ) from error


def retry(write: Callable[[], object]) -> None:
    """Do a write, again when another process committed in between."""
    for attempt in range(_ATTEMPTS):
        try:
            write()
        except (RuntimeError, ValueError, OSError) as error:
            if attempt == _ATTEMPTS - 1 or not _is_conflict(error):
                raise
            time.sleep(random.uniform(0.005, 0.02 * 2 ** min(attempt, 5)))  # noqa: S311 - spreads writers
        else:
            return


def _is_conflict(error: BaseException) -> bool:
    text = str(error).lower()
    return "conflict" in text or "preempted" in text or "too many concurrent writers" in text
