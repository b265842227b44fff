"""What a file is, told from the original: cheaply, and without changing, locking or copying it.

Importers look at content, and may write to what they are given. A file that is no SQLite database they only read,
so they can be asked about the original. A database would be opened, and its logs replayed: they are shown a
skeleton instead, an empty database with the tables and columns of the original.
"""

import re
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brain.importers import Importer

SQLITE = b"SQLite format 3\x00"
# The logs that go with a database and are never a source of their own, and how each begins.
LOGS = {
    "-wal": (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"),
    "-journal": (b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",),
}
# Databases of these names are always worth a try: what makes them known may still be in their log.
DATABASES = frozenset(
    {"History", "Archived History", "places.sqlite", "places.db", "History.db", "history.sqlite"}
)
# Endings of exports. A name without one may be a browser's own, one with any other is asked for its first bytes.
_EXPORTS = re.compile(r"(json(l|5)?|ndjson|x?html?|xml|plist|(json|bak|moz)lz4|txt|csv|tsv|gz|zip|tgz)")
# Endings of what nobody exports a history as: photos, films, sounds, office files, programs, fonts, mail, caches;
# and notes, which are read where a person names them, and never because they lie somewhere.
_OTHER = re.compile(
    r"jpe?g|png|gif|webp|avif|hei[cf]|tiff?|bmp|ico|svg|raw|cr2|nef|dng|psd|mp[234]|m4[av]|mpe?g|mov|avi|mkv|webm"
    r"|3gp|wav|flac|ogg|opus|aac|pdf|docx?|xlsx?|pptx?|od[tsp]|epub|mobi|exe|dll|so|dylib|apk|dmg|iso|pyc?|m?js|css"
    r"|ts|c|h|cc|cpp|rs|go|java|class|jar|o|a|woff2?|ttf|otf|eot|mbox|eml|ics|vcf|ldb|log|pma|lock|tmp|crx|xpi"
    r"|md|markdown"
)
_COMPRESSED = (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"mozLz40\x00", b"bplist00")
_HEAD = 4096
_MOST_TABLES = 1_000


def plausible_name(name: str) -> bool:
    """Whether a file of this name could be an export or a database, and is no photo, film, program or the like."""
    base = name.rpartition("/")[2]
    return not base.endswith("-shm") and not _OTHER.fullmatch(_ending(base))


def plausible_head(name: str, head: bytes) -> bool:
    """Whether a file that begins so could be an export or a database, going by its name where the bytes fit many."""
    if not head:
        return False
    if head.startswith((SQLITE, *_COMPRESSED)):
        return True
    if b"\x00" in head[:512] and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    ending = _ending(name.rpartition("/")[2])
    return (
        not ending
        or _EXPORTS.fullmatch(ending) is not None
        or head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[", b"<")
    )


def _ending(base: str) -> str:
    return base.rpartition(".")[2].lower() if "." in base else ""


def head_of(path: Path) -> bytes | None:
    """The first 4 KiB of a regular file; None for anything else and for what cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return None


def is_log(name: str, head: bytes) -> bool:
    """Whether this is the log of a database beside it."""
    return any(name.endswith(ending) and head.startswith(starts) for ending, starts in LOGS.items())


def reader_of(path: Path) -> "Importer | None":
    """The importer that knows the file at `path`, which stays as it is; None where there is none.

    A database whose tables are still in its write-ahead log alone is not known by this.
    """
    from brain.importers import IMPORTERS

    head = head_of(path)
    if not head:
        return None
    if not head.startswith(SQLITE):
        return next((reader for reader in IMPORTERS if reader.detect(path)), None)
    with _skeleton(path) as skeleton:
        return next((reader for reader in IMPORTERS if skeleton and reader.detect(skeleton)), None)


def is_source(path: Path) -> bool:
    """Whether an importer knows the file at `path`, or could once it has seen the database's log."""
    head = head_of(path) or b""
    return (path.name in DATABASES and head.startswith(SQLITE)) or reader_of(path) is not None


def is_text(head: bytes) -> bool:
    """Whether a file that begins so is to be read as text, from its beginning on."""
    return not head.startswith((SQLITE, *_COMPRESSED)) and b"\x00" not in head


def refuse_unknown(path: Path) -> None:
    """Raise SourceError, as `importers.pick` does, for a file of no known kind, unless only a copy could tell.

    Says nothing about databases, files without bytes and what cannot be read: copying them tells more.
    """
    from brain import importers

    head = head_of(path)
    if head and not head.startswith(SQLITE):
        importers.pick(path)


@contextmanager
def _skeleton(path: Path) -> Iterator[Path | None]:
    """An empty database with the tables and columns of the one at `path`; None where they cannot be read."""
    tables = _columns(path)
    with tempfile.TemporaryDirectory(prefix="brain-") as folder:
        copy = Path(folder) / "tables"
        with closing(sqlite3.connect(copy, isolation_level=None)) as con:
            con.execute("PRAGMA journal_mode = OFF").fetchone()
            con.execute("PRAGMA synchronous = OFF")
            try:
                for table, columns in tables.items():
                    con.execute(f"CREATE TABLE {_quoted(table)} ({', '.join(map(_quoted, columns))})")
            except (sqlite3.Error, UnicodeEncodeError):
                tables = {}
        yield copy if tables else None


def _columns(path: Path) -> dict[str, list[str]]:
    """The tables with their columns. `immutable` touches neither locks nor logs: the file may be in use."""
    tables: dict[str, list[str]] = {}
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as con:
            con.text_factory = lambda raw: raw.decode("utf-8", "replace")
            con.execute("PRAGMA trusted_schema = OFF")
            names = con.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
                f" AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' LIMIT {_MOST_TABLES}"
            ).fetchall()
            for (name,) in names:
                info = con.execute(f"PRAGMA table_info({_quoted(name)})").fetchall()
                if info:
                    tables[name] = [row[1] for row in info]
    except (sqlite3.Error, OSError, UnicodeError, OverflowError):
        return {}
    return tables


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
