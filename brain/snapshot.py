"""Safe copies of files that a program may be writing to at this moment.

A browser holds locks on its history, so a copy is taken byte by byte, with the write-ahead log and the rollback
journal beside it under matching names (SQLite ignores them otherwise) and never the -shm file. Sizes and times are
compared before and after; a copy that may be torn is taken again. The copy is then an ordinary database: whoever
opens it first replays the logs.
"""

import errno
import hashlib
import os
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from brain.errors import EmptySource, SourceError

_HEADER = b"SQLite format 3\x00"
_SIDECARS = ("-wal", "-journal")
_PIECE = 8 * 1024 * 1024
_TRIES = 3
# Up to this size a check of all pages costs less than a tenth of a second, so it is always made.
_CHECK_ALWAYS = 16 * 1024 * 1024
_THREADS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A private copy of one source file.

    `sha256` identifies the content of the file and its logs as copied: the SHA-256 over each file's suffix and
    size and the SHA-256 of each of its 8 MiB pieces (so that pieces are hashed side by side while they are
    copied). It is stable, and no `sha256sum` of the file. `bytes` is the size of all that was copied.
    """

    path: Path
    original: Path
    sha256: str
    bytes: int

    def remove(self) -> None:
        """Delete the copy, its logs and the folder made for it."""
        for name in _family(self.path, (*_SIDECARS, "-shm")):
            name.unlink(missing_ok=True)
        self.path.parent.rmdir()


def take(path: Path, into: Path) -> Snapshot:
    """Copy the file at `path` into a new private folder (0700, files 0600) under `into`, keeping its name.

    Works while another process writes the file. Raises SourceError in one line when it cannot be read, is no
    regular file or changed during all three tries; EmptySource when it has no bytes.
    """
    original = path.absolute()
    folder = Path(tempfile.mkdtemp(prefix="snapshot-", dir=into))
    target = folder / original.name
    done = False
    last_digest = ""
    try:
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(0.1 * 4 ** (attempt - 1))
            before = _state(original)
            digest, size = _copy_family(original, target)
            if _state(original) != before:
                continue
            # Twice the same bytes are no torn copy: what is wrong with them is the importer's to report.
            if digest == last_digest or not _suspect(target, attempt) or _sound(target):
                done = True
                return Snapshot(target, original, digest, size)
            last_digest = digest
        raise SourceError(f"{original} kept changing while it was copied; try again when its program is idle")
    except OSError as error:
        raise SourceError(_unreadable(original, error, sys.platform)) from error
    finally:
        if not done:
            for name in _family(target, (*_SIDECARS, "-shm")):
                name.unlink(missing_ok=True)
            folder.rmdir()


def adopt(path: Path, original: Path) -> Snapshot:
    """The private file at `path` and its logs as what `take` would have made of them; nothing is copied.

    `original` is what it is a copy of. Its hash is the one `take` gives the same content.
    """
    whole = hashlib.sha256()
    total = 0
    for name in _family(path, _SIDECARS):
        if name == path or name.exists():
            size = 0
            with name.open("rb") as file:
                while piece := file.read(_PIECE):
                    whole.update(hashlib.sha256(piece).digest())
                    size += len(piece)
            whole.update(f"{name.name[len(path.name) :]}:{size}\n".encode())
            total += size
    return Snapshot(path, original, whole.hexdigest(), total)


def state(path: Path) -> str:
    """What tells by a look at the folder alone whether the file or its logs changed since.

    Raises SourceError as `take` does.
    """
    try:
        return repr(_state(path.absolute()))
    except OSError as error:
        raise SourceError(_unreadable(path.absolute(), error, sys.platform)) from error


def of_folder(path: Path, files: Sequence[Path]) -> Snapshot:
    """A folder of small files that are read where they lie: no copy, but a hash of their names and contents.

    What changes between this and the reading has another hash the next time, and is read again then.
    """
    whole = hashlib.sha256()
    total = 0
    for file in files:
        try:
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").digest()
                total += stream.tell()
        except OSError:
            digest = b"unreadable"
        whole.update(os.fsencode(file.relative_to(path)) + b"\0" + digest)
    return Snapshot(path, path, whole.hexdigest(), total)


def folder_state(path: Path, files: Sequence[Path]) -> str:
    """The same as `state` for files of a folder."""
    whole = hashlib.sha256()
    for file in files:
        try:
            seen = file.stat()
        except OSError:
            continue
        told = f"{seen.st_ino}:{seen.st_size}:{seen.st_mtime_ns}:{seen.st_mode}"
        whole.update(os.fsencode(file.relative_to(path)) + b"\0" + told.encode())
    return f"{len(files)} files {whole.hexdigest()}"


def _state(original: Path) -> tuple[tuple[int, ...] | None, ...]:
    """What tells whether a file or its logs changed. Raises SourceError for what is no file with content."""
    main = original.stat()
    if stat.S_ISDIR(main.st_mode):
        raise SourceError(f"{original} is a folder, and nothing in it can be imported")
    if not stat.S_ISREG(main.st_mode):
        raise SourceError(f"{original} is no regular file")
    states: list[tuple[int, ...] | None] = []
    for name in _family(original, _SIDECARS):
        try:
            seen = name.stat()
        except FileNotFoundError:
            states.append(None)
        else:
            states.append((seen.st_ino, seen.st_size, seen.st_mtime_ns))
    if not main.st_size and not (states[1] and states[1][1]):
        raise EmptySource(f"{original} has zero bytes")
    return tuple(states)


def _family(path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    return [path, *(path.with_name(path.name + suffix) for suffix in suffixes)]


def _copy_family(original: Path, target: Path) -> tuple[str, int]:
    whole = hashlib.sha256()
    total = 0
    with ThreadPoolExecutor(_THREADS) as pool:
        for source, copy in zip(_family(original, _SIDECARS), _family(target, _SIDECARS), strict=True):
            copy.unlink(missing_ok=True)
            if source != original and not (source.is_file() and _is_sqlite_family(target)):
                continue
            size = 0
            for length, digest in _copy(source, copy, pool):
                whole.update(digest)
                size += length
            whole.update(f"{source.name[len(original.name) :]}:{size}\n".encode())
            total += size
    return whole.hexdigest(), total


def _copy(source: Path, copy: Path, pool: ThreadPoolExecutor) -> Iterator[tuple[int, bytes]]:
    """Copy in pieces, several at once; yields each piece's length and SHA-256 in order."""
    reading = os.open(source, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        writing = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        try:
            size = os.fstat(reading).st_size
            if size <= _PIECE or not hasattr(os, "pread"):
                yield from _copy_in_turn(reading, writing)
                return
            starts = range(0, size, _PIECE)
            yield from pool.map(lambda start: _copy_piece(reading, writing, start), starts)
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _copy_in_turn(reading: int, writing: int) -> Iterator[tuple[int, bytes]]:
    with open(reading, "rb", closefd=False) as source, open(writing, "wb", closefd=False) as copy:
        while piece := source.read(_PIECE):
            copy.write(piece)
            yield len(piece), hashlib.sha256(piece).digest()


def _copy_piece(reading: int, writing: int, start: int) -> tuple[int, bytes]:
    piece = os.pread(reading, _PIECE, start)
    written = 0
    while written < len(piece):
        written += os.pwrite(writing, memoryview(piece)[written:], start + written)
    return len(piece), hashlib.sha256(piece).digest()


def _is_sqlite_family(target: Path) -> bool:
    """Whether logs beside the file belong to it: it is an SQLite database, or one whose pages are all in the log."""
    with target.open("rb") as copy:
        return copy.read(len(_HEADER)) in (_HEADER, b"")


def _suspect(target: Path, attempt: int) -> bool:
    """Whether the copy could be torn in a way that sizes and times do not show."""
    journal = target.with_name(target.name + "-journal")
    return (
        attempt > 0
        or target.stat().st_size < _CHECK_ALWAYS
        or (journal.exists() and journal.stat().st_size > 0)
    )


def _sound(target: Path) -> bool:
    """Whether all pages hang together; True for what is no SQLite database. Replays the copy's logs."""
    if not _is_sqlite_family(target):
        return True
    try:
        with closing(sqlite3.connect(f"{target.as_uri()}?mode=rw", uri=True)) as con:
            con.execute("PRAGMA trusted_schema = OFF")
            answer = con.execute("PRAGMA quick_check(1)").fetchone()
    except (sqlite3.Error, UnicodeDecodeError):  # messages quote the file and are decoded strictly
        return False
    return bool(answer) and answer[0] == "ok"


def _unreadable(original: Path, error: OSError, platform: str) -> str:
    """One line on why the file could not be copied, with the remedy where there is one."""
    if isinstance(error, FileNotFoundError):
        return f"{original} does not exist"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"there is no room for a copy of {original}: {error.strerror}"
    if isinstance(error, PermissionError):
        if platform == "darwin" and {"Safari", "com.apple.Safari"} & set(original.parts):
            return (
                f"{original} may not be read: allow Full Disk Access for this terminal in System Settings,"
                " Privacy & Security, then try again"
            )
        return f"{original} may not be read: permission denied, or its program keeps it locked"
    return f"{original} cannot be read: {error.strerror or error}"
