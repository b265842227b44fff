"""Firefox's bookmark backups: `bookmarkbackups/*.jsonlz4`, and the JSON that "Backup..." writes.

A .jsonlz4 is the magic `mozLz40` and a zero byte, the size of the text as 32 bits (little-endian), and one raw LZ4
block. Nodes are {guid, title, dateAdded, lastModified (microseconds), typeCode (1 URL, 2 folder, 3 separator), uri,
tags "a,b", root, children}. Backups of old versions have neither guid nor typeCode but the same in `type`, and keep
tags as folders under a root of their own. `place:` queries are the browser's own and no bookmark of anybody.
"""

import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from brain.errors import SourceError
from brain.importers._bookmark_rows import DEEPEST_FOLDER, Bookmark, batches, plausible
from brain.importers._json_stream import shown
from brain.importers._whole_file import content, head, json_head, load_json, texts
from brain.models import Batch, Rejected

NAME = "firefox_backup"
SOURCE = "bookmarks"
BROWSER = "firefox"
VERSION = 2  # raised when the same bytes are read differently

MAGIC = b"mozLz40\x00"
_LARGEST = 200_000_000
_NAMES = {
    "bookmarksMenuFolder": "Bookmarks menu",
    "toolbarFolder": "Bookmarks toolbar",
    "unfiledBookmarksFolder": "Other bookmarks",
    "mobileFolder": "Mobile bookmarks",
}
_TAGS = "tagsFolder"


def detect(path: Path) -> bool:
    """Whether the file is a backup of bookmarks, compressed or not."""
    start = head(path)
    if start.startswith(MAGIC):
        # An LZ4 block begins with its first literals as they are; other compressed files of Firefox begin otherwise.
        return b'"guid"' in start[:40] and b"root_" in start[:60]
    text = json_head(path)[:4_000]
    known = ('"typeCode"' in text and '"guid"' in text) or '"text/x-moz-place-container"' in text
    return text.startswith("{") and known


def read(path: Path) -> Generator[Batch | Rejected]:
    """Bookmarks in batches. Raises SourceError for a damaged block or JSON, EmptySource for a backup of none."""
    root = _load(path)
    if not isinstance(root, dict):
        raise SourceError(f"{path.name} holds no tree of bookmarks")
    yield from batches(path.name, _walk(root))


def _load(path: Path) -> Any:
    if not head(path).startswith(MAGIC):
        return load_json(path)
    import lz4.block

    data = content(path)
    size = int.from_bytes(data[8:12], "little")
    if size > _LARGEST or size > 255 * len(data):  # the block format cannot compress further
        raise SourceError(f"{path.name} claims to hold {size:,} bytes, which it cannot")
    try:
        text = lz4.block.decompress(data[12:], uncompressed_size=size)
        return json.loads(text.decode("utf-8", "replace"))
    except RecursionError:
        raise SourceError(f"{path.name} nests too deeply") from None
    except (lz4.block.LZ4BlockError, ValueError, MemoryError) as error:
        raise SourceError(f"{path.name} is damaged: {str(error).splitlines()[0][:120]}") from error


def _walk(root: dict[str, Any]) -> Iterator[Bookmark | Rejected]:
    tagged = _tagged(root)
    for node, folder in _nodes(root):
        if not isinstance(node, dict):
            yield Rejected(shown("/".join(folder)) or "root", f"it is no node: {shown(node)}")
        elif (url := node.get("uri")) is not None and not str(url).startswith("place:"):
            tags = {tag for tag in (texts(node, "tags") or "").split(",") if tag}
            yield Bookmark(
                where=f"guid {shown(node.get('guid'))}",
                url=url,
                title=texts(node, "title"),
                folder=folder,
                tags=sorted(tags | tagged.get(str(url), set())),
                added=(_instant(node.get("dateAdded")), None),
                modified_us=_instant(node.get("lastModified")),
                native_id=texts(node, "guid"),
            )


def _nodes(root: dict[str, Any], tags: bool = False) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """All that are no folders, in the order of the file, with the names of the folders they are in.

    Those below the root of tags come only when asked for, and then alone.
    """
    waiting: list[tuple[Any, tuple[str, ...], bool]] = [(root, (), False)]
    while waiting:
        node, folder, in_tags = waiting.pop()
        children = node.get("children") if isinstance(node, dict) else None
        if not isinstance(children, list):
            if in_tags == tags:
                yield node, folder
            continue
        name = texts(node, "root")
        title = _NAMES.get(name or "") or texts(node, "title") or ""
        outermost = name in ("placesRoot", _TAGS) or (not folder and not title)
        inside = folder if outermost or len(folder) >= DEEPEST_FOLDER else (*folder, title)
        waiting += [(child, inside, in_tags or name == _TAGS) for child in reversed(children)]


def _tagged(root: dict[str, Any]) -> dict[str, set[str]]:
    """The tags of each URL where a file keeps them as folders."""
    tagged: dict[str, set[str]] = {}
    for node, folder in _nodes(root, tags=True):
        if isinstance(node, dict) and (url := texts(node, "uri")) and folder and folder[-1]:
            tagged.setdefault(url, set()).add(folder[-1])
    return tagged


def _instant(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and plausible(value) else None
