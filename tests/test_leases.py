import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from brain import locks
from brain.config import Home
from brain.errors import LakeBusy, LakeError
from brain.leases import Leases, Pace
from brain.locks import holders, lock


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "a home's 家").ensure()


@pytest.fixture
def leases(home: Home) -> Leases:
    leases = Leases(home)
    with leases.write() as con:
        con.execute("CREATE TABLE numbers (n BIGINT)")
    return leases


def rows(leases: Leases, sql: str) -> list[tuple]:
    with leases.read() as con:
        return con.execute(sql).fetchall()


def start(home: Home, body: str) -> subprocess.Popen[str]:
    """Another process that has `leases` on the same home; its stdout tells where it stands."""
    code = f"""
import os, signal, sys, threading, time
from pathlib import Path
from brain.config import Home
from brain.leases import Leases
leases = Leases(Home(Path({str(home.root)!r})))
def say(text): os.write(1, f"{{text}}\\n".encode())  # whole lines, also from two processes
def listen(): sys.stdin.readline()
{body}
"""
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )


HOLD = """
with leases.{mode}(what={what!r}) as con:
    say("held")
    listen()
"""


@pytest.fixture
def holding(home: Home):
    """Start processes that hold a lease until the test ends."""
    running: list[subprocess.Popen[str]] = []

    def hold(mode: str, what: str = "import") -> subprocess.Popen[str]:
        process = start(home, HOLD.format(mode=mode, what=what))
        running.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield hold
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_what_a_write_lease_commits_a_read_lease_sees(leases: Leases) -> None:
    with leases.write() as con:
        con.register("part", pa.table({"n": [1, 2, 3]}))
        con.execute("INSERT INTO numbers SELECT n FROM part")
    assert rows(leases, "SELECT sum(n) FROM numbers") == [(6,)]


def test_the_lake_is_private_and_alone_after_a_lease(home: Home, leases: Leases) -> None:
    assert home.lake.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in home.root.iterdir() if p.name.startswith("lake")] == ["lake.duckdb"]
    assert leases.holders() == []
    locked = [path for path in home.locks.rglob("*") if path.is_file()]
    assert sorted(path.name for path in locked) == ["lake.lock", "lake.turn"]
    assert {path.stat().st_mode & 0o777 for path in locked} == {0o600}


def test_a_read_lease_cannot_write(leases: Leases) -> None:
    with leases.read() as con, pytest.raises(duckdb.InvalidInputException, match="read-only"):
        con.execute("INSERT INTO numbers VALUES (1)")


def test_an_open_transaction_is_rolled_back(leases: Leases) -> None:
    with leases.write() as con:
        con.execute("BEGIN; INSERT INTO numbers VALUES (1)")
    with pytest.raises(duckdb.CatalogException), leases.write() as con:
        con.execute("BEGIN; INSERT INTO numbers VALUES (2); FROM missing")
    assert rows(leases, "SELECT count(*) FROM numbers") == [(0,)]


def test_nothing_of_a_lease_is_left_for_the_next(leases: Leases) -> None:
    with leases.write() as con:
        con.register("part", pa.table({"n": [1]}))
        con.execute("CREATE TEMP TABLE scratch AS SELECT 1")
    for name in ("part", "scratch"):
        with leases.write() as con, pytest.raises(duckdb.CatalogException):
            con.execute(f"FROM {name}")


@pytest.mark.parametrize(
    "sql",
    [
        "FROM read_csv('/etc/passwd')",
        "COPY (SELECT 1) TO '/tmp/out.csv'",
        "ATTACH '/tmp/other.duckdb'",
        "SET enable_external_access=true",
        "SET threads=1",
        "SET TimeZone='Europe/Vienna'",
        "INSTALL httpfs",
        "LOAD httpfs",
    ],
)
def test_a_lease_reaches_no_other_file_and_cannot_be_reconfigured(leases: Leases, sql: str) -> None:
    with (
        leases.write() as con,
        pytest.raises(duckdb.Error, match=r"disabled (by|through) configuration|locked"),
    ):
        con.execute(sql)


def test_instants_are_utc_whatever_the_zone_of_the_process(
    home: Home, leases: Leases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    body = """
with leases.read() as con:
    say(con.execute("SELECT current_setting('TimeZone'), to_timestamp(0)::VARCHAR").fetchall()[0])
"""
    assert start(home, body).communicate()[0] == "('UTC', '1970-01-01 00:00:00+00')\n"


def test_many_threads_read_at_the_same_time(leases: Leases) -> None:
    together = threading.Barrier(6, timeout=30)
    seen = []

    def read() -> None:
        with leases.read(timeout=30) as con:
            together.wait()  # passes only when all six hold their leases
            seen.append(con.execute("SELECT count(*) FROM numbers").fetchall())

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [[(0,)]] * 6


def test_threads_lose_no_increment(leases: Leases) -> None:
    with leases.write() as con:
        con.execute("INSERT INTO numbers VALUES (0)")

    def add() -> None:
        for _ in range(10):
            with leases.write(timeout=60) as con:
                (n,) = con.execute("SELECT n FROM numbers").fetchall()[0]
                con.execute("UPDATE numbers SET n = ?", [n + 1])

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows(leases, "FROM numbers") == [(40,)]


def test_processes_lose_no_increment(home: Home, leases: Leases) -> None:
    with leases.write() as con:
        con.execute("INSERT INTO numbers VALUES (0)")
    body = """
for i in range(15):
    with leases.write(timeout=60, bulk=i % 2 == 0) as con:
        con.execute("UPDATE numbers SET n = ?", [con.execute("SELECT n FROM numbers").fetchall()[0][0] + 1])
    with leases.read(timeout=60) as con:
        con.execute("SELECT n FROM numbers").fetchall()
"""
    processes = [start(home, body) for _ in range(4)]
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0] * 4
    assert rows(leases, "FROM numbers") == [(60,)]


