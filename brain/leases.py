"""Short turns at the lake file: the only way anything reaches it.

DuckDB lets one process have a file open for writing, and then no other may even read it. So nobody keeps
the lake open: a lease waits for its turn under a fair lock between processes (many readers or one writer),
opens the file, does its work and closes it. Parsing, embedding and network happen between leases, never
inside.

Starting DuckDB takes about 40 ms of processor time; attaching a file to a started one about 1 ms. So each
process keeps a few started, empty engines, gets one ready *before* it waits for the lock, and attaches the
lake for the lease alone. All engines have one configuration: no files but the lake's own, nothing
configurable, UTC.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from brain.config import Home
from brain.errors import LakeBusy, LakeError, first_line
from brain.locks import Holder, holders, lock

if TYPE_CHECKING:
    import duckdb

_IDLE_ENGINES = 4  # kept per process and lake; more run at once if more threads read at once
_LAKE_FILES = ("", ".wal", ".wal.checkpoint", ".wal.recovery")
_RETRY_S = 0.02
# Between two bulk leases. The kernel wakes the next in the queue but keeps no lock for it, so who asks again at once
# can get in first, and the others wait for two long leases.
_GIVE_WAY_S = 0.01
_QUIET_S = 60.0  # after the last bulk lease, row groups are merged again


class Leases:
    """Read and write leases on the lake of one home. Cheap to make; safe for threads and across forks."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._bulk_mark = home.locks / "bulk"
        self._bulk_ended = 0.0

    @contextlib.contextmanager
    def read(self, timeout: float = 10.0, what: str = "read") -> "Iterator[duckdb.DuckDBPyConnection]":
        """A connection that can only read, shared with other readers.

        Use the connection itself (not `cursor()`) and fetch results before the block ends. Waits at most
        `timeout` seconds. Not re-entrant: leases of one thread never overlap.

        Raises LakeBusy when the wait is over, naming the holder; LakeError when there is no lake yet, when it
        cannot be opened, or when this thread has a lease already.
        """
        if not self._home.lake.exists():
            raise LakeError(f"there is no lake at {self._home.root} yet; run `brain import` first")
        with self._lease(False, timeout, what) as con:
            yield con

    @contextlib.contextmanager
    def write(
        self, timeout: float = 10.0, what: str = "write", *, bulk: bool = False
    ) -> "Iterator[duckdb.DuckDBPyConnection]":
        """A connection that can write, alone on the lake; creates home and file (0600) where missing.

        `bulk` is for thousands of rows: row groups are left as small as they come. Merging them takes three times
        as long as the writing itself, so it waits until a minute after the last bulk lease; then every write lease
        merges one more. Bulk leases of one process keep a small distance.

        What the block leaves uncommitted is rolled back. Keep it below about 0.3 s (see :class:`Pace`):
        everyone else waits. Otherwise as :meth:`read`; LakeError also when the disk is full.
        """
        if not self._home.locks.is_dir():
            self._home.ensure()
        if bulk:
            time.sleep(max(0.0, self._bulk_ended + _GIVE_WAY_S - time.monotonic()))
        try:
            with self._lease(True, timeout, what, merge=not bulk and self._is_quiet()) as con:
                if bulk:
                    self._bulk_mark.touch(0o600)
                yield con
        finally:
            if bulk:
                self._bulk_ended = time.monotonic()

    def holders(self) -> list[Holder]:
        """Who holds a lease now, in any process, oldest first."""
        return holders(self._home.locks / "holders")

    def _is_quiet(self) -> bool:
        """Whether no process writes in bulk at present."""
        try:
            return time.time() - self._bulk_mark.stat().st_mtime > _QUIET_S
        except FileNotFoundError:
            return True

    @contextlib.contextmanager
    def _lease(
        self, exclusive: bool, timeout: float, what: str, merge: bool = False
    ) -> "Iterator[duckdb.DuckDBPyConnection]":
        deadline = time.monotonic() + timeout
        with (
            _engine(self._home.lake, merge) as engine,
            lock(
                self._home.locks / "lake.lock",
                exclusive,
                timeout,
                what=what,
                name="the lake",
                turnstile=self._home.locks / "lake.turn",
                holders_in=self._home.locks / "holders",
            ),
        ):
            if exclusive:
                _create_if_missing(self._home.lake)
            elif not self._home.lake.exists():
                raise LakeError(f"the lake at {self._home.root} was removed; run `brain import` first")
            with engine.attached(exclusive, deadline) as con:
                yield con


class Pace:
    """How many rows to write per lease, so that a lease takes about `target` seconds on this machine.

    Ask `rows` before each lease and tell `took` after it. Changes by at most a factor of two at a time, since
    one slow lease (a checkpoint, a busy disk) says little about the next. Never below `least`: what a lease costs
    whatever its size would be paid too often, and everyone wait longer for it.
    """

    def __init__(
        self, rows: int = 50_000, target: float = 0.2, least: int = 20_000, most: int = 500_000
    ) -> None:
        self.rows = rows
        self._target, self._least, self._most = target, least, most

    def took(self, rows: int, seconds: float) -> None:
        """Take note that a lease of `rows` rows was held for `seconds`."""
        if rows < 1 or (rows < self.rows and seconds < self._target):
            return  # a short last part says nothing about larger ones
        wanted = rows * self._target / max(seconds, 1e-4)
        bounded = min(max(wanted, self.rows / 2), self.rows * 2)
        self.rows = int(min(max(bounded, self._least), self._most))


