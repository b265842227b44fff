"""Locks between processes, and who holds them.

Where the kernel has `flock`, it does the queueing and frees a lock when its holder dies, however it dies. A
lock may have a turnstile: every taker first passes it one at a time, so that a waiting writer holds back
later readers and a stream of readers cannot starve it. Every taker opens its own file description, so
threads exclude each other just as processes do. On Windows the locks are exclusive ones of `filelock`, in
no particular order.

Holders leave a small file beside the lock for as long as they hold it. They keep it locked too, which is
how a file left by a killed process is told from a live one even when the process id has been given out
again.
"""

import _thread
import contextlib
import itertools
import json
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from brain.errors import LakeBusy, LakeError

_HAS_FLOCK = os.name == "posix"
if sys.platform != "win32":
    import fcntl

_COUNTER = itertools.count()
_OPEN: set[int] = set()  # descriptors of locks held or waited for, which a forked child must not keep
# (thread, lock) and whether each holding of it is exclusive: a thread must not come to wait for itself.
_HELD: dict[tuple[int, str], list[bool]] = {}
_EMPTY_GRACE_S = 60.0  # a holder file without content is being written, unless it is older than this


@dataclass(frozen=True, slots=True)
class Holder:
    """One live holder of a lock. `since` is UTC; `command` is program and subcommand, without arguments."""

    pid: int
    command: str
    what: str
    exclusive: bool
    since: datetime

    def __str__(self) -> str:
        who = "this process" if self.pid == os.getpid() else f"pid {self.pid}"
        return f"{who} ({self.command}) for {self.what} since {self.since:%Y-%m-%d %H:%M:%SZ}"


@contextlib.contextmanager
def lock(
    path: Path,
    exclusive: bool = True,
    timeout: float = 10.0,
    *,
    what: str = "work",
    name: str | None = None,
    turnstile: Path | None = None,
    holders_in: Path | None = None,
) -> Iterator[None]:
    """Hold the lock file `path` (created 0600 where missing, with its folder) for the length of the block.

    Waits at most `timeout` seconds; 0 tries once and never waits. Not re-entrant, except that a thread may share a
    lock it shares already, where there is no turnstile to wait at. With `turnstile`, takers are served in the order
    they came; with `holders_in` this holder is listed there under `what`, and an
    error can name it. The file stays when the lock is released: removing it would let two takers lock
    different files.

    Raises LakeBusy when the wait is over, and LakeError when this thread has the lock already or the file
    cannot be used.
    """
    name = name or path.stem
    ticket = (threading.get_ident(), os.path.abspath(path))  # noqa: PTH100  text alone, no look at the disk
    mine = _HELD.get(ticket, [])
    if mine and (exclusive or any(mine) or turnstile):
        raise LakeError(f"{name}: this thread holds it already; end that block before {what!r} begins")
    held = _take(path, exclusive, timeout, turnstile) if _HAS_FLOCK else _take_filelock(path, timeout)
    if held is None:
        raise LakeBusy(_busy(name, what, timeout, holders(holders_in) if holders_in else []))
    _HELD.setdefault(ticket, []).append(exclusive)
    note = _sign(holders_in, exclusive, what) if holders_in else None
    try:
        yield
    finally:
        _HELD[ticket].remove(exclusive)
        if not _HELD[ticket]:
            del _HELD[ticket]
        if note:
            _unsign(*note)
        held.release()


def holders(folder: Path) -> list[Holder]:
    """The live holders listed in `folder`, oldest first. Files of dead ones are removed."""
    found = []
    for path in folder.glob("*.json") if folder.is_dir() else ():
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if _is_signed(path):
                fields = json.loads(path.read_text("utf-8"))
                since = datetime.fromisoformat(fields["since"])
                found.append(
                    Holder(fields["pid"], fields["command"], fields["what"], fields["exclusive"], since)
                )
    return sorted(found, key=lambda holder: holder.since)


def _busy(name: str, what: str, timeout: float, live: list[Holder]) -> str:
    wait = f"{name} is busy: {what} waited {timeout:g} s"
    if not live:
        return f"{wait}; try again"
    # Whoever writes is the reason, if anyone does.
    named = [holder for holder in live if holder.exclusive] or live
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    return f"{wait}; held by {', '.join(map(str, named[:3]))}{more}"


# -- flock -----------------------------------------------------------------------------------------------


