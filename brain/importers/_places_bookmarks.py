"""Bookmarks of a places database: `moz_bookmarks`, whose rows are URLs (type 1), folders (2) and separators (3).

On the desktop tags are folders too, under a root of their own: a URL inside one has that tag. The mobile browsers
keep them in `moz_tags` and `moz_tags_relation`. Roots are known by their guids, which are the same in every profile,
in files of old versions by `moz_bookmarks_roots`.

`place:` queries are the browser's own and no bookmark of anybody; every other address is kept as it is, `javascript:`
too.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from brain.errors import EmptySource, SourceError
from brain.importers import _sqlite
from brain.importers._bookmark_rows import Bookmark, batches
from brain.importers._bookmark_tree import Tree, instant
from brain.importers._sqlite import Column
from brain.models import Batch, Rejected

_COLUMNS = (
    Column("type", "int"),
    Column("fk", "int"),
    Column("parent", "int"),
    Column("title", "text"),
    Column("dateadded", "int"),
    Column("lastmodified", "int"),
    Column("guid", "text"),
)
_URL, _FOLDER = 1, 2
_ROOT, _TAGS = "root________", "tags________"
_NAMES = {
    _ROOT: "",
    _TAGS: "",
    "menu________": "Bookmarks menu",
    "toolbar_____": "Bookmarks toolbar",
    "unfiled_____": "Other bookmarks",
    "mobile______": "Mobile bookmarks",
}


class _Row(NamedTuple):
    kind: int | None
    place: int | None
    parent: int | None
    title: str | None
    added: int | None
    modified: int | None
    guid: str | None


def read(db: _sqlite.Reader, name: str, to_us: int) -> Iterator[Batch | Rejected]:
    """Bookmarks in batches; times in the table are `to_us` microseconds each. Nothing where there are none.

    Damage to these tables is a reject: the history before them stands.
    """
    if not {"type", "fk", "parent"} <= db.tables.get("moz_bookmarks", frozenset()):
        return
    try:
        rows: dict[int, _Row] = {}
        for part in db.rows("moz_bookmarks", _COLUMNS):
            if isinstance(part, Rejected):
                yield part
            else:
                lists = (part.column(column).to_pylist() for column in ("id", *(c.name for c in _COLUMNS)))
                rows.update((number, _Row(*values)) for number, *values in zip(*lists, strict=True))
        yield from batches(name, _bookmarks(db, rows, to_us))
    except EmptySource:
        return  # a history without bookmarks is a history
    except SourceError as error:
        yield Rejected("moz_bookmarks", str(error))


def _bookmarks(db: _sqlite.Reader, rows: dict[int, _Row], to_us: int) -> Iterator[Bookmark | Rejected]:
    roots = _roots(db, rows)
    folders = {
        n: (_NAMES.get(roots.get(n, "")) or row.title or "", row.parent)
        for n, row in rows.items()
        if row.kind == _FOLDER
    }
    tag_root = next((n for n, guid in roots.items() if guid == _TAGS), None)
    tree = Tree(folders, frozenset(n for n, guid in roots.items() if guid in (_ROOT, _TAGS)))
    kept = {n: row for n, row in rows.items() if row.kind == _URL}
    of_tags = {n for n, row in kept.items() if tree.inside(row.parent, tag_root)}
    tags = _mobile_tags(db)
    for n in of_tags:
        if (place := kept[n].place) is not None:
            tags.setdefault(place, set()).update(tree.path(kept[n].parent)[-1:])
    urls = _urls(db, {row.place for n, row in kept.items() if row.place is not None and n not in of_tags})
    for number, row in kept.items():
        where = f"moz_bookmarks.id={number}"
        if number in of_tags:
            continue
        if row.place is None or row.place not in urls:
            yield Rejected(
                where, "fk is missing" if row.place is None else f"its URL {row.place} is not in the file"
            )
        elif not urls[row.place].startswith("place:"):
            yield Bookmark(
                where=where,
                url=urls[row.place],
                title=row.title,
                folder=tree.path(row.parent),
                tags=sorted(tag for tag in tags.get(row.place, ()) if tag),
                added=(instant(row.added, to_us), None),
                modified_us=instant(row.modified, to_us),
                native_id=row.guid,
            )


def _roots(db: _sqlite.Reader, rows: dict[int, _Row]) -> dict[int, str]:
    """The numbers of the root folders and their guids."""
    found = {
        n: row.guid for n, row in rows.items() if row.kind == _FOLDER and row.guid in _NAMES and row.guid
    }
    if found or not {"root_name", "folder_id"} <= db.tables.get("moz_bookmarks_roots", frozenset()):
        return found
    columns = (Column("root_name", "text"), Column("folder_id", "int"))
    for part in db.batches("moz_bookmarks_roots", "rowid", columns):
        if not isinstance(part, Rejected):
            for name, number in zip(part.column(1).to_pylist(), part.column(2).to_pylist(), strict=True):
                guid = _ROOT if name == "places" else f"{name}".ljust(12, "_")
                if number in rows and guid in _NAMES:
                    found[number] = guid
    return found


def _mobile_tags(db: _sqlite.Reader) -> dict[int, set[str]]:
    """The tags of each place in a mobile browser's tables."""
    tags: dict[int, set[str]] = {}
    if "tag" not in db.tables.get("moz_tags", frozenset()):
        return tags
    names: dict[int, str | None] = {}
    for part in db.rows("moz_tags", (Column("tag", "text"),)):
        if not isinstance(part, Rejected):
            names.update(zip(part.column("id").to_pylist(), part.column("tag").to_pylist(), strict=True))
    tag_ids, places = db.numbers("moz_tags_relation", ("tag_id", "place_id"), "1")
    for tag, place in zip(tag_ids.tolist(), places.tolist(), strict=True):
        if name := names.get(tag):
            tags.setdefault(place, set()).add(name)
    return tags


def _urls(db: _sqlite.Reader, wanted: set[int]) -> dict[int, str]:
    """The URLs of these places."""
    if not wanted:
        return {}
    urls: dict[int, str] = {}
    asked = pa.array(sorted(wanted), pa.int64())
    for rows in db.rows("moz_places", (Column("url", "text", required=True),)):
        if not isinstance(rows, Rejected):
            some = rows.filter(pc.is_in(rows.column("id"), asked))
            urls.update(zip(some.column("id").to_pylist(), some.column("url").to_pylist(), strict=True))
    return urls
