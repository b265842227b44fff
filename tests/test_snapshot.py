"""Safe copies: complete, private, stable names, and one clear line for what cannot be copied."""

import hashlib
import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from brain import snapshot
from brain.errors import EmptySource, SourceError

DATA = Path(__file__).parent / "data"


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "copies"
    folder.mkdir(mode=0o700)
    return folder


def place(name: str, folder: Path, new_name: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for suffix in ("", "-wal"):
        source = DATA / f"{name}{suffix}"
        if source.exists():
            (folder / f"{new_name or name}{suffix}").write_bytes(source.read_bytes())
    return folder / (new_name or name)


def visits(path: Path) -> int:
    with sqlite3.connect(path) as con:
        (count,) = con.execute("SELECT count(*) FROM moz_historyvisits").fetchone()
    con.close()
    return int(count)


def test_a_copy_includes_what_is_only_in_the_log(tmp_path: Path, into: Path) -> None:
    source = place("firefox-153-live-places.sqlite", tmp_path, "places.sqlite")
    copy = snapshot.take(source, into)
    assert visits(copy.path) == 21
    assert copy.path.name == "places.sqlite"
    assert copy.bytes == 5_242_880 + 2_393_848
    (tmp_path / "places.sqlite-wal").unlink()
    assert visits(snapshot.take(source, into).path) == 17


def test_the_source_and_its_folder_stay_as_they_were(tmp_path: Path, into: Path) -> None:
    source = place("firefox-153-live-places.sqlite", tmp_path / "profile")
    before = {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in source.parent.iterdir()}
    snapshot.take(source, into)
    assert {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in source.parent.iterdir()} == before


@pytest.mark.parametrize("name", ["Profile #1?x", "100% mine", "日本語 履歴", "a'b\"c"])
def test_any_name_can_be_copied_and_read(name: str, tmp_path: Path, into: Path) -> None:
    source = place("firefox-153-live-places.sqlite", tmp_path / name, name)
    assert visits(snapshot.take(source, into).path) == 21


def test_the_hash_covers_the_log_and_is_stable(tmp_path: Path, into: Path) -> None:
    source = place("firefox-153-live-places.sqlite", tmp_path)
    first = snapshot.take(source, into)
    assert snapshot.take(source, into).sha256 == first.sha256
    log = tmp_path / "firefox-153-live-places.sqlite-wal"
    log.write_bytes(log.read_bytes()[:-1])
    assert snapshot.take(source, into).sha256 != first.sha256


def test_the_hash_does_not_depend_on_the_name_or_the_way_of_copying(tmp_path: Path, into: Path) -> None:
    content = os.urandom(9 * 1024 * 1024)
    for name in ("one.bin", "two.bin"):
        (tmp_path / name).write_bytes(content)
    copies = [snapshot.take(tmp_path / name, into) for name in ("one.bin", "two.bin")]
    pieces = [content[: 8 * 1024 * 1024], content[8 * 1024 * 1024 :]]
    whole = hashlib.sha256(b"".join(hashlib.sha256(piece).digest() for piece in pieces) + b":9437184\n")
    assert [copy.sha256 for copy in copies] == [whole.hexdigest()] * 2
    assert copies[0].path.read_bytes() == content


def test_copies_are_private_and_can_be_removed(tmp_path: Path, into: Path) -> None:
    source = place("firefox-153-live-places.sqlite", tmp_path)
    source.chmod(0o644)
    copy = snapshot.take(source, into)
    assert stat.S_IMODE(copy.path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in copy.path.parent.iterdir()} == {0o600}
    copy.remove()
    assert list(into.iterdir()) == []


def test_two_files_of_one_name_do_not_meet(tmp_path: Path, into: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "History").write_text(f"{number}")
    copies = [snapshot.take(tmp_path / f"{number}" / "History", into) for number in (1, 2)]
    assert [copy.path.read_text() for copy in copies] == ["1", "2"]


def test_shared_memory_files_and_strangers_logs_are_left_behind(tmp_path: Path, into: Path) -> None:
    source = place("firefox-153-live-places.sqlite", tmp_path, "places.sqlite")
    (tmp_path / "places.sqlite-shm").write_bytes(b"\0" * 32768)
    (tmp_path / "export.json").write_text("{}")
    (tmp_path / "export.json-wal").write_text("not a log")
    assert not snapshot.take(source, into).path.with_name("places.sqlite-shm").exists()
    assert snapshot.take(tmp_path / "export.json", into).bytes == 2


def test_a_database_under_an_exclusive_lock_is_copied(tmp_path: Path, into: Path) -> None:
    source = place("chromium-156-History", tmp_path)
    holder = sqlite3.connect(source, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        copy = snapshot.take(source, into)
    finally:
        holder.close()
    with sqlite3.connect(copy.path) as con:
        assert con.execute("SELECT count(*) FROM visits").fetchone() == (24,)
    con.close()


def test_an_unfinished_transaction_is_rolled_back_in_the_copy(tmp_path: Path, into: Path) -> None:
    source = tmp_path / "half.sqlite"
    writer = sqlite3.connect(source, isolation_level=None)
    writer.execute("PRAGMA cache_size = 2")
    writer.execute("CREATE TABLE t(x)")
    writer.execute("INSERT INTO t VALUES ('old')")
    writer.execute("BEGIN")
    writer.executemany("INSERT INTO t VALUES (?)", [("x" * 4000,)] * 200)
    assert (tmp_path / "half.sqlite-journal").stat().st_size > 0
    copy = snapshot.take(source, into)
    writer.execute("ROLLBACK")
    writer.close()
    with sqlite3.connect(copy.path) as con:
        assert con.execute("SELECT * FROM t").fetchall() == [("old",)]
    con.close()


def test_copies_of_a_busy_database_are_each_whole(tmp_path: Path, into: Path) -> None:
    source = tmp_path / "busy.sqlite"
    with sqlite3.connect(source) as con:
        con.execute("CREATE TABLE t(a, b)")
    con.close()
    stop = threading.Event()

    def write() -> None:
        con = sqlite3.connect(source, isolation_level=None)
        number = 0
        while not stop.wait(0.02):
            number += 1
            con.execute("BEGIN")
            con.executemany("INSERT INTO t VALUES (?, ?)", [(number, "x" * 900)] * 10)
            con.execute("COMMIT")
        con.close()

    thread = threading.Thread(target=write)
    thread.start()
    taken = 0
    try:
        for _ in range(8):
            try:
                copy = snapshot.take(source, into)
            except SourceError:
                continue  # it kept changing, which is an honest answer
            taken += 1
            with sqlite3.connect(copy.path) as con:
                assert con.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                assert con.execute("SELECT count(*) % 10 FROM t").fetchone() == (0,)
            con.close()
    finally:
        stop.set()
        thread.join()
    assert taken


def test_a_file_that_never_rests_is_refused(tmp_path: Path, into: Path) -> None:
    source = tmp_path / "log.bin"
    source.write_bytes(bytes(24 * 1024 * 1024))
    stop = threading.Event()

    def write() -> None:
        with source.open("ab", buffering=0) as file:
            while not stop.wait(0.001):
                file.write(b"x")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        with pytest.raises(SourceError, match="kept changing while it was copied"):
            snapshot.take(source, into)
    finally:
        stop.set()
        thread.join()
    assert list(into.iterdir()) == []


def test_a_damaged_database_is_still_handed_over(tmp_path: Path, into: Path) -> None:
    source = place("chromium-156-History", tmp_path)
    content = bytearray(source.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    source.write_bytes(content)
    assert snapshot.take(source, into).path.stat().st_size == 204_800


def test_what_cannot_be_copied_is_said_in_one_line(tmp_path: Path, into: Path) -> None:
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    for name, said in {
        "missing": "does not exist",
        "pipe": "no regular file",
        ".": "is a folder",
    }.items():
        with pytest.raises(SourceError, match=said) as caught:
            snapshot.take(tmp_path / name, into)
        assert "\n" not in str(caught.value)
    with pytest.raises(EmptySource, match="zero bytes"):
        snapshot.take(tmp_path / "empty", into)
    assert list(into.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_named(tmp_path: Path, into: Path) -> None:
    source = place("chromium-156-History", tmp_path)
    source.chmod(0)
    with pytest.raises(SourceError, match="may not be read: permission denied"):
        snapshot.take(source, into)


def test_safari_without_permission_names_full_disk_access() -> None:
    path = Path("/Users/me/Library/Safari/History.db")
    denied = PermissionError(1, "Operation not permitted")
    assert "Full Disk Access" in snapshot._unreadable(path, denied, "darwin")
    assert "Full Disk Access" not in snapshot._unreadable(Path("/home/me/History"), denied, "darwin")
