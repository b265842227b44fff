"""browser.db of Fennec, Firefox for Android from version 48 until 2020: `history` (URLs), `visits`, `bookmarks`.

A visit's `date` is microseconds since 1970, dates of URLs and bookmarks are milliseconds; visits name their URL by
`history_guid`. `is_local` 0 marks a visit synced from another device. Types are the desktop's, and of a redirect only
the target is kept. Bookmarks are of type 1, folders of type 0; the roots are known by their guids. Earlier versions
kept no visits. The tables are those that application-services took over (components/places/src/import/fennec).
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from brain.errors import EmptySource, SourceError
from brain.importers import _places, _sqlite
from brain.importers._bookmark_rows import Bookmark, batches
from brain.importers._bookmark_tree import Tree, instant
from brain.importers._rows import known_or_null, null_where, reject_times
from brain.importers._sqlite import Column
from brain.models import Batch, Rejected, as_record_batch

NAME = "fennec"
SOURCE = "firefox"
BROWSER = "fenix"
VERSION = 2  # raised when the same bytes are read differently

_MS = 1_000
_HISTORY = (
    Column("url", "text", required=True),
    Column("title", "text"),
    Column("guid", "text"),
    Column("visits", "int"),
    Column("date", "int"),
    Column("deleted", "int"),
)
_VISITS = (
    Column("history_guid", "text"),
    Column("date", "int", required=True),
    Column("visit_type", "int"),
    Column("is_local", "int"),
)
_BOOKMARKS = (
    Column("type", "int"),
    Column("url", "text"),
    Column("title", "text"),
    Column("parent", "int"),
    Column("created", "int"),
    Column("modified", "int"),
    Column("guid", "text"),
    Column("deleted", "int"),
)
_FOLDER, _BOOKMARK = 0, 1
_ROOT, _PINNED = "places", "pinned"
_NAMES = {
    "menu": "Bookmarks menu",
    "toolbar": "Bookmarks toolbar",
    "unfiled": "Other bookmarks",
    "mobile": "Mobile bookmarks",
}
_DELETED = -2  # stands for a URL that was deleted and is kept to tell other devices so


def detect(path: Path) -> bool:
    """Whether the file holds the tables of Fennec."""
    tables = _sqlite.peek(path)
    return {"url", "guid"} <= tables.get("history", frozenset()) and {"history_guid", "date"} <= tables.get(
        "visits", frozenset()
    )


def read(path: Path) -> Generator[Batch | Rejected]:
    """All URLs, all visits, then bookmarks. Raises SourceError when the file cannot be read as a whole."""
    with _sqlite.reading(path) as db:
        if not {"history", "visits"} <= db.tables.keys():
            raise SourceError(
                f"{path.name} has no history of Fennec: its tables history and visits are missing"
            )
        keys: dict[str, int] = {}
        for rows in db.batches("history", _key(db, "history"), _HISTORY):
            if isinstance(rows, Rejected):
                yield rows
            else:
                yield from _urls(rows, keys)
        for rows in db.batches("visits", _key(db, "visits"), _VISITS):
            if isinstance(rows, Rejected):
                yield rows
            else:
                yield from _visits(rows.rename_columns(["id", *rows.schema.names[1:]]), keys)
        yield from _kept(db, path.name)


def _key(db: _sqlite.Reader, table: str) -> str:
    return "_id" if "_id" in db.tables[table] else "rowid"


def _urls(rows: pa.RecordBatch, keys: dict[str, int]) -> Iterator[Batch]:
    gone = rows.column("deleted").fill_null(0).to_numpy() != 0
    refs = np.where(gone, _DELETED, rows.column(0).to_numpy()).tolist()
    keys.update(zip(rows.column("guid").to_pylist(), refs, strict=True))
    rows = rows.filter(pa.array(~gone))
    columns = {
        "url_ref": rows.column(0),
        "url": rows.column("url"),
        "title": null_where(rows.column("title"), ""),
        "visit_count": rows.column("visits"),
        "last_visit_us": known_or_null(rows.column("date"), 0, _MS),
    }
    yield Batch("urls", as_record_batch("urls", columns))


def _visits(rows: pa.RecordBatch, keys: dict[str, int]) -> Iterator[Batch | Rejected]:
    refs = np.array([keys.get(guid, -1) for guid in rows.column("history_guid").to_pylist()], np.int64)
    for native in rows.column("id").to_numpy()[refs == -1].tolist():
        yield Rejected(f"visits.id={native}", "its URL is not in the file")
    rows = rows.append_column("ref", pa.array(refs)).filter(pa.array(refs >= 0))
    rows, times, absurd = reject_times(rows, "date", 0, "visits")
    yield from absurd
    if rows.num_rows:
        never = np.zeros(rows.num_rows, np.bool_)
        origin = _places.origins(rows.column("is_local"))
        yield _places.visits(rows, rows.column("ref"), times, hops=never, aside=never, origin=origin)


def _kept(db: _sqlite.Reader, name: str) -> Iterator[Batch | Rejected]:
    if not {"_id", "type", "url", "parent"} <= db.tables.get("bookmarks", frozenset()):
        return
    try:
        parts: list[pa.RecordBatch] = []
        for part in db.batches("bookmarks", "_id", _BOOKMARKS):
            if isinstance(part, Rejected):
                yield part
            else:
                parts.append(part)
        yield from batches(name, _bookmarks([row for part in parts for row in part.to_pylist()]))
    except EmptySource:
        return
    except SourceError as error:
        yield Rejected("bookmarks", str(error))


def _bookmarks(rows: list[dict[str, Any]]) -> Iterator[Bookmark]:
    by_guid = {row["guid"]: row["_id"] for row in rows if row["type"] == _FOLDER}
    folders = {
        row["_id"]: (_NAMES.get(str(row["guid"])) or row["title"] or "", row["parent"])
        for row in rows
        if row["type"] == _FOLDER
    }
    tree = Tree(folders, frozenset({by_guid.get(_ROOT, 0)}))
    for row in rows:
        # Pinned sites are the start page's, not bookmarks.
        if row["type"] != _BOOKMARK or row["deleted"] or tree.inside(row["parent"], by_guid.get(_PINNED)):
            continue
        yield Bookmark(
            where=f"bookmarks._id={row['_id']}",
            url=row["url"],
            title=row["title"],
            folder=tree.path(row["parent"]),
            added=(instant(row["created"], _MS), None),
            modified_us=instant(row["modified"], _MS),
            native_id=row["guid"],
        )
