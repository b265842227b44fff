"""The SQLite database of BraveMCP (github.com/glatinone/BraveMCP, schema of its first release).

`pages` has one row a URL with the first and the last visit (milliseconds since 1970) and what was captured of it;
`bookmarks`, `highlights` and `notes` have ids of their own. How often a page was visited is kept as the URL's count; of
the visits themselves only the first and the last are known.
"""

import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from brain.errors import EmptySource, SourceError
from brain.importers import _bookmark_rows, _sqlite, _text_rows
from brain.importers._bookmark_rows import Bookmark, since_1970_ms
from brain.importers._json_stream import text_array, whole_number
from brain.importers._text_rows import Text
from brain.models import NAVIGATIONS, Batch, Rejected, as_record_batch

NAME = "bravemcp"
SOURCE = "import"
BROWSER = "brave"
VERSION = 1  # raised when the same bytes are read differently
CLOCK_US = 2_000_000  # its instants are when the event arrived


def detect(path: Path) -> bool:
    """Whether the file holds BraveMCP's tables."""
    tables = _sqlite.peek(path)
    return {"url", "last_visited", "visit_count", "summary"} <= tables.get("pages", frozenset()) and {
        "content",
        "source_url",
    } <= tables.get("notes", frozenset())


def read(path: Path) -> Generator[Batch | Rejected]:
    """URLs with their first and last visits, then captures, highlights and notes, then bookmarks."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as con:
            con.text_factory = _decoded
            con.execute("PRAGMA trusted_schema = OFF")
            yield from _pages(
                _rows(con, "pages", ("url", "title", "created_at", "last_visited", "visit_count"))
            )
            for part in (_text_rows.batches(path.name, _texts(con)), _bookmarks(path.name, con)):
                with suppress(EmptySource):
                    yield from part
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        raise SourceError(f"{path.name} cannot be read: {_sqlite.one_line(error)}") from error


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _rows(con: sqlite3.Connection, table: str, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    have = {row[1] for row in con.execute(f'PRAGMA table_info("{table}")')}
    if have:
        wanted = ", ".join(name if name in have else "NULL" for name in columns)
        yield from con.execute(f'SELECT rowid, {wanted} FROM "{table}"')


def _pages(rows: Iterator[tuple[Any, ...]]) -> Iterator[Batch | Rejected]:
    urls: list[tuple[int, str, str | None, int | None, int | None]] = []
    visits: list[tuple[int, int]] = []
    for number, url, title, created, last, count in rows:
        if not isinstance(url, str) or not url:
            yield Rejected(f"pages.rowid={number}", "it has no url")
            continue
        instants = sorted({us for us in (since_1970_ms(created), since_1970_ms(last)) if us is not None})
        if not instants:
            yield Rejected(f"pages.rowid={number}", "it has no plausible instant; the URL is kept")
        urls.append(
            (
                number,
                url,
                title if isinstance(title, str) and title else None,
                instants[-1] if instants else None,
                whole_number(count),
            )
        )
        visits += [(number, us) for us in instants]
    if urls:
        refs, addresses, titles, lasts, counts = (list(column) for column in zip(*urls, strict=True))
        columns: dict[str, Any] = {
            "url_ref": pa.array(refs, pa.int64()),
            "url": text_array(addresses),
            "title": text_array(titles),
            "last_visit_us": pa.array(lasts, pa.int64()),
            "visit_count": pa.array(counts, pa.int64()),
        }
        yield Batch("urls", as_record_batch("urls", columns))
    if visits:
        never = np.zeros(len(visits), np.bool_)
        codes = np.full(len(visits), NAVIGATIONS.index("other"), np.int8)
        made: dict[str, Any] = {
            "native_id": pa.array(range(len(visits)), pa.int64()),
            "url_ref": pa.array([ref for ref, _ in visits], pa.int64()),
            "visited_us": pa.array([us for _, us in visits], pa.int64()),
            "navigation": pa.DictionaryArray.from_arrays(codes, pa.array(NAVIGATIONS)),
            "is_visible": ~never,
        }
        made |= dict.fromkeys(("is_hop", "is_subframe", "is_reload", "is_back_forward"), never)
        yield Batch("visits", as_record_batch("visits", made))


def _texts(con: sqlite3.Connection) -> Iterator[Text | Rejected]:
    for number, key, url, title, content, summary, last in _rows(
        con, "pages", ("id", "url", "title", "content", "summary", "last_visited")
    ):
        text = "\n\n".join(part for part in (summary, content) if isinstance(part, str) and part.strip())
        if text:
            yield _text(f"pages.rowid={number}", key, "capture", text, url, title, last)
    pages = {key: url for _, key, url in _rows(con, "pages", ("id", "url"))}
    for number, key, page, marked, note, at in _rows(
        con, "highlights", ("id", "page_id", "text", "note", "created_at")
    ):
        text = "\n".join(part for part in (marked, note) if isinstance(part, str) and part.strip())
        yield _text(f"highlights.rowid={number}", key, "highlight", text, pages.get(page), None, at)
    for number, key, content, url, at in _rows(con, "notes", ("id", "content", "source_url", "created_at")):
        yield _text(f"notes.rowid={number}", key, "note", content, url, None, at)


def _text(where: str, key: Any, kind: str, text: Any, url: Any, title: Any, at: Any) -> Text | Rejected:
    if not isinstance(text, str):
        return Rejected(where, "it has no text")
    named = [value if isinstance(value, str) and value else None for value in (url, title)]
    return Text(where, str(key or where), kind, text, named[0], named[1], since_1970_ms(at))


def _bookmarks(name: str, con: sqlite3.Connection) -> Iterator[Batch | Rejected]:
    found = (
        Bookmark(
            where=f"bookmarks.rowid={number}",
            url=url,
            title=title if isinstance(title, str) else None,
            folder=(folder,) if isinstance(folder, str) and folder else (),
            added=(since_1970_ms(at), None),
            native_id=str(key) if key else None,
        )
        for number, key, url, title, folder, at in _rows(
            con, "bookmarks", ("id", "url", "title", "folder", "created_at")
        )
    )
    yield from _bookmark_rows.batches(name, found)
