"""The lake: one DuckDB file that holds the truth, written idempotently and read by SQL.

Nobody keeps a connection. `read()` and `write()` lease one (see `brain.leases`); long reads take `snapshot()`, a
copy shared by all readers of the same state, so that a slow query never keeps a writer waiting.
"""

import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from brain import migrations
from brain.config import Home
from brain.errors import LakeError, QueryRefused, first_line
from brain.leases import Leases
from brain.locks import lock
from brain.sql import Connection, frame

if TYPE_CHECKING:
    import polars as pl


class Lake:
    """The lake of one home. Cheap to make; touches no file until used."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.leases = Leases(home)
        self._checked = False

    @property
    def exists(self) -> bool:
        """Whether something was ever imported here."""
        return self.home.lake.exists()

    def ensure(self) -> None:
        """Create the lake or bring its schema up to date. Raises LakeError for a newer or damaged one."""
        if self._checked:
            return
        self.home.ensure()
        if self.home.lake.exists():
            with self.leases.read(what="check schema") as con:
                migrations.check(con)
                current = migrations.version(con) == migrations.LATEST
            if current:
                self._checked = True
                return
        with self.leases.write(what="migrate") as con:
            migrations.migrate(con)
        self._checked = True

    def read(self, timeout: float = 10.0, what: str = "read") -> AbstractContextManager[Connection]:
        """Lease a read-only connection; many at once.

        Raises LakeBusy naming the holder, LakeError if there is no lake.
        """
        return self.leases.read(timeout=timeout, what=what)

    def write(
        self, timeout: float = 10.0, what: str = "write", bulk: bool = False
    ) -> AbstractContextManager[Connection]:
        """Lease the only read-write connection. Keep it for at most ~0.3 s; no parsing or embedding inside.

        `bulk` for thousands of rows at once.
        """
        return self.leases.write(timeout=timeout, what=what, bulk=bulk)

    def sql(self, query: str, params: Sequence[Any] | None = None) -> "pl.DataFrame":
        """Run one SELECT on a short read lease and return a polars frame; instants are Datetime('us', 'UTC').

        For queries over much of the lake use `snapshot()`. Raises QueryRefused with DuckDB's reason.
        """
        with self.read(what="sql") as con:
            try:
                return frame(con, query, params)
            except duckdb.Error as error:
                raise QueryRefused(first_line(error)) from error

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """A read-only connection to a copy of the lake as it is now, kept while in use by any process.

        Raises LakeError when there is no lake.
        """
        with self.snapshot_file() as path, connect_read_only(path) as con:
            yield con

    @contextmanager
    def snapshot_file(self) -> Iterator[Path]:
        """Path of a read-only copy of the lake as it is now; a copy nobody uses is removed by the next one."""
        if not self.exists:
            raise LakeError(f"there is no lake at {self.home.root} yet; import something first")
        folder = self.home.snapshots
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as held:
            with self.read(what="snapshot"):  # no commit can fall between naming the state and copying it
                path = folder / f"{_state_of(self.home.lake)}.duckdb"
                held.enter_context(lock(_guard(path), exclusive=False, timeout=30.0))
                draft = None if path.exists() else self._copy(path)
            if draft:
                _finish(draft, path)
            _remove_unused(folder, keep=path)
            yield path

    def _copy(self, path: Path) -> Path:
        draft = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.draft")
        shutil.copyfile(self.home.lake, draft)
        wal = _wal_of(self.home.lake)
        if wal.exists():  # left by a crash; the next writer folds it in, and so must the copy
            shutil.copyfile(wal, _wal_of(draft))
        return draft


def _finish(draft: Path, path: Path) -> None:
    if _wal_of(draft).exists():
        try:
            duckdb.connect(str(draft)).close()
        except duckdb.Error as error:
            raise LakeError(f"the lake cannot be copied: {first_line(error)}") from error
    draft.chmod(0o600)
    draft.replace(path)


def _wal_of(path: Path) -> Path:
    return path.with_name(path.name + ".wal")


def _guard(path: Path) -> Path:
    return path.with_suffix(".lock")


def _state_of(lake: Path) -> str:
    """A name for the lake's present state; every commit or checkpoint changes it."""
    parts = []
    for path in (lake, _wal_of(lake)):
        try:
            stat = path.stat()
            parts.append(f"{stat.st_mtime_ns:x}-{stat.st_size:x}")
        except FileNotFoundError:
            continue
    return "-".join(parts)


def _remove_unused(folder: Path, keep: Path) -> None:
    for other in folder.glob("*.duckdb"):
        if other == keep:
            continue
        try:
            with lock(_guard(other), exclusive=True, timeout=0.0):
                other.unlink(missing_ok=True)
                shutil.rmtree(f"{other}.tmp", ignore_errors=True)  # what a killed query had spilled
        except LakeError:  # in use, perhaps by this very thread
            continue
    # A guard is not removed with its copy: someone may be waiting on it. Names never come back, so later is safe.
    for old in (*folder.glob("*.lock"), *folder.glob("*.draft*")):
        with suppress(FileNotFoundError):
            if time.time() - old.stat().st_mtime > 86_400 and not old.with_suffix(".duckdb").exists():
                old.unlink()


# One for all snapshots: connections of a process to one copy share a database, and that has one configuration.
_SHUT_IN: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",  # never the network
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # no reading of the program's variables
    "memory_limit": "1GB",
    "max_temp_directory_size": "4GB",  # where larger sorts and joins go, beside the snapshot
}
# Threads that open one copy together: the first locks its configuration before another uses it.
_opening = threading.Lock()


@contextmanager
def connect_read_only(path: Path) -> Iterator[Connection]:
    """Open a snapshot read-only, shut in: no other file, no network, configuration locked, time in UTC.

    Operators may hold 1 GB in memory and spill 4 GB to disk. Raises LakeError when it cannot be opened.
    """
    with _opening:
        try:
            con = duckdb.connect(str(path), read_only=True, config=_SHUT_IN)
            if con.execute("SELECT current_setting('lock_configuration')").fetchall() == [(False,)]:
                con.execute("SET GLOBAL TimeZone = 'UTC'")
                con.execute("SET lock_configuration = true")
        except duckdb.Error as error:
            raise LakeError(f"the snapshot {path} cannot be opened: {first_line(error)}") from error
    try:
        yield con
    finally:
        con.close()
