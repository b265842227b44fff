"""The doctor: each check can fail, names what mends it, and that does."""

import json
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from histories import Visit, chromium

from brain import config, migrations
from brain.services.doctor import Check, diagnose
from brain.services.drain_inbox import drain, inbox
from brain.services.import_files import import_files
from brain.services.index_documents import index_documents
from brain.workspace import Workspace


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """One page, imported and indexed as far as there is a model; to be copied."""
    folder = tmp_path_factory.mktemp("doctor")
    ws = Workspace(config.load(folder / "home"))
    path = chromium(folder / "History", [Visit("2026-11-01T10:00:00Z", "https://a.example/", "A")])
    import_files(ws, [path])
    index_documents(ws)
    return ws


@pytest.fixture
def lake(made: Workspace, workspace: Workspace) -> Workspace:
    """A copy of that lake, to be harmed."""
    shutil.copytree(made.home.root, workspace.home.root)
    return workspace


def look(ws: Workspace, name: str, fix: bool = False) -> Check:
    (check,) = [c for c in diagnose(ws, fix).checks if c.name == name]
    assert (check.fix is None) or not check.ok
    return check


def execute(ws: Workspace, sql: str, values: list[Any] | None = None) -> None:
    with ws.lake.write() as con:
        con.execute(sql, values)


def gone_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_sound_lake_has_no_fault_but_a_missing_model(lake: Workspace) -> None:
    checks = diagnose(lake).checks
    assert [c.name for c in checks] == [
        *(
            "home",
            "disk",
            "permissions",
            "schema",
            "locks",
            "integrity",
            "key",
            "imports",
            "model",
            "index",
            "inbox",
            "clock",
        )
    ]
    assert {c.name for c in checks if not c.ok} <= {"model", "index", "disk"}


def test_no_lake_is_no_fault(workspace: Workspace) -> None:
    for fix in (False, True):
        assert [c.name for c in diagnose(workspace, fix).checks] == ["home", "disk", "model"]
    assert look(workspace, "home").ok
    assert not workspace.home.root.exists()


@pytest.mark.skipif(os.name != "posix", reason="POSIX modes")
def test_open_permissions_are_found_and_closed(lake: Workspace) -> None:
    lake.home.lake.chmod(0o644)
    lake.home.keys.chmod(0o755)
    check = look(lake, "permissions")
    assert (check.ok, check.fix) == (False, "brain doctor --fix")
    assert look(lake, "permissions", fix=True).ok
    assert lake.home.lake.stat().st_mode & 0o777 == 0o600
    assert lake.home.keys.stat().st_mode & 0o777 == 0o700


def test_an_older_schema_is_found_and_brought_up_to_date(
    lake: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = migrations.LATEST + 1
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, (newer, "more", lambda con: None)))
    monkeypatch.setattr(migrations, "LATEST", newer)
    assert look(lake, "schema").detail == f"schema {newer - 1} of {newer}"
    assert look(Workspace(lake.settings), "schema", fix=True).detail == f"schema {newer}"


def test_a_newer_schema_is_a_fault_told_and_never_raised(lake: Workspace) -> None:
    execute(lake, "INSERT INTO store.migrations VALUES (99, 'future', now())")
    for fix in (False, True):
        check = look(Workspace(lake.settings), "schema", fix)
        assert not check.ok
        assert "newer Brainlake" in check.detail


def test_a_damaged_lake_is_a_fault_told_and_never_raised(lake: Workspace) -> None:
    content = bytearray(lake.home.lake.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    lake.home.lake.write_bytes(content)
    for fix in (False, True):
        diagnosis = diagnose(Workspace(lake.settings), fix)
        assert not diagnosis.ok
        faults = {c.name for c in diagnosis.checks if not c.ok}
        assert faults >= {"schema", "integrity"}
        assert all("\n" not in c.detail for c in diagnosis.checks)


def test_a_lease_held_for_long_is_named(lake: Workspace) -> None:
    note = lake.home.locks / "holders" / "1-0-0.json"
    code = (
        "import fcntl, json, sys, time\n"
        "f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX)\n"
        "f.write(sys.argv[2]); f.flush(); print('held', flush=True); time.sleep(60)"
    )
    since = (datetime.now(UTC) - timedelta(minutes=2)).isoformat()
    fields = {"pid": 4711, "command": "brain import", "what": "import", "exclusive": True, "since": since}
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(note), json.dumps(fields)], stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        check = look(lake, "locks")
        assert not check.ok
        assert "pid 4711 (brain import)" in check.detail
        assert check.fix == "wait for it, or end process 4711"
    finally:
        holder.kill()
        holder.communicate()
    assert look(lake, "locks").ok


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("DELETE FROM store.urls", "1 visits without URL"),
        ("INSERT INTO store.visits FROM store.visits", "1 visits twice"),
        ("INSERT INTO store.urls FROM store.urls", "1 URLs twice"),
        ("DELETE FROM store.visits", "1 observations without visit"),
        ("INSERT INTO store.documents FROM store.documents", "1 documents twice"),
    ],
)
def test_rows_that_do_not_fit_together_are_counted(lake: Workspace, sql: str, says: str) -> None:
    execute(lake, sql)
    check = look(lake, "integrity")
    assert (check.ok, check.detail) == (False, says)
    assert check.fix