def test_a_reader_excludes_writers_and_not_readers(leases: Leases, holding) -> None:
    holding("read", "digest")
    assert rows(leases, "SELECT count(*) FROM numbers") == [(0,)]
    with pytest.raises(LakeBusy, match=r"note waited 0\.2 s; held by pid \d+ \(.*\) for digest"):  # noqa: SIM117
        with leases.write(timeout=0.2, what="note"):
            pass


def test_the_error_names_the_holder(leases: Leases, holding) -> None:
    process = holding("write", "import")
    for timeout in (0, 0.2):
        with pytest.raises(LakeBusy) as caught, leases.read(timeout=timeout, what="stats"):
            pass
        said = rf"the lake is busy: stats waited {timeout} s; held by pid {process.pid} \(-c\) for import since 20"
        assert re.match(said, str(caught.value))
        assert "\n" not in str(caught.value)
    (holder,) = leases.holders()
    assert (holder.pid, holder.what, holder.exclusive) == (process.pid, "import", True)


def test_a_killed_holder_frees_the_lake_and_leaves_no_trace(leases: Leases, holding) -> None:
    process = holding("write")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert rows(leases, "SELECT count(*) FROM numbers") == [(0,)]
    assert leases.holders() == []


def test_a_holder_file_of_a_reused_pid_is_recognised_as_dead(home: Home, leases: Leases) -> None:
    stale = home.locks / "holders" / f"{os.getpid()}-9-9.json"
    stale.write_text(
        f'{{"pid": {os.getpid()}, "command": "x", "what": "x", "exclusive": true, "since": "2026-01-01T00:00:00Z"}}'
    )
    assert leases.holders() == []
    assert not stale.exists()


def test_a_write_committed_before_the_kill_is_there_and_the_rest_is_not(home: Home, leases: Leases) -> None:
    body = """
with leases.write() as con:
    con.execute("INSERT INTO numbers VALUES (1)")
    con.execute("BEGIN; INSERT INTO numbers VALUES (2)")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    process = start(home, body)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert rows(leases, "FROM numbers") == [(1,)]
    with leases.write() as con:
        con.execute("INSERT INTO numbers VALUES (3)")
    assert rows(leases, "FROM numbers ORDER BY n") == [(1,), (3,)]


def test_a_waiter_that_gave_up_passes_its_turn_on(leases: Leases) -> None:
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        with leases.read():
            held.set()
            free.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    for _ in range(3):
        with pytest.raises(LakeBusy), leases.write(timeout=0.05):
            pass
    free.set()
    thread.join()
    with leases.write(timeout=30) as con:
        con.execute("INSERT INTO numbers VALUES (1)")
    assert rows(leases, "FROM numbers") == [(1,)]


def test_a_stream_of_readers_does_not_starve_a_writer(home: Home, leases: Leases) -> None:
    # Two readers that overlap without end: without a turnstile the writer would wait for ever.
    body = """
stop = threading.Event()
def read():
    while not stop.is_set():
        with leases.read(timeout=60): time.sleep(0.05)
threads = [threading.Thread(target=read) for _ in range(4)]
for thread in threads: thread.start()
say("reading"); listen(); stop.set()
for thread in threads: thread.join()
"""
    process = start(home, body)
    assert process.stdout.readline() == "reading\n"
    try:
        for n in range(5):
            with leases.write(timeout=30) as con:
                con.execute("INSERT INTO numbers VALUES (?)", [n])
    finally:
        process.communicate("stop\n")
    assert rows(leases, "SELECT count(*) FROM numbers") == [(5,)]


@pytest.mark.parametrize(("outer", "inner"), [("read", "read"), ("read", "write"), ("write", "read")])
def test_a_nested_lease_is_an_error_at_once_and_the_outer_goes_on(
    leases: Leases, outer: str, inner: str
) -> None:
    with getattr(leases, outer)() as con:
        with pytest.raises(LakeError, match="this thread holds it already"), getattr(leases, inner)():
            pass
        assert con.execute("SELECT count(*) FROM numbers").fetchall() == [(0,)]
    assert rows(leases, "SELECT count(*) FROM numbers") == [(0,)]


def test_a_forked_child_holds_nothing_and_can_lease(home: Home, leases: Leases) -> None:
    body = """
