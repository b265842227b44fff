"""Safari's History.db, built here from the statements by which its schemas 1 to 16 create it (macOS 10.10 to 26)."""

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bookmark_files import DAMAGES, Damage, damaged
from history_files import CELLS, FUZZ, Row, database, read, takes_anything
from hypothesis import example, given
from hypothesis import strategies as st

from brain import importers
from brain.errors import SourceError
from brain.importers import safari
from brain.importers._rows import from_seconds
from brain.models import EARLIEST_US, LATEST_US, Batch
from brain.services.import_files import ImportOptions, import_files
from brain.workspace import Workspace

ITEMS = """
CREATE TABLE history_items (id INTEGER PRIMARY KEY AUTOINCREMENT,url TEXT NOT NULL UNIQUE,domain_expansion TEXT NULL,
    visit_count INTEGER NOT NULL,daily_visit_counts BLOB NOT NULL DEFAULT x'',weekly_visit_counts BLOB NULL,
    autocomplete_triggers BLOB NULL);
"""
# Schema 1: without `origin`, `generation`, `attributes` and `score`.
FIRST_VISITS = """
CREATE TABLE history_visits (id INTEGER PRIMARY KEY AUTOINCREMENT,history_item INTEGER NOT NULL REFERENCES
    history_items(id) ON DELETE CASCADE,visit_time REAL NOT NULL,title TEXT NULL,load_successful BOOLEAN NOT NULL
    DEFAULT 1,http_non_get BOOLEAN NOT NULL DEFAULT 0,synthesized BOOLEAN NOT NULL DEFAULT 0,redirect_source INTEGER
    NULL UNIQUE REFERENCES history_visits(id) ON DELETE CASCADE,redirect_destination INTEGER NULL UNIQUE REFERENCES
    history_visits(id) ON DELETE CASCADE);
"""
TOMBSTONES = """
CREATE TABLE history_tombstones (id INTEGER PRIMARY KEY AUTOINCREMENT,start_time REAL NOT NULL,end_time REAL NOT NULL,
    url TEXT,generation INTEGER NOT NULL DEFAULT 0);
"""
# What the schema of that number added to the one before.
STEPS = {
    1: ITEMS + FIRST_VISITS,
    2: "ALTER TABLE history_visits ADD COLUMN origin INTEGER NOT NULL DEFAULT 0;",
    3: "ALTER TABLE history_visits ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;",
    4: TOMBSTONES,
    5: "ALTER TABLE history_items ADD COLUMN should_recompute_derived_visit_counts INTEGER NOT NULL DEFAULT 0;",
    9: "ALTER TABLE history_items ADD COLUMN visit_count_score INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE history_visits ADD COLUMN attributes INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE history_visits ADD COLUMN score INTEGER NOT NULL DEFAULT 100;",
    10: "ALTER TABLE history_visits ADD COLUMN core_spotlight_id TEXT NULL;",
    16: "ALTER TABLE history_items ADD COLUMN status_code INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE history_tombstones ADD COLUMN udid TEXT;"
    "ALTER TABLE history_tombstones ADD COLUMN attributes INTEGER NOT NULL DEFAULT 0;",
}


def schema(version: int) -> str:
    steps = "".join(step for number, step in STEPS.items() if number <= version)
    return steps + f"PRAGMA user_version = {version};"


def visit(item: int, time: object, title: object = None, **known: object) -> Row:
    return {"history_item": item, "visit_time": time, "title": title, **known}


def stone(start: object, end: object, url: object = None) -> Row:
    return {"start_time": start, "end_time": end, "url": url}


ADDRESSES = ("https://a.example/", "https://b.example/x?y#z", "https://c.example/", "https://never.example/")


def a_safari(path: Path) -> Path:
    visits = [
        visit(1, 700000000.123457, "A"),
        visit(2, 700000010.5, redirect_destination=3),  # leads on to the next
        visit(3, 700000010.5, "C", redirect_source=2),
        visit(1, 700000020, "", load_successful=0),
        visit(1, 700000030.25, "A too", http_non_get=1, synthesized=1, origin=1),  # a form, on another device
    ]
    stones = [stone(-63114076800.0, 600000000.0), stone(700000040.0, 700000050.0, "https://gone.example/")]
    items = [{"url": url, "visit_count": 1} for url in ADDRESSES]
    return database(path, schema(16), history_items=items, history_visits=visits, history_tombstones=stones)