def test_an_import_cut_short_is_found_and_mended_by_importing_again(lake: Workspace, made: Workspace) -> None:
    path = str(made.home.root.parent / "History")
    execute(lake, "UPDATE store.imports SET status = 'running', finished_at = NULL, pid = ?", [gone_pid()])
    check = look(lake, "imports")
    assert (check.ok, check.fix) == (False, f'brain import "{path}"')
    assert not look(lake, "imports", fix=True).ok  # marked, but only the file itself can complete it
    assert import_files(lake, [Path(path)]).imports[0].status == "imported"
    assert look(lake, "imports").ok


def test_an_import_that_runs_is_none_cut_short(lake: Workspace) -> None:
    execute(lake, "UPDATE store.imports SET status = 'running', pid = ?", [os.getpid()])
    assert look(lake, "imports", fix=True).ok


def test_copies_left_by_a_killed_import_are_removed(lake: Workspace) -> None:
    left, used = (lake.home.cache / f"import-{pid}-x" for pid in (gone_pid(), os.getpid()))
    for folder in (left, used):
        folder.mkdir()
        (folder / "History").write_bytes(b"private")
    diagnose(lake, fix=True)
    assert (left.exists(), used.exists()) == (False, True)


def test_a_document_missing_from_the_index_is_found_and_indexed(lake: Workspace) -> None:
    execute(lake, "UPDATE store.documents SET state = 'stale'")
    check = look(lake, "index")
    assert (check.ok, check.detail, check.fix) == (False, "1 documents are not in the index", "brain index")
    index_documents(lake)
    assert "not in the index" not in look(lake, "index").detail


def test_a_rebuild_mends_an_index_whose_pointer_is_damaged(lake: Workspace) -> None:
    (lake.home.index / "live.json").write_text("{")
    assert "brain index --rebuild" in look(lake, "index").detail
    index_documents(lake, rebuild=True)
    assert "1 documents" in look(lake, "index").detail


@pytest.mark.parametrize(
    ("key", "said"),
    [(None, "missing"), (b"short", "damaged"), (bytes(32), "not the one this lake was made with")],
)
def test_a_key_that_is_not_the_lakes_is_found(lake: Workspace, key: bytes | None, said: str) -> None:
    path = lake.home.keys / "lake.key"
    assert look(lake, "key").ok
    path.write_bytes(key) if key else path.unlink()
    check = look(Workspace(lake.settings), "key")
    assert not check.ok
    assert said in check.detail
    assert check.fix == "put it back from a backup of this home"


def test_a_missing_model_is_told_with_the_command_that_installs_it(lake: Workspace) -> None:
    ws = Workspace(replace(lake.settings, embedder="/no/such/model"))
    check = look(ws, "model")
    assert not check.ok
    assert check.fix


def test_waiting_events_are_found_and_drained(lake: Workspace) -> None:
    inbox(lake).drop({"kind": "note", "data": {"text": "a"}})
    inbox(lake).drop({"kind": "note", "data": {}})
    check = look(lake, "inbox")
    assert (check.ok, check.detail, check.fix) == (False, "2 events wait to be applied", "brain drain")
    drain(lake)
    assert look(lake, "inbox") == Check("inbox", True, "empty; 1 refused events are kept")


def test_a_clock_behind_the_newest_visit_is_told(lake: Workspace) -> None:
    late = Workspace(replace(lake.settings, fixed_now=datetime(2026, 10, 1, tzinfo=UTC)))
    check = look(late, "clock")
    assert (check.ok, check.detail) == (False, "the newest visit lies ahead: 2026-11-01T10:00:00.000000Z")
    day_before = Workspace(replace(lake.settings, fixed_now=datetime(2026, 10, 31, 10, tzinfo=UTC)))
    assert look(day_before, "clock").ok


def test_a_full_disk_is_told(lake: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(10**12, 10**12, 3_000_000))
    check = look(lake, "disk")
    assert (check.ok, check.detail, check.fix) == (False, "only 3 MB free", "free some disk space")


def test_a_home_that_cannot_be_written_is_told(lake: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    check = look(lake, "home")
    assert (check.ok, check.detail) == (False, f"{lake.home.root} cannot be written")
