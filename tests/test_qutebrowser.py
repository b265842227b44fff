"""qutebrowser's history.sqlite, built here from the statements by which qutebrowser 3 creates it (user_version 4)."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from bookmark_files import DAMAGES, Damage, damaged
from history_files import CELLS, FUZZ, Row, database, read, takes_anything
from hypothesis import given
from hypothesis import strategies as st

from brain import importers
from brain.errors import SourceError
from brain.importers import qutebrowser
from brain.models import Batch
from brain.services.import_files import import_files
from brain.workspace import Workspace

TABLES = """
CREATE TABLE CompletionHistory (url PRIMARY KEY, title NOT NULL, last_atime NOT NULL);
CREATE TABLE CompletionMetaInfo (key PRIMARY KEY, value );
CREATE TABLE History (url NOT NULL, title NOT NULL, atime NOT NULL, redirect NOT NULL);
CREATE INDEX CompletionHistoryAtimeIndex ON CompletionHistory (last_atime);
CREATE INDEX HistoryIndex ON History (url);
CREATE INDEX HistoryAtimeIndex ON History (atime);
PRAGMA user_version = 4;
"""
# Before 1.0: one table without constraints, times with fractions, nothing for completion.
FIRST_TABLES = "CREATE TABLE History (url , title , atime , redirect );"


def visit(url: str, title: object, atime: object, redirect: object = 0) -> Row:
    return {"url": url, "title": title, "atime": atime, "redirect": redirect}


def completion(url: str, title: str, last_atime: object) -> Row:
    return {"url": url, "title": title, "last_atime": last_atime}


HISTORY = [
    visit("https://short.example/1", "Page A", 1_600_000_000, 1),
    visit("https://a.example/", "Page A", 1_600_000_000),
    visit("https://a.example/#b", "Page A", 1_600_000_002),
    visit("https://a.example/#c", "", 1_600_000_002),
    visit("https://a.example/", "Page A", 1_700_000_000),
]


def a_history(path: Path) -> Path:
    known = [
        completion("https://a.example/", "Page A", 1_700_000_000),
        completion("https://gone.example/", "Gone", 1_500_000_000),
    ]
    return database(path, TABLES, History=HISTORY, CompletionHistory=known)


def test_every_visit_is_read_exactly(tmp_path: Path) -> None:
    path = a_history(tmp_path / "x")
    assert importers.pick(path) is qutebrowser
    urls, visits, rejects = read(path, qutebrowser)
    assert [(v["native_id"], v["url"], v["visited_us"], v["title"]) for v in visits] == [
        (1, "https://short.example/1", 1_600_000_000_000_000, None),
        (2, "https://a.example/", 1_600_000_000_000_000, "Page A"),
        (3, "https://a.example/#b", 1_600_000_002_000_000, "Page A"),
        (4, "https://a.example/#c", 1_600_000_002_000_000, None),
        (5, "https://a.example/", 1_700_000_000_000_000, "Page A"),
    ]
    assert [v["is_hop"] for v in visits] == [True, False, False, False, False]
    assert [v["is_visible"] for v in visits] == [False, True, True, True, True]
    assert {(v["navigation"], v["origin"], v["from_native_id"]) for v in visits} == {("other", "local", None)}
    assert rejects == []
    assert len(urls) == 6


def test_a_url_without_visits_is_known_with_its_last_visit_and_title(tmp_path: Path) -> None:
    last = read(a_history(tmp_path / "x"), qutebrowser)[0][-1]
    assert (last["url"], last["title"], last["last_visit_us"]) == (
        "https://gone.example/",
        "Gone",
        1_500_000_000_000_000,
    )


@pytest.mark.parametrize(
    ("encoded", "shown"),
    [
        ("https://a.example/gr%C3%BC%C3%9Fe", "https://a.example/grüße"),
        ("https://a.example/a%20b?q=100%25", "https://a.example/a b?q=100%25"),
        ("https://xn--mnchen-3ya.example/x", "https://münchen.example/x"),
        ("https://xn--mnchen-3ya.example:8080/%E2%82%AC#%C3%A4", "https://münchen.example:8080/€#ä"),
    ],
)
def test_the_form_a_visited_url_is_shown_in_is_no_second_url(
    tmp_path: Path, encoded: str, shown: str
) -> None:
    path = database(
        tmp_path / "x",
        TABLES,
        History=[visit(encoded, "T", 1_600_000_000)],
        CompletionHistory=[
            completion(shown, "T", 1_600_000_000),
            completion(shown + "2", "U", 1_600_000_000),
        ],
    )
    assert [url["url"] for url in read(path, qutebrowser)[0]] == [encoded, shown + "2"]


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="%/?#"), max_size=8))
def test_encoding_does_not_change_what_is_shown(text: str) -> None:
    assert qutebrowser._shown("https://a.example/" + quote(text)) == "https://a.example/" + text


def test_the_first_version_kept_fractions_of_seconds_and_nothing_for_completion(tmp_path: Path) -> None:
    rows = [
        visit("https://a.example/", "A", 1_493_000_000.123456),
        visit("https://a.example/", "A", 1_493_000_001),
        visit("https://b.example/", None, 1_493_000_002.5, None),
    ]
    _, visits, rejects = read(database(tmp_path / "x", FIRST_TABLES, History=rows), qutebrowser)
    assert [v["visited_us"] for v in visits] == [
        1_493_000_000_123_456,
        1_493_000_001_000_000,
        1_493_000_002_500_000,
    ]
    assert [v["is_visible"] for v in visits] == [True, True, True]
    assert rejects == []


@pytest.mark.parametrize(
    "bad", [12, -1, 2**62, 4_102_444_800, 1e300, float("inf"), "never", b"\xff", "1_000"]
)
def test_an_absurd_time_is_rejected_and_the_rest_is_taken(tmp_path: Path, bad: object) -> None:
    rows = [HISTORY[1], visit("https://bad.example/", "B", bad), HISTORY[2]]
    path = database(
        tmp_path / "x",
        TABLES,
        History=rows,
        CompletionHistory=[completion("https://bad.example/", "B", bad)],
    )
    urls, visits, rejects = read(path, qutebrowser)
    assert [v["native_id"] for v in visits] == [1, 3]
    assert "History.rowid=2" in [where for where, _ in rejects]
    assert (urls[-1]["url"], urls[-1]["last_visit_us"]) == ("https://bad.example/", None)


def test_a_hundred_thousand_visits_come_in_large_batches(tmp_path: Path) -> None:
    path = database(tmp_path / "x", TABLES)
    with closing(sqlite3.connect(path)) as con:
        rows = ((f"https://a.example/{n}", f"T{n}", 1_600_000_000 + n) for n in range(130_000))
        con.executemany("INSERT INTO History VALUES (?, ?, ?, 0)", rows)
        con.execute("INSERT INTO CompletionHistory SELECT url, title, atime FROM History")
        con.execute("INSERT INTO CompletionHistory VALUES ('https://b.example/', 'B', 1600000000)")
        con.commit()
    batches = [item for item in qutebrowser.read(path) if isinstance(item, Batch)]
    assert [(b.record, b.rows.num_rows) for b in batches] == [
        ("urls", 122_880),
        ("visits", 122_880),
        ("urls", 7_120),
        ("visits", 7_120),
        ("urls", 1),
    ]
    last = batches[3].rows.slice(7_119).to_pylist()[0]
    assert (last["visited_us"], last["title"]) == (1_600_129_999_000_000, "T129999")


def test_a_file_without_its_tables_is_refused_in_one_line(tmp_path: Path) -> None:
    path = database(tmp_path / "x", "CREATE TABLE history (day, text);")
    assert not qutebrowser.detect(path)
    with pytest.raises(SourceError, match="no qutebrowser history"):
        list(qutebrowser.read(path))


def test_a_second_import_changes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    a_history(tmp_path / "history.sqlite")
    (first,) = import_files(workspace, [tmp_path]).imports
    assert (first.source, first.browser, first.seen, first.visible, first.new) == (
        "import",
        "qutebrowser",
        5,
        4,
        5,
    )
    with closing(sqlite3.connect(tmp_path / "history.sqlite")) as con:
        con.execute("PRAGMA user_version = 5")  # other bytes, the same rows
    (second,) = import_files(workspace, [tmp_path]).imports
    assert (second.seen, second.new) == (5, 0)


@FUZZ
@given(DAMAGES)
def test_damage_gives_records_rejects_or_one_line(tmp_path: Path, damage: Damage) -> None:
    path = a_history(tmp_path / "x")
    path.write_bytes(damaged(path.read_bytes(), damage))
    takes_anything(path, qutebrowser)


@FUZZ
@given(st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), max_size=5))
def test_any_cells_do_no_harm(tmp_path: Path, cells: list[tuple[Any, ...]]) -> None:
    loose = FIRST_TABLES + "CREATE TABLE CompletionHistory (url, title, last_atime);"
    path = database(
        tmp_path / "x",
        loose,
        History=[dict(zip(("url", "title", "atime", "redirect"), row, strict=True)) for row in cells],
        CompletionHistory=[dict(zip(("url", "title", "last_atime"), row[:3], strict=True)) for row in cells],
    )
    takes_anything(path, qutebrowser)
