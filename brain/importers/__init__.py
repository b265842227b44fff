"""The sources Brainlake can import, one module each, in the order in which they are asked.

A module has `NAME` (the format, no two alike), `SOURCE` (one of :data:`brain.models.SOURCES`), `BROWSER` (one of
:data:`brain.models.BROWSERS`: whose file it is where neither path nor person says so), `VERSION`, `detect(path)`,
which looks at the content and never at the name (but for Markdown, which has no sign of its own), and `read(path)`,
which yields batches and rejects. `path` is a private copy that may be written to. `CLOCK_US` is there where a source's
clock is coarser than others': how far the instant of one visit may lie from what another source says.

A module of `FOLDERS` also takes a folder (Slack's also the zip of one) as one source: `detect_folder(path, alone)`,
`files(path)`, which are read in it, and `read(path)`, which must not write there.
"""

import re
from collections.abc import Generator
from pathlib import Path
from typing import Protocol

from brain.errors import EmptySource, SourceError
from brain.importers import (
    _sqlite,
    bravemcp,
    browserexport,
    chrome_bookmarks,
    chromium,
    conversations,
    fennec,
    firefox,
    firefox_backup,
    firefox_ios_legacy,
    firefox_mobile,
    markdown,
    my_activity,
    netscape_html,
    onetab,
    open_brain,
    qutebrowser,
    safari,
    safari_bookmarks,
    session_buddy,
    slack_export,
    tab_session_manager,
    takeout,
)
from brain.models import Batch, Rejected


class Importer(Protocol):
    """What every importer module offers."""

    NAME: str
    SOURCE: str
    BROWSER: str
    VERSION: int

    def detect(self, path: Path) -> bool: ...

    def read(self, path: Path) -> Generator[Batch | Rejected]: ...


IMPORTERS: tuple[Importer, ...] = (
    slack_export,
    chromium,
    firefox,
    firefox_mobile,
    fennec,
    firefox_ios_legacy,
    safari,
    qutebrowser,
    bravemcp,
    takeout,
    my_activity,
    browserexport,
    open_brain,
    conversations,
    chrome_bookmarks,
    firefox_backup,
    tab_session_manager,
    session_buddy,
    safari_bookmarks,
    netscape_html,
    markdown,  # by its name: before what takes addresses in any text
    onetab,  # the least strict: any text whose every line is an address
)


class FolderImporter(Importer, Protocol):
    """What an importer offers that takes whole folders too.

    `alone` is set for a folder in which nothing else is a source, and which a person named.
    """

    def detect_folder(self, path: Path, alone: bool = False) -> bool: ...

    def files(self, path: Path) -> list[Path]: ...


FOLDERS: tuple[FolderImporter, ...] = (slack_export, markdown)


def pick_folder(path: Path, alone: bool = False) -> FolderImporter | None:
    """The importer that takes the folder at `path` as one source; None where there is none, and for files."""
    found = (importer for importer in FOLDERS if importer.detect_folder(path, alone))
    return next(found, None) if markdown.is_folder(path) else None


def takes_archive(path: Path) -> bool:
    """Whether an importer reads this archive as one source, so that it is not unpacked."""
    return slack_export.detect(path)


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
    if b"preference_name" in head and b"constraint_type" in head:
        return SourceError(f"{path.name} holds preferences, which `brain prefs import` takes")
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
