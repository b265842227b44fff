"""Bookmarks within a Firefox `places.sqlite`, some of its pages in folders and with tags, and a backup of them.

Rows are as Firefox 153 writes them: a tag is a folder under the root of tags, and each URL that has it an entry there;
`foreign_count` of a place counts what points to it. All is made up, and the same for the same pages and seed.
"""

import base64
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from brain.sample.pages import World
from brain.sample.sessions import SECOND
from brain.sample.trail import Trail

MAGIC = b"mozLz40\x00"
_MENU, _TOOLBAR, _TAGS, _UNFILED = 2, 3, 4, 5  # ids of the roots
_URL, _FOLDER, _SEPARATOR = 1, 2, 3
# Folders with the one they are in, by its place in this list.
_FOLDERS = (("Weekend", _MENU, None), ("Kitchen", None, 0), ("Someday", _TOOLBAR, None))
_TAG_NAMES = ("print", "lend", "dig deeper")
_MIME = {
    _URL: "text/x-moz-place",
    _FOLDER: "text/x-moz-place-container",
    _SEPARATOR: "text/x-moz-place-separator",
}
_ROOTS = {
    "root________": "placesRoot",
    "menu________": "bookmarksMenuFolder",
    "toolbar_____": "toolbarFolder",
    "unfiled_____": "unfiledBookmarksFolder",
    "mobile______": "mobileFolder",
}


class _Rows:
    """Adds rows to `moz_bookmarks`, each after those already in its folder."""

    def __init__(self, connection: sqlite3.Connection, rng: np.random.Generator) -> None:
        self._connection = connection
        self._rng = rng
        self._inside: dict[int, int] = {}

    def add(self, kind: int, parent: int, title: str | None, at: int, place: int | None = None) -> int:
        position = self._inside.get(parent, 0)
        self._inside[parent] = position + 1
        guid = base64.urlsafe_b64encode(self._rng.bytes(9)).decode("ascii")
        cursor = self._connection.execute(
            "INSERT INTO moz_bookmarks (type, fk, parent, position, title, dateAdded, lastModified, guid, syncStatus)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)",
            (kind, place, parent, position, title, at, at, guid),
        )
        if place is not None:
            self._connection.execute(
                "UPDATE moz_places SET foreign_count = foreign_count + 1 WHERE id = ?", [place]
            )
        return int(cursor.lastrowid or 0)


def write(
    connection: sqlite3.Connection, world: World, trail: Trail, order: list[int], rng: np.random.Generator
) -> int:
    """Bookmark some of the pages of `order`, whose places stand in `moz_places`; how many were."""
    shown = {page for span in (world.daily, *world.articles) for page in span}
    places = [number for number, page in enumerate(order, 1) if page in shown]
    count = min(len(places), 500, 10 + len(places) // 10)
    chosen = sorted(rng.choice(places, count, replace=False).tolist())
    first = dict(zip(trail.page[::-1].tolist(), trail.at[::-1].tolist(), strict=True))
    begin, end = int(trail.at[0]), int(trail.at[-1])
    rows = _Rows(connection, rng)
    folders: list[int] = []
    for name, root, inside in _FOLDERS:
        folders.append(rows.add(_FOLDER, root or folders[inside or 0], name, begin))
    tags = [rows.add(_FOLDER, _TAGS, name, begin) for name in _TAG_NAMES]
    homes = (*folders, _TOOLBAR, _UNFILED)
    for number, place in enumerate(chosen):
        page = order[place - 1]
        at = min(first[page] + 20 * SECOND, end) // 1_000 * 1_000  # a bookmark's dates are whole milliseconds
        rows.add(_URL, homes[number % len(homes)], world.titles[page] or None, at, place)
        if number == count // 2:
            rows.add(_SEPARATOR, folders[0], None, at)
        if number % 3 == 0:
            rows.add(_URL, tags[number // 3 % len(tags)], None, at, place)
        if number % 12 == 0:
            rows.add(_URL, tags[(number // 3 + 1) % len(tags)], None, at, place)
    return count


def backup(folder: Path, places: Path) -> list[tuple[Path, str, str, dict[str, int]]]:
    """Write what Firefox backs up of the bookmarks in `places`: (path, kind, browser, rows by record) of the file."""
    import lz4.block

    with closing(sqlite3.connect(places)) as connection:
        rows = connection.execute(
            "SELECT b.id, b.type, b.parent, b.position, b.title, b.dateAdded, b.lastModified, b.guid, p.url,"
            " (SELECT group_concat(f.title) FROM moz_bookmarks t JOIN moz_bookmarks f ON f.id = t.parent"
            f" WHERE t.fk = b.fk AND f.parent = {_TAGS})"
            " FROM moz_bookmarks b LEFT JOIN moz_places p ON p.id = b.fk ORDER BY b.parent, b.position"
        ).fetchall()
    nodes: dict[int, dict[str, Any]] = {}
    for number, kind, _, position, title, added, modified, guid, url, tags in rows:
        node = {
            "guid": guid,
            "title": title or "",
            "index": position,
            "dateAdded": added,
            "lastModified": modified,
        }
        node |= {"id": number, "typeCode": kind}
        node |= {"tags": tags} if tags else {}
        node |= {"type": _MIME[kind]} | ({"uri": url} if url else {})
        nodes[number] = node | ({"root": _ROOTS[guid]} if guid in _ROOTS else {})
    for number, _, parent, *_ in rows:
        if parent in nodes and number != _TAGS:
            nodes[parent].setdefault("children", []).append(nodes[number])
    text = json.dumps(nodes[1], ensure_ascii=False, separators=(",", ":")).encode()
    kept = sum(row[1] == _URL for row in rows) - sum("uri" in n for n in _below(nodes, rows, _TAGS))
    path = folder / "bookmarkbackups" / f"bookmarks-2026-11-30_{kept}_c2FtcGxl.jsonlz4"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(MAGIC + len(text).to_bytes(4, "little") + lz4.block.compress(text, store_size=False))
    return [(path, "bookmarks", "firefox", {"bookmarks": kept})]


def _below(nodes: dict[int, dict[str, Any]], rows: list[Any], root: int) -> list[dict[str, Any]]:
    """The entries of the folders in `root`."""
    inside = {row[0] for row in rows if row[2] == root}
    return [nodes[row[0]] for row in rows if row[2] in inside]
