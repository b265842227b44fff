"""Every error Brainlake raises on purpose.

BrainError
├── UsageError          what was asked for cannot be meant: a bad interval, an unknown id or option
├── SourceError         a file cannot be imported as a whole (empty, encrypted, truncated, of no known kind)
│   └── EmptySource     the file is fine and holds no records
├── LakeError           the lake cannot do it: wrong schema, damaged file
│   ├── LakeBusy        no lease within the time given; the message names the holder
│   └── QueryRefused    SQL outside the bounds, or stopped by a cap
├── IndexUnavailable    the LanceDB index is missing, damaged or being rebuilt
├── ModelUnavailable    the embedding model is not installed or its files are wrong
└── EventRefused        one inbox event cannot be applied

`code` is stable and goes into `--json` errors; the message is one line for a person and says what to do.
"""


class BrainError(Exception):
    """Base of all errors that an edge translates into one line."""

    code = "error"


class UsageError(BrainError):
    """The request itself is wrong; nothing was done."""

    code = "usage"


class SourceError(BrainError):
    """This file cannot be imported; other files go on."""

    code = "source"


class EmptySource(SourceError):
    """The file is readable and holds no records."""

    code = "empty"


class LakeError(BrainError):
    """The lake file cannot serve the request."""

    code = "lake"


class LakeBusy(LakeError):
    """Another process held the lake longer than the wait allowed; the message names it."""

    code = "busy"


class QueryRefused(LakeError):
    """The SQL is outside the bounds, wrong, or hit a cap."""

    code = "query"


class IndexUnavailable(BrainError):
    """The search index cannot be read now; plain text matching still works."""

    code = "index"


class ModelUnavailable(BrainError):
    """No usable embedding model; keyword search still works."""

    code = "model"


class EventRefused(BrainError):
    """This event is malformed or stale; it is kept under inbox/rejected with the reason."""

    code = "event"


def first_line(error: BaseException) -> str:
    """The reason in one line: libraries add sketches of the query, hints and traces below it."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