with leases.write() as con:
    child = os.fork()
    if child == 0:
        say(f"child holds {leases.holders()[0].pid == os.getppid()}")
        time.sleep(0.1)
        os._exit(0)
    con.execute("INSERT INTO numbers VALUES (1)")
os.waitpid(child, 0)
with leases.read() as con: con.execute("FROM numbers").fetchall()
child = os.fork()
if child == 0:
    with leases.write() as con: con.execute("INSERT INTO numbers VALUES (2)")
    os._exit(0)
say(os.waitpid(child, 0)[1])
"""
    process = start(home, body)
    assert process.communicate(timeout=60)[0] == "child holds True\n0\n"
    assert rows(leases, "FROM numbers ORDER BY n") == [(1,), (2,)]


def test_a_lock_does_not_outlive_its_holder_in_a_forked_child(home: Home, leases: Leases) -> None:
    body = """
with leases.write():
    if os.fork() == 0:
        say("forked")
        time.sleep(30)
        os._exit(0)
    say("held")
    listen()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    process = start(home, body)
    assert {process.stdout.readline(), process.stdout.readline()} == {"forked\n", "held\n"}
    process.stdin.write("die\n")
    process.stdin.flush()
    process.wait()
    with leases.write(timeout=10) as con:
        con.execute("INSERT INTO numbers VALUES (1)")


def test_a_child_program_inherits_no_lock(leases: Leases, home: Home) -> None:
    with leases.write():
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    try:
        assert rows(leases, "SELECT count(*) FROM numbers") == [(0,)]
    finally:
        child.communicate(b"\n")


def test_reading_where_nothing_was_imported_says_what_to_do(tmp_path: Path) -> None:
    with (
        pytest.raises(LakeError, match=r"no lake at .* yet; run `brain import`"),
        Leases(Home(tmp_path)).read(),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"hello " * 5000, "is not a DuckDB file"),
        (b"SQLite format 3\0" + bytes(9000), "is not a DuckDB file"),
        (None, "cannot be opened"),
    ],
)
@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_file_that_is_no_lake_is_one_line(
    home: Home, leases: Leases, content: bytes | None, said: str, mode: str
) -> None:
    home.lake.write_bytes(content or home.lake.read_bytes()[:8000])
    with pytest.raises(LakeError, match=said) as caught, getattr(leases, mode)():
        pass
    assert "\n" not in str(caught.value)
    assert leases.holders() == []


def test_an_empty_file_becomes_a_lake_when_written(home: Home) -> None:
    home.lake.touch()
    with Leases(home).write() as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS n")
    assert rows(Leases(home), "FROM t") == [(1,)]


def test_a_program_that_opened_the_lake_itself_is_waited_for_and_named(home: Home, leases: Leases) -> None:
    code = f"import duckdb; c = duckdb.connect({str(home.lake)!r}); print('open', flush=True); input()"
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout.readline() == "open\n"
    with pytest.raises(LakeBusy, match=rf"outside of any lease: .*PID {other.pid}"), leases.read(timeout=0.2):
        pass
    threading.Timer(0.2, lambda: other.communicate("\n")).start()
    with leases.read(timeout=30) as con:
        assert con.execute("SELECT count(*) FROM numbers").fetchall() == [(0,)]


def test_a_lock_with_no_wait_is_taken_or_refused(tmp_path: Path) -> None:
    refused = []

    def other() -> None:
        try:
            with lock(tmp_path / "locks" / "inbox.lock", timeout=0, what="drain"):
                pass
        except LakeBusy as error:
            refused.append(str(error))

    with lock(tmp_path / "locks" / "inbox.lock", timeout=0):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    other()
    assert refused == ["inbox is busy: drain waited 0 s; try again"]


def test_a_lock_that_cannot_be_made_is_a_lake_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LakeError, match="cannot be opened for locking"), lock(tmp_path / "file" / "x.lock"):
        pass


def test_without_flock_the_lock_still_excludes_and_is_still_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_HAS_FLOCK", False)
    told = []

    def other() -> None:
        try:
            with lock(tmp_path / "x.lock", timeout=0.1):
                told.append("taken")
        except LakeBusy:
            told.append("busy")

    for _ in range(2):
        with lock(tmp_path / "x.lock", holders_in=tmp_path / "holders"):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
    other()
    assert told == ["busy", "busy", "taken"]
    assert holders(tmp_path / "holders") == []


def test_the_pace_follows_the_time_a_lease_takes() -> None:
    pace = Pace(rows=10_000, target=0.2, least=1_000, most=50_000)
    pace.took(10_000, 0.05)
    assert pace.rows == 20_000  # at most twice as many
    pace.took(20_000, 0.25)
    assert pace.rows == 16_000
    pace.took(300, 0.001)
    assert pace.rows == 16_000  # a short last part tells nothing
    for _ in range(10):
        pace.took(pace.rows, 60.0)
    assert pace.rows == 1_000
    for _ in range(10):
        pace.took(pace.rows, 0.0)
    assert pace.rows == 50_000
