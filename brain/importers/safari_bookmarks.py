"""`Bookmarks.plist` of Safari on a Mac: bookmarks and the reading list, as a binary or XML property list.

Nodes are told apart by `WebBookmarkType`: a List has Title and Children, a Leaf URLString and, in URIDictionary, its
title; a Proxy stands for something that is no bookmark, such as the history. The list `com.apple.ReadingList` is the
reading list: its leaves have a `ReadingList` with DateAdded, DateLastViewed and PreviewText, and a
`ReadingListNonSync` with the title as fetched. Ordinary bookmarks carry no dates. Dates are UTC.
"""

import plistlib
import re
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from brain.errors import SourceError, first_line
from brain.importers._bookmark_rows import Bookmark, batches, plausible, written_date
from brain.importers._whole_file import content, head, texts
from brain.models import Batch, Rejected

NAME = "safari_bookmarks"
SOURCE = "bookmarks"
BROWSER = "safari"
VERSION = 1  # raised when the same bytes are read differently

_READING_LIST = "com.apple.ReadingList"
# What Safari calls its own lists in its menus and in the HTML it exports.
_NAMES = {"BookmarksBar": "Favorites", "BookmarksMenu": "Bookmarks Menu"}
_LIST, _LEAF, _PROXY = "WebBookmarkTypeList", "WebBookmarkTypeLeaf", "WebBookmarkTypeProxy"
_XML = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE\s+plist|<plist\b)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def detect(path: Path) -> bool:
    """Whether the file is a property list with bookmarks in it."""
    start = head(path)
    if not start.startswith(b"bplist0") and not _XML.match(start.removeprefix(b"\xef\xbb\xbf")):
        return False
    # A binary list holds each key once, the root's before all else.
    return b"WebBookmarkType" in start and b"Children" in start


def read(path: Path) -> Generator[Batch | Rejected]:
    """Every bookmark in the order of the file; what lies on the reading list has that shelf and no folder.

    Raises SourceError when the file is no whole property list, EmptySource when it holds no bookmark.
    """
    data = content(path)
    try:
        tree = plistlib.loads(data)
    except RecursionError:
        raise SourceError(f"{path.name} nests too deeply") from None
    except Exception as error:  # plistlib lets through whatever a damaged list makes it meet
        raise SourceError(f"{path.name} is no whole property list: {first_line(error)}") from None
    if not isinstance(tree, dict) or not isinstance(tree.get("Children"), list):
        raise SourceError(f"{path.name} holds no bookmarks: it has no Children")
    yield from batches(path.name, _walk(tree))


def _walk(tree: dict[str, Any]) -> Iterator[Bookmark | Rejected]:
    # A damaged or hostile binary list can hold one node in many places, even within itself: each counts once.
    seen: set[int] = set()
    stack: list[tuple[str, Any, tuple[str, ...], bool]] = [("Children", tree, (), False)]
    while stack:
        where, node, folder, is_saved = stack.pop()
        if not isinstance(node, dict):
            yield Rejected(where, "it is neither a bookmark nor a folder")
            continue
        if id(node) in seen:
            yield Rejected(where, "it stands in another place too")
            continue
        seen.add(id(node))
        kind = node.get("WebBookmarkType")
        if kind == _LEAF or (kind is None and "URLString" in node):
            yield _bookmark(node, where, folder, is_saved)
        elif kind != _PROXY:
            folder, is_saved = _below(node, folder, is_saved)
            children = node.get("Children")
            if isinstance(children, list):
                at = where if node is tree else f"{where}.Children"
                below = [(f"{at}[{n}]", child, folder, is_saved) for n, child in enumerate(children)]
                stack += reversed(below)


def _below(node: dict[str, Any], folder: tuple[str, ...], is_saved: bool) -> tuple[tuple[str, ...], bool]:
    """The folder that a list's children lie in, and whether they are on the reading list."""
    title = texts(node, "Title")
    if title == _READING_LIST:
        return (), True
    if title is None or (not title and not folder):  # the root has an empty title
        return folder, is_saved
    return (*folder, _NAMES.get(title, title) if not folder else title), is_saved


def _bookmark(node: dict[str, Any], where: str, folder: tuple[str, ...], is_saved: bool) -> Bookmark:
    saved, fetched = node.get("ReadingList"), node.get("ReadingListNonSync")
    saved = saved if isinstance(saved, dict) else {}
    added = saved.get("DateAdded", node.get("DateAdded"))
    viewed = saved.get("DateLastViewed")
    return Bookmark(
        where=where,
        url=node.get("URLString"),
        title=texts(node.get("URIDictionary"), "title") or texts(fetched, "Title") or texts(node, "Title"),
        folder=folder,
        note=texts(saved, "PreviewText") or texts(fetched, "PreviewText"),
        added=_date(added),
        last_used_us=_date(viewed)[0],
        shelf="reading_list" if is_saved or saved else "bookmarks",
        native_id=texts(node, "WebBookmarkUUID"),
    )


def _date(value: object) -> tuple[int | None, str | None]:
    if not isinstance(value, datetime):
        return written_date(value) if isinstance(value, str) else (None, None)
    since = value.replace(tzinfo=UTC) - _EPOCH
    instant = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return (instant, None) if plausible(instant) else (None, value.isoformat())
