"""The early Firefox for iOS. Its file is built here from the columns of the app's schema."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from bookmark_files import DAMAGES, Damage, damaged
from hypothesis import HealthCheck, given, settings

from brain import importers
from brain.errors import SourceError
from brain.importers import firefox_ios_legacy
from brain.models import Batch

SCHEMA = """
CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT NOT NULL UNIQUE, url TEXT UNIQUE,
    title TEXT NOT NULL, server_modified INTEGER, local_modified INTEGER,
    is_deleted TINYINT NOT NULL, should_upload TINYINT NOT NULL,
    domain_id INTEGER);
CREATE TABLE visits (id INTEGER PRIMARY KEY AUTOINCREMENT, siteID INTEGER NOT NULL, date REAL NOT NULL,
    type INTEGER NOT NULL, is_local TINYINT NOT NULL);
"""
US = 1_600_000_000_123_456


def a_file(path: Path) -> Path:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as con:
        con.executescript(SCHEMA)
        con.execute("INSERT INTO history VALUES (1, 'g1', 'https://a.example/', 'A', NULL, NULL, 0, 1, NULL)")
        con.execute("INSERT INTO history VALUES (2, 'g2', NULL, '', NULL, NULL, 1, 1, NULL)")
        con.executemany(
            "INSERT INTO visits VALUES (?, ?, ?, ?, ?)",
            [(1, 1, float(US), 1, 1), (2, 1, float(US + 10), 2, 0), (3, 1, 5.0, 1, 1)],
        )
        con.commit()
    return path


def test_every_visit_is_read_exactly(tmp_path: Path) -> None:
    path = a_file(tmp_path / "browser.db")
    assert importers.pick(path) is firefox_ios_legacy
    items = list(firefox_ios_legacy.read(path))
    visits = [
        row for i in items if isinstance(i, Batch) and i.record == "visits" for row in i.rows.to_pylist()
    ]
    assert [(v["visited_us"], v["navigation"], v["origin"], v["is_visible"]) for v in visits] == [
        (US, "link", "local", True),
        (US + 10, "typed", "synced", True),
    ]
    assert [i.where for i in items if not isinstance(i, Batch)] == ["visits.id=3"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(DAMAGES)
def test_damage_gives_records_rejects_or_one_line(tmp_path: Path, damage: Damage) -> None:
    path = a_file(tmp_path / "x")
    path.write_bytes(damaged(path.read_bytes(), damage))
    assert firefox_ios_legacy.detect(path) in (True, False)
    with suppress(SourceError):
        list(firefox_ios_legacy.read(path))
