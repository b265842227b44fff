"""The text that OneTab exports: `address | title` per line, a blank line between the groups of tabs.

A page without title is its address alone. The text has neither dates nor the names of groups, and a new group moves
all others, so groups are not numbered: the same tab in a later export would seem to have moved.
"""

import re
from collections.abc import Generator, Iterator
from pathlib import Path

from brain.errors import SourceError
from brain.importers._bookmark_rows import Bookmark, batches
from brain.importers._tags import decode_head, encoding_of
from brain.importers._whole_file import head
from brain.models import Batch, Rejected

NAME = "onetab"
SOURCE = "bookmarks"
BROWSER = "unknown"  # the same in all browsers
VERSION = 1  # raised when the same bytes are read differently

_LINE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+(?: \| .*)?")
_LONGEST_LINE = 2_000_000


def detect(path: Path) -> bool:
    """Whether every line at the beginning is blank, an address, or an address with ` | ` and a title, as some are.

    A plain list of addresses is not taken: it could be anything.
    """
    start = head(path)
    if not start or (b"\x00" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff"))):
        return False
    lines = decode_head(start).splitlines()
    if len(start) >= 65_536 and len(lines) > 1:
        lines.pop()  # cut off
    full = [line.strip("\ufeff \t") for line in lines if line.strip("\ufeff \t")]
    return any(" | " in line for line in full) and all(_LINE.fullmatch(line) for line in full)


def read(path: Path) -> Generator[Batch | Rejected]:
    """Every tab, in the order of the file; a line without an address is rejected with its number.

    Raises SourceError when the file cannot be read or no line could be taken, EmptySource when all are blank.
    """
    try:
        yield from batches(path.name, _tabs(path))
    except OSError as error:
        raise SourceError(f"{path.name} cannot be read: {error.strerror or error}") from None


def _tabs(path: Path) -> Iterator[Bookmark]:
    with path.open(encoding=encoding_of(path), errors="replace") as file:
        number = 0
        while line := file.readline(_LONGEST_LINE):
            number += 1
            url, _, title = line.strip("\ufeff \t\r\n").partition(" | ")
            if url:
                yield Bookmark(f"line {number}", url.strip(), title.strip(), shelf="saved_tabs")