class _Held:
    """A lock taken with flock."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def release(self) -> None:
        _close(self.fd)


class _Waiter:
    """Waits in the kernel's queue on behalf of a thread that may give up.

    flock has no timeout, and trying again and again would lose the place in the queue. When given up, this
    thread still gets its turn at some time, and passes it on at once.
    """

    def __init__(self, steps: list[tuple[int, int]], files: list[int]) -> None:
        self.steps, self.files = steps, files
        self.done = threading.Event()
        self.mutex = threading.Lock()
        self.given_up = False
        self.error: OSError | None = None

    def run(self) -> None:
        try:
            for fd, operation in self.steps:
                if self.given_up:
                    break
                fcntl.flock(fd, operation)
        except OSError as error:
            self.error = error
        with self.mutex:
            self.done.set()
            if self.given_up:
                _close(*self.files)

    def wait(self, timeout: float) -> bool:
        """True when all is taken in time. Else, also on Ctrl-C, the files close once their turn is over."""
        try:
            if self.done.wait(timeout):
                if not self.error:
                    return True
                raise self.error
        except BaseException:
            self.give_up()
            raise
        self.give_up()
        return False

    def give_up(self) -> None:
        with self.mutex:
            self.given_up = True
            if self.done.is_set():
                _close(*self.files)


def _take(path: Path, exclusive: bool, timeout: float, turnstile: Path | None) -> _Held | None:
    """The lock, or None when time was too short. Passes the turnstile first and frees it at the end."""
    steps: list[tuple[int, int]] = []
    try:
        if turnstile:
            steps.append((_open(turnstile), fcntl.LOCK_EX))
        steps.append((_open(path), fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH))
    except OSError as error:
        _close(*(fd for fd, _ in steps))
        raise LakeError(f"{path} cannot be opened for locking: {error.strerror or error}") from error
    files = [fd for fd, _ in steps]
    try:
        left = _take_at_once(steps)
        if left:
            if timeout <= 0:
                _close(*files)
                return None
            waiter = _Waiter(left, files)
            # Bare, since it starts soonest: until it runs, whoever comes later may queue before it.
            _thread.start_new_thread(waiter.run, ())
            if not waiter.wait(timeout):
                return None
    except OSError as error:
        _close(*files)
        raise LakeError(f"{path} cannot be locked: {error.strerror or error}") from error
    _close(*files[:-1])
    return _Held(files[-1])


def _take_at_once(steps: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Take the steps one after the other without waiting; returns those not taken."""
    for done, (fd, operation) in enumerate(steps):
        try:
            fcntl.flock(fd, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            return steps[done:]
    return []


def _open(path: Path) -> int:
    """A new description of the lock file; closed on exec, as every descriptor Python opens."""
    flags = os.O_CREAT | os.O_RDWR
    try:
        fd = os.open(path, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(path, flags, 0o600)
    _OPEN.add(fd)
    return fd


def _close(*files: int) -> None:
    """Unlock and close. A fork shares the lock itself, so closing alone would leave it with a child."""
    for fd in files:
        if fd in _OPEN:  # not in a forked child, which has closed its copies
            _OPEN.discard(fd)
            with contextlib.suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)


def _forget_after_fork() -> None:
    """A forked child holds nothing: the locks are its parent's."""
    for fd in _OPEN:
        with contextlib.suppress(OSError):
            os.close(fd)
    _OPEN.clear()
    _HELD.clear()


if _HAS_FLOCK:
    os.register_at_fork(after_in_child=_forget_after_fork)


# -- where flock is missing ------------------------------------------------------------------------------


class _HeldFileLock:
    """A lock taken with `filelock`: always exclusive."""

    def __init__(self, inner: object) -> None:
        self.inner = inner

    def release(self) -> None:
        self.inner.release()  # type: ignore[attr-defined]


def _take_filelock(path: Path, timeout: float) -> _HeldFileLock | None:
    from filelock import FileLock, Timeout

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    inner = FileLock(path, timeout=max(timeout, 0.0), mode=0o600, poll_interval=0.01)
    try:
        inner.acquire()
    except Timeout:
        return None
    except OSError as error:
        raise LakeError(f"{path} cannot be locked: {error.strerror or error}") from error
    return _HeldFileLock(inner)


# -- who holds it ----------------------------------------------------------------------------------------


def _sign(folder: Path, exclusive: bool, what: str) -> tuple[Path, int] | None:
    """Leave a file that names this holder. Never in the way of the work: on any failure there is no file."""
    path = folder / f"{os.getpid()}-{next(_COUNTER)}-{time.monotonic_ns():x}.json"
    fields = {
        "pid": os.getpid(),
        "command": _command(),
        "what": what,
        "exclusive": exclusive,
        "since": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
    try:
        try:
            fd = os.open(path, flags, 0o600)
        except FileNotFoundError:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(path, flags, 0o600)
    except OSError:
        return None
    _OPEN.add(fd)
    with contextlib.suppress(OSError):
        if _HAS_FLOCK:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(fd, json.dumps(fields).encode())  # only now, so that a file with content was locked first
    return path, fd


def _unsign(path: Path, fd: int) -> None:
    if fd not in _OPEN:
        return
    if _HAS_FLOCK:
        path.unlink(missing_ok=True)
        _close(fd)
        return
    _OPEN.discard(fd)
    os.close(fd)
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _is_signed(path: Path) -> bool:
    """Whether the writer of this holder file still lives; removes the file if not."""
    facts = path.stat()
    if not facts.st_size and time.time() - facts.st_mtime < _EMPTY_GRACE_S:
        return False
    if not _HAS_FLOCK:
        try:
            path.unlink()  # Windows refuses this while the writer has it open
        except PermissionError:
            return True
        return False
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    path.unlink(missing_ok=True)
    return False


def _command() -> str:
    """Program and subcommand such as `brain import`: arguments may hold what a person searched for."""
    program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    words = itertools.takewhile(lambda word: re.fullmatch(r"[a-z][a-z-]{1,20}", word), sys.argv[1:2])
    return " ".join([program, *words])
