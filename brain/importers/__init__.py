"""The sources Brainlake can import, one module each, in the order in which they are asked.

A module has `NAME` (one of :data:`brain.models.SOURCES`), `VERSION`, `detect(path)`, which looks at the content
and never at the name, and `read(path)`, which yields batches and rejects. `path` is a private copy that may be
written to.
"""

import re
from collections.abc import Generator
from pathlib import Path
from typing import Protocol

from brain.errors import EmptySource, SourceError
from brain.importers import _sqlite, chromium, firefox
from brain.models import Batch, Rejected


class Importer(Protocol):
    """What every importer module offers."""

    NAME: str
    VERSION: int

    def detect(self, path: Path) -> bool: ...

    def read(self, path: Path) -> Generator[Batch | Rejected]: ...


IMPORTERS: tuple[Importer, ...] = (chromium, firefox)


def pick(path: Path) -> Importer:
    """The importer for the file at `path`, by its content.

    Raises SourceError, saying what was seen, when there is none; EmptySource for a file of no bytes.
    """
    for importer in IMPORTERS:
        if importer.detect(path):
            return importer
    raise _unknown(path)


def _unknown(path: Path) -> SourceError:
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        return SourceError(f"{path.name} cannot be read: {error.strerror or error}")
    if not head:
        return EmptySource(f"{path.name} has zero bytes")
    if not head.startswith(_sqlite.HEADER):
        return SourceError(f"{path.name} is of no known kind: {_described(head)}")
    try:
        tables = sorted(_sqlite.table_columns(path))
    except SourceError as error:
        return error
    if not tables:
        return EmptySource(f"{path.name} is an SQLite database without tables")
    named = ", ".join(re.sub(r"[^\w.-]", "?", table) for table in tables[:6])
    more = f" and {len(tables) - 6} more" if len(tables) > 6 else ""
    return SourceError(f"{path.name} is an SQLite database of no known kind; its tables: {named}{more}")


def _described(head: bytes) -> str:
    """What a file that is no SQLite database looks like."""
    if head.startswith(b"PK\x03\x04"):
        return "a zip archive"
    if head.startswith(b"mozLz40\x00"):
        return "a compressed Firefox file"
    try:
        head[:-3].decode("utf-8") if len(head) == 4096 else head.decode("utf-8")
    except UnicodeDecodeError:
        return "not an SQLite database, or an encrypted one"
    start = head.lstrip()[:1]
    if start in (b"{", b"["):
        return "JSON text"
    return "an HTML or XML text" if start == b"<" else "a text file"
