"""Files of the inbox: names that tell which event they hold, reads with a bound, writes through to the disk.

A file holds one event, or a bundle: a list of events that came together, so that thousands cost one write.
"""

import hashlib
import os
import time
import uuid
from pathlib import Path

from brain.errors import EventRefused
from brain.events import MAX_EVENT_BYTES

_AWAITED = "-awaited.json"
_BUNDLE = "-bundle.json"
MAX_BUNDLE_BYTES = 10_000_000


def read(path: Path) -> bytes:
    """The content of an event's file. Raises EventRefused when it is too large or cannot be read."""
    most = MAX_BUNDLE_BYTES if bundled(path) else MAX_EVENT_BYTES
    try:
        if path.stat().st_size > most:
            raise EventRefused(f"larger than {most // 1_000_000} MB")
        return path.read_bytes()
    except (PermissionError, IsADirectoryError) as error:
        raise EventRefused(f"not readable: {error.strerror}") from error


def name(event_id: str, awaited: bool) -> str:
    """A name of its own for the event's file, later ones sorting later; `awaited` when someone waits for it."""
    end = _AWAITED if awaited else ".json"
    return f"{time.time_ns():020d}-{tag(event_id)}-{uuid.uuid4().hex[:8]}{end}"


def bundle_name(events: int) -> str:
    """The name of a bundle of so many events."""
    return f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}-{events}{_BUNDLE}"


def bundled(path: Path) -> int:
    """How many events a bundle holds, 0 for the file of one event."""
    if not path.name.endswith(_BUNDLE):
        return 0
    number = path.name.removesuffix(_BUNDLE).rpartition("-")[2]
    return int(number) if number.isdecimal() else 1


def is_awaited(path: Path) -> bool:
    """Whether someone waits for what becomes of this event."""
    return path.name.endswith(_AWAITED)


def tag(event_id: str) -> str:
    """The part of a file name that tells which event it is: ids may hold anything."""
    return hashlib.sha256(event_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def write(path: Path, content: bytes) -> None:
    """Write a private file through to the disk."""
    fd = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(folder: Path) -> None:
    """Make a rename in the folder durable; Windows has no such call."""
    if os.name == "posix":
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
