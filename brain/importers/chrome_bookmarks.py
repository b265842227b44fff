"""`Bookmarks`, the JSON file in every Chromium profile, and `Bookmarks.bak`, its last state but one.

Written by `BookmarkCodec` in components/bookmarks/browser/bookmark_codec.cc: `roots` holds a folder for each place
bookmarks can lie in (bookmark_bar, other, synced), and in places keys that are no folders; a node has type, guid, id,
name, url, children, and times in microseconds since 1601 as texts. `checksum`, `version` and `sync_metadata` are not
needed and not checked.

Brave and Edge write the same. Vivaldi adds `meta_info` with a description, which is the note here, and a trash, which
is left out like Opera's: a person has deleted what lies there. Opera groups its folders under `custom_root`.
"""

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from brain.errors import SourceError
from brain.importers._bookmark_rows import Bookmark, batches, since_1601
from brain.importers._whole_file import json_head, load_json, texts
from brain.models import Batch, Rejected

NAME = "chrome_bookmarks"
SOURCE = "bookmarks"
BROWSER = "chromium"  # that of the path or the person comes first
VERSION = 1  # raised when the same bytes are read differently

# The names that the browser shows, where the file has none.
_ROOT_NAMES = {
    "bookmark_bar": "Bookmarks bar",
    "other": "Other bookmarks",
    "synced": "Mobile bookmarks",
    "mobile": "Mobile bookmarks",
}
_TRASH = "trash"
_ROOTS = re.compile(
    r'"roots"\s*+:\s*+\{.{0,400}?"(?:bookmark_bar|other|synced|custom_root)"\s*+:\s*+\{', re.DOTALL
)


def detect(path: Path) -> bool:
    """Whether the file begins like the bookmarks of a Chromium profile."""
    start = json_head(path)
    return start.startswith("{") and _ROOTS.search(start) is not None


def read(path: Path) -> Generator[Batch | Rejected]:
    """Every bookmark of every root, in the order of the file, under the names of its folders from the root down.

    Raises SourceError when the file is no whole JSON or has no roots, EmptySource when it holds no bookmark.
    """
    tree = load_json(path)
    roots = tree.get("roots") if isinstance(tree, dict) else None
    if not isinstance(roots, dict):
        raise SourceError(f"{path.name} holds no bookmarks: it has no roots")
    yield from batches(path.name, _walk(roots))


def _walk(roots: dict[str, Any]) -> Iterator[Bookmark | Rejected]:
    stack: list[tuple[str, Any, tuple[str, ...]]] = [
        (f"roots.{key}", _named(key, node), ()) for key, node in _shown(roots)
    ]
    stack.reverse()
    while stack:
        where, node, folder = stack.pop()
        if not isinstance(node, dict):
            yield Rejected(where, "it is neither a bookmark nor a folder")
        elif node.get("type") == "url" or "url" in node:
            yield _bookmark(node, where, folder)
        else:
            name = texts(node, "name")
            inner = (*folder, name) if name is not None else folder
            stack += [(at, child, inner) for at, child in reversed(_children(where, node))]


def _shown(roots: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The roots that are folders, without the trash."""
    return [(key, node) for key, node in roots.items() if key != _TRASH and isinstance(node, dict)]


def _named(key: str, node: dict[str, Any]) -> dict[str, Any]:
    if "type" not in node and "children" not in node:
        return node  # Opera's custom_root: folders by name, and none itself
    return node if texts(node, "name") else node | {"name": _ROOT_NAMES.get(key, key)}


def _children(where: str, node: dict[str, Any]) -> list[tuple[str, Any]]:
    children = node.get("children")
    if isinstance(children, list):
        return [(f"{where}[{at}]", child) for at, child in enumerate(children)]
    if "type" in node or "children" in node:
        return []
    return [(f"{where}.{key}", _named(key, child)) for key, child in _shown(node)]


def _bookmark(node: dict[str, Any], where: str, folder: tuple[str, ...]) -> Bookmark:
    return Bookmark(
        where=where,
        url=node.get("url"),
        title=texts(node, "name"),
        folder=folder,
        note=texts(node.get("meta_info"), "Description"),
        added=since_1601(node.get("date_added")),
        last_used_us=since_1601(node.get("date_last_used"))[0],
        native_id=texts(node, "guid"),
    )