class _Engine:
    """A started DuckDB with no database of its own, allowed to touch the lake's files only."""

    def __init__(self, lake: Path, merge: bool) -> None:
        import duckdb

        self._duckdb = duckdb
        self._lake = lake
        self.broken = False
        files = ", ".join(_quoted(f"{lake}{suffix}") for suffix in _LAKE_FILES)
        self._root = duckdb.connect(
            config={
                "threads": min(4, os.cpu_count() or 1),
                "temp_directory": f"{lake}.tmp",
                "max_vacuum_tasks": 1 if merge else 0,  # row groups merged when a lease closes
                "autoinstall_known_extensions": "false",  # never the network
            }
        )
        self._root.execute(
            f"SET allowed_paths=[{files}]; SET enable_external_access=false;"
            "SET GLOBAL TimeZone='UTC'; SET lock_configuration=true"
        )

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._root.close()

    @contextlib.contextmanager
    def attached(self, writable: bool, deadline: float) -> "Iterator[duckdb.DuckDBPyConnection]":
        """The lake attached as `lake` and made the default; detached, with a checkpoint, after the block."""
        duckdb = self._duckdb
        con = self._root.cursor()
        owner = os.getpid()
        try:
            self._attach(con, writable, deadline)
            yield con
        except (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.FatalException) as error:
            self._detach(con, owner)
            raise LakeError(f"the lake could not do it: {first_line(error)}") from error
        except BaseException:
            self._detach(con, owner)
            raise
        if failure := self._detach(con, owner):
            # What was committed is safe in the log; it is the next checkpoint's.
            raise LakeError(f"the lake could not be closed: {first_line(failure)}") from failure

    def _detach(self, con: "duckdb.DuckDBPyConnection", owner: int) -> Exception | None:
        """Roll back, checkpoint and close the file. An engine that cannot is not used again."""
        if os.getpid() != owner:
            return None  # a forked child: file and threads are the parent's
        try:
            con.close()
            self._root.execute("DETACH DATABASE IF EXISTS lake")
        except self._duckdb.Error as error:
            self.broken = True
            return error
        return None

    def _attach(self, con: "duckdb.DuckDBPyConnection", writable: bool, deadline: float) -> None:
        mode = "" if writable else ", READ_ONLY"
        sql = f"ATTACH {_quoted(str(self._lake))} AS lake (TYPE DUCKDB{mode}); USE lake"
        while True:
            try:
                con.execute(sql)
            except self._duckdb.Error as error:
                text = first_line(error)
                # Not by a lease: a program opened the file itself, or a result was left open.
                taken = "Could not set lock" in text or "Unique file handle conflict" in text
                if not taken:
                    raise LakeError(_cannot_open(self._lake, text)) from error
                if time.monotonic() > deadline:
                    raise LakeBusy(f"the lake is open outside of any lease: {text}") from error
                time.sleep(_RETRY_S)
            else:
                if writable:
                    self._keep_private()
                return

    def _keep_private(self) -> None:
        """A log that a killed writer left was made under that process's umask."""
        with contextlib.suppress(OSError):
            Path(f"{self._lake}.wal").chmod(0o600)


_pool: dict[tuple[Path, bool], list[_Engine]] = {}
_pool_mutex = threading.Lock()
_unusable: list[object] = []


@contextlib.contextmanager
def _engine(lake: Path, merge: bool) -> Iterator[_Engine]:
    """A started engine of this process, for one lease at a time."""
    key = (lake.absolute(), merge)
    with _pool_mutex:
        idle = _pool.setdefault(key, [])
        engine = idle.pop() if idle else None
    engine = engine or _Engine(*key)
    owner = os.getpid()
    try:
        yield engine
    finally:
        if os.getpid() == owner:
            with _pool_mutex:
                idle = _pool.setdefault(key, [])
                keep = not engine.broken and len(idle) < _IDLE_ENGINES
                if keep:
                    idle.append(engine)
            if not keep:
                engine.close()
        else:
            _unusable.append(engine)


def _forget_after_fork() -> None:
    """The threads of the parent's engines do not exist in a child, so not even closing them is safe there."""
    global _pool_mutex
    _pool_mutex = threading.Lock()
    _unusable.append(dict(_pool))
    _pool.clear()


if os.name == "posix":
    os.register_at_fork(after_in_child=_forget_after_fork)


def _create_if_missing(lake: Path) -> None:
    """Make an empty private lake in one step: after a kill there is none or a whole one."""
    if lake.exists() and lake.stat().st_size:
        return
    import duckdb

    fresh = lake.with_name(f"{lake.name}.new")
    try:
        fresh.unlink(missing_ok=True)
        duckdb.connect(fresh).close()
        fresh.chmod(0o600)
        Path(f"{lake}.wal").unlink(missing_ok=True)  # of a lake that was removed; it fits no other
        fresh.replace(lake)
    except (OSError, duckdb.Error) as error:
        raise LakeError(f"the lake {lake} cannot be created: {first_line(error)}") from error


def _cannot_open(lake: Path, text: str) -> str:
    if "version number" in text:
        return f"the lake {lake} was written by another version of DuckDB; upgrade brainlake ({text})"
    if "not a valid DuckDB" in text:
        return f"{lake} is not a DuckDB file; move it away, or restore a backup"
    return f"the lake {lake} cannot be opened: {text}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