def test_every_visit_is_read_exactly(tmp_path: Path) -> None:
    path = a_safari(tmp_path / "x")
    assert importers.pick(path) is safari
    urls, visits, rejects = read(path, safari)
    assert [(u["url"], u["visit_count"]) for u in urls] == [(url, 1) for url in ADDRESSES]
    assert [(v["url"], v["visited_us"], v["title"]) for v in visits] == [
        ("https://a.example/", 1_678_307_200_123_457, "A"),
        ("https://b.example/x?y#z", 1_678_307_210_500_000, None),
        ("https://c.example/", 1_678_307_210_500_000, "C"),
        ("https://a.example/", 1_678_307_220_000_000, None),
        ("https://a.example/", 1_678_307_230_250_000, "A too"),
    ]
    assert [v["is_visible"] for v in visits] == [True, False, True, False, True]
    assert [v["is_hop"] for v in visits] == [False, True, False, False, False]
    assert [v["navigation"] for v in visits] == ["other", "other", "redirect", "other", "form"]
    assert [v["origin"] for v in visits] == ["local", "local", "local", "local", "synced"]
    assert [v["from_native_id"] for v in visits] == [None, None, 2, None, None]
    assert rejects == []


@pytest.mark.parametrize("version", [*STEPS])
def test_every_schema_gives_the_same_but_for_what_it_lacks(tmp_path: Path, version: int) -> None:
    path = database(
        tmp_path / "x",
        schema(version),
        history_items=[{"url": "https://a.example/", "visit_count": 1}],
        history_visits=[visit(1, 500000000.75, "T")],
    )
    assert importers.pick(path) is safari
    _, (only,), rejects = read(path, safari)
    assert (only["visited_us"], only["title"], only["is_visible"]) == (1_478_307_200_750_000, "T", True)
    assert only["origin"] == ("local" if version >= 2 else None)
    assert safari.tombstones(path) == rejects == []


def test_visits_still_in_the_log_are_read(tmp_path: Path) -> None:
    """Safari writes ahead: most of what is new stands beside the file, not in it."""
    path = a_safari(tmp_path / "History.db")
    con = sqlite3.connect(path)
    con.execute("PRAGMA journal_mode = WAL")
    con.execute("PRAGMA wal_autocheckpoint = 0")
    con.execute("INSERT INTO history_visits (history_item, visit_time) VALUES (4, 700000060)")
    con.commit()
    copy = tmp_path / "copy"
    for end in ("", "-wal"):
        (tmp_path / f"copy{end}").write_bytes((tmp_path / f"History.db{end}").read_bytes())
    con.close()
    assert read(copy, safari)[1][-1]["url"] == "https://never.example/"


def test_deletions_are_told_with_their_bounds(tmp_path: Path) -> None:
    assert safari.tombstones(a_safari(tmp_path / "x")) == [
        (EARLIEST_US, 1_578_307_200_000_000, None),
        (1_678_307_240_000_000, 1_678_307_250_000_000, "https://gone.example/"),
    ]
    assert safari.tombstones(tmp_path / "none") == []


def test_a_deletion_of_a_page_that_is_encrypted_is_no_deletion_of_all_pages(tmp_path: Path) -> None:
    """Since schema 8 the URL is a property list of ciphertext; NULL alone stands for every page."""
    stones = [stone(1.0, 7e8, b"bplist00\xd1\x01\x02"), stone(1.0, 7e8, b""), stone(7e8, 7e8 + 1)]
    path = database(tmp_path / "x", schema(16), history_tombstones=stones)
    assert safari.tombstones(path) == [(1_678_307_200_000_000, 1_678_307_201_000_000, None)]


def test_one_bad_deletion_does_not_hide_the_others(tmp_path: Path) -> None:
    loose = "CREATE TABLE history_tombstones (start_time, end_time, url);"
    bad = [stone("soon", 1.0), stone(1.0, None), stone(float("-inf"), 1.0), stone(b"\xff", 1.0)]
    path = database(tmp_path / "x", loose, history_tombstones=[*bad, stone(7e8, 1e300, "https://a.example/")])
    with closing(sqlite3.connect(path)) as con:
        con.execute("INSERT INTO history_tombstones VALUES (7e8, 7e8, CAST(x'68ff' AS TEXT))")
        con.commit()
    assert safari.tombstones(path) == [
        (1_678_307_200_000_000, LATEST_US, "https://a.example/"),
        (1_678_307_200_000_000, 1_678_307_200_000_000, "h\ufffd"),
    ]


@pytest.mark.parametrize("bad", [float("inf"), -1e300, "soon", "1_000", b"\x00", 1e15, 2**62, -9e8, 3.2e9])
def test_an_absurd_time_is_rejected_and_the_rest_is_taken(tmp_path: Path, bad: object) -> None:
    path = a_safari(tmp_path / "x")
    with closing(sqlite3.connect(path)) as con:
        con.execute("UPDATE history_visits SET visit_time = ? WHERE id = 2", [bad])
        con.commit()
    _, visits, rejects = read(path, safari)
    assert [v["native_id"] for v in visits] == [1, 3, 4, 5]
    assert [where for where, _ in rejects] == ["history_visits.id=2"]


def test_a_visit_of_no_known_url_is_rejected(tmp_path: Path) -> None:
    path = database(tmp_path / "x", schema(16), history_visits=[visit(77, 7e8)])
    assert read(path, safari)[2] == [("history_visits.id=1", "its URL 77 is not in the file")]


@given(st.floats(min_value=-3.4e8, max_value=3.1e9))
@example(0.0000005)
@example(-0.0000005)
@example(0.9999999)
def test_the_instant_is_the_nearest_microsecond_of_the_double(seconds: float) -> None:
    (us,), (good,) = from_seconds(pa.array([seconds]), -safari.EPOCH_2001_US)
    exact = Fraction(seconds) * 1_000_000 + safari.EPOCH_2001_US
    # Half a microsecond, and what multiplying a fraction of a second by a million may round away.
    assert abs(int(us) - exact) <= Fraction(1, 2) + Fraction(1, 2**33)
    assert good


def test_every_microsecond_of_this_century_survives_being_written_as_a_double() -> None:
    us = pa.array(range(978_307_200_000_000, 4_102_444_800_000_000, 7_919_000_000_017))
    seconds = pa.array([(number.as_py() - safari.EPOCH_2001_US) / 1e6 for number in us])
    assert from_seconds(seconds, -safari.EPOCH_2001_US)[0].tolist() == us.to_pylist()


def test_a_hundred_thousand_visits_come_in_large_batches(tmp_path: Path) -> None:
    path = a_safari(tmp_path / "x")
    with closing(sqlite3.connect(path)) as con:
        rows = ((n % 4 + 1, 700000100 + n / 8) for n in range(130_000))
        con.executemany("INSERT INTO history_visits (history_item, visit_time) VALUES (?, ?)", rows)
        con.commit()
    batches = [item for item in safari.read(path) if isinstance(item, Batch)]
    assert [(b.record, b.rows.num_rows) for b in batches] == [
        ("urls", 4),
        ("visits", 122_880),
        ("visits", 7_125),
    ]
    assert batches[2].rows.column("visited_us")[-1].as_py() == 1_678_307_300_000_000 + 129_999 * 125_000


def test_a_file_without_its_tables_is_refused_in_one_line(tmp_path: Path) -> None:
    path = database(tmp_path / "x", "CREATE TABLE history_items (id INTEGER PRIMARY KEY, url TEXT);")
    assert not safari.detect(path)
    with pytest.raises(SourceError, match="no Safari history"):
        list(safari.read(path))


def test_a_second_import_changes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    path = a_safari(tmp_path / "History.db")
    (first,) = import_files(workspace, [path]).imports
    assert (first.source, first.browser, first.seen, first.visible, first.new) == (
        "safari",
        "safari",
        5,
        3,
        5,
    )
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA user_version = 17")  # other bytes, the same rows
    (second,) = import_files(workspace, [path]).imports
    assert (second.seen, second.new) == (5, 0)


def test_what_safari_says_was_deleted_goes_when_asked(workspace: Workspace, tmp_path: Path) -> None:
    path = a_safari(tmp_path / "History.db")
    import_files(workspace, [path])
    with closing(sqlite3.connect(path)) as con:
        # The newest visit is long after the others; two are gone, of one the file tells.
        con.execute("UPDATE history_visits SET visit_time = visit_time + 40000000 WHERE id = 5")
        con.execute("DELETE FROM history_visits WHERE id IN (1, 3)")
        con.execute(
            "INSERT INTO history_tombstones (start_time, end_time, url) VALUES (7e8, 700000001, 'https://a.example/'),"
            " (7e8, 700000030, x'62706c697374')"
        )
        con.commit()
    (outcome,) = import_files(workspace, [path], ImportOptions(honour_deletes=True)).imports
    assert outcome.counts["removed"] == 1
    left = workspace.lake.sql("SELECT title FROM visits WHERE title IS NOT NULL ORDER BY title")
    assert left["title"].to_list() == ["A too", "A too", "C"]


@FUZZ
@given(DAMAGES)
def test_damage_gives_records_rejects_or_one_line(tmp_path: Path, damage: Damage) -> None:
    path = a_safari(tmp_path / "x")
    path.write_bytes(damaged(path.read_bytes(), damage))
    assert all(EARLIEST_US <= us <= LATEST_US for one in safari.tombstones(path) for us in one[:2])
    takes_anything(path, safari)


@FUZZ
@given(st.lists(st.tuples(*[CELLS] * 6), max_size=5))
def test_any_cells_do_no_harm(tmp_path: Path, cells: list[tuple[Any, ...]]) -> None:
    names = ("visit_time", "title", "load_successful", "redirect_destination", "origin")
    path = database(
        tmp_path / "x",
        "CREATE TABLE history_items (id INTEGER PRIMARY KEY, url, visit_count);"
        f"CREATE TABLE history_visits (id INTEGER PRIMARY KEY, history_item, {', '.join(names)});"
        "CREATE TABLE history_tombstones (start_time, end_time, url);",
        history_items=[{"url": row[1], "visit_count": row[0]} for row in cells],
        history_visits=[{"history_item": 1} | dict(zip(names, row[:5], strict=True)) for row in cells],
        history_tombstones=[stone(row[0], row[1], row[5]) for row in cells],
    )
    assert all(EARLIEST_US <= us <= LATEST_US for one in safari.tombstones(path) for us in one[:2])
    takes_anything(path, safari)
