"""Chromium histories of all ages, built here from the tables that `history_database.cc` and its neighbours created."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from brain import importers
from brain.importers import chromium
from brain.models import SOURCE_SCHEMAS, Batch, Rejected
from brain.services.import_files import import_files
from brain.workspace import Workspace

T0 = 13_440_540_964_446_587  # 2026-11-30T19:36:04.446587Z in microseconds since 1601
UNIX = 1_796_067_364_446_587
TYPED_END = -1_476_395_007  # typed, address bar, end of a chain of server redirects, signed as SQLite has it

URLS = """CREATE TABLE urls(id INTEGER PRIMARY KEY{auto},url LONGVARCHAR,title LONGVARCHAR,
    visit_count INTEGER DEFAULT 0 NOT NULL,typed_count INTEGER DEFAULT 0 NOT NULL,last_visit_time INTEGER NOT NULL,
    hidden INTEGER DEFAULT 0 NOT NULL{more});"""
VISITS = """CREATE TABLE visits(id INTEGER PRIMARY KEY{auto},url INTEGER NOT NULL,visit_time INTEGER NOT NULL,from_visit
    INTEGER,transition INTEGER DEFAULT 0 NOT NULL,segment_id INTEGER{more});"""
META = "CREATE TABLE meta(key LONGVARCHAR NOT NULL UNIQUE PRIMARY KEY, value LONGVARCHAR);"
SOURCE = "CREATE TABLE visit_source(id INTEGER PRIMARY KEY,source INTEGER NOT NULL);"
FOREGROUND = """CREATE TABLE context_annotations(visit_id INTEGER PRIMARY KEY,context_annotation_flags INTEGER NOT NULL,
    duration_since_last_visit INTEGER,page_end_reason INTEGER{more});"""
ORIGINATOR = """,incremented_omnibox_typed_score BOOLEAN DEFAULT FALSE NOT NULL,opener_visit INTEGER,
    originator_cache_guid TEXT,originator_visit_id INTEGER,originator_from_visit INTEGER,
    originator_opener_visit INTEGER"""
AUTO = " AUTOINCREMENT"
FAVICON = ",favicon_id INTEGER DEFAULT 0 NOT NULL"
DURATION = ",visit_duration INTEGER DEFAULT 0 NOT NULL"

# By the version that brought the last of these columns.
AGES: dict[str, str] = {
    "2: no meta, no sources": URLS.format(auto="", more=FAVICON)
    + VISITS.format(auto="", more=",is_indexed BOOLEAN"),
    "7: sources": META
    + SOURCE
    + URLS.format(auto="", more=FAVICON)
    + VISITS.format(auto="", more=",is_indexed BOOLEAN"),
    "20: durations": META
    + SOURCE
    + URLS.format(auto="", more=FAVICON)
    + VISITS.format(auto="", more=DURATION),
    "59: no favicons": META
    + SOURCE
    + URLS.format(auto=AUTO, more="")
    + VISITS.format(auto="", more=DURATION),
    "92: contexts": META
    + SOURCE
    + URLS.format(auto=AUTO, more="")
    + VISITS.format(auto="", more=DURATION + ",publicly_routable BOOLEAN DEFAULT FALSE NOT NULL")
    + FOREGROUND.format(more=""),
    "106: originators": META
    + SOURCE
    + URLS.format(auto=AUTO, more="")
    + VISITS.format(auto=AUTO, more=DURATION + ORIGINATOR)
    + FOREGROUND.format(more=",total_foreground_duration INTEGER DEFAULT -1000000"),
}


def make(path: Path, schema: str, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as con:
        con.executescript(schema)
        for statement in statements:
            con.execute(statement)
        con.commit()
    return path


def filled(path: Path, schema: str) -> Path:
    """Three URLs, the last without visits any more; a hop, its target and a visit of a URL that is missing."""
    return make(
        path,
        schema,
        "INSERT INTO urls (id, url, title, visit_count, last_visit_time, hidden) VALUES"
        f" (1, 'https://go.example/', NULL, 1, {T0}, 1), (2, 'https://page.example/', 'Page', 4, {T0}, 0),"
        f" (3, 'https://old.example/', '', 9, {T0 - 10**15}, 0)",
        "INSERT INTO visits (id, url, visit_time, from_visit, transition) VALUES"
        f" (1, 1, {T0}, 0, {0x10000001}), (2, 2, {T0}, 1, {TYPED_END}), (3, 77, {T0}, 0, {0x30000000})",
    )


def read(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Rejected]]:
    found: dict[str, list[dict[str, Any]]] = {"urls": [], "visits": []}
    rejects = []
    for item in importers.pick(path).read(path):
        if isinstance(item, Batch):
            assert item.rows.schema == SOURCE_SCHEMAS[item.record]
            item.rows.validate(full=True)
            found[item.record] += item.rows.to_pylist()
        else:
            rejects.append(item)
    return found["urls"], found["visits"], rejects


@pytest.mark.parametrize("age", AGES)
def test_a_history_of_any_age_says_the_same(age: str, tmp_path: Path) -> None:
    path = filled(tmp_path / "History", AGES[age])
    assert importers.pick(path) is chromium
    urls, visits, rejects = read(path)
    assert [(u["url"], u["title"], u["visit_count"], u["last_visit_us"], u["hidden"]) for u in urls] == [
        ("https://go.example/", None, 1, UNIX, True),
        ("https://page.example/", "Page", 4, UNIX, False),
        ("https://old.example/", None, 9, UNIX - 10**15, False),
    ]
    assert [
        (v["native_id"], v["url_ref"], v["visited_us"], v["from_native_id"], v["transition"], v["origin"])
        for v in visits
    ] == [(1, 1, UNIX, None, 0x10000001, "local"), (2, 2, UNIX, 1, TYPED_END & 0xFFFFFFFF, "local")]
    assert [(v["is_visible"], v["is_hop"], v["duration_us"], v["foreground_us"]) for v in visits] == [
        (False, True, None, None),
        (True, False, None, None),
    ]
    assert [(r.where, r.reason) for r in rejects] == [("visits.id=3", "its URL 77 is not in the file")]


def test_what_later_ages_add_is_taken_where_it_is(tmp_path: Path) -> None:
    path = filled(tmp_path / "History", AGES["106: originators"])
    with closing(sqlite3.connect(path)) as con:
        con.execute("DELETE FROM visits WHERE id = 3")
        con.execute(
            "INSERT INTO visits (id, url, visit_time, from_visit, transition, visit_duration, opener_visit,"
            " originator_cache_guid, originator_visit_id, originator_from_visit) VALUES"
            f" (4, 2, {T0 + 1}, 0, {0x30000000}, 0, 2, 'phone==', 41, 40),"
            f" (5, 2, {T0 + 2}, 0, {0x30000000}, 1500, 0, '', 0, 0)"
        )
        con.execute("INSERT INTO context_annotations VALUES (4, 0, -1, 0, -1000000), (5, 0, -1, 5, 700)")
        con.execute("INSERT INTO visit_source VALUES (4, 0)")
        con.commit()
    _, visits, rejects = read(path)
    assert [
        (
            v["origin"],
            v["origin_device"],
            v["opener_native_id"],
            v["from_native_id"],
            v["duration_us"],
            v["foreground_us"],
        )
        for v in visits[2:]
    ] == [("synced", "phone==", 2, None, None, None), ("local", None, None, None, 1_500, 700)]
    assert rejects == []


def test_a_table_without_the_mark_of_hidden_urls_is_read(tmp_path: Path) -> None:
    schema = "CREATE TABLE urls(id INTEGER PRIMARY KEY,url,title,visit_count,typed_count,last_visit_time);"
    path = make(
        tmp_path / "History",
        schema + VISITS.format(auto="", more=""),
        f"INSERT INTO urls VALUES (1, 'https://a.example/', NULL, NULL, NULL, {T0})",
        f"INSERT INTO visits VALUES (1, 1, {T0}, 0, {0x30000000}, 0)",
    )
    (url,), (visit,), rejects = read(path)
    assert (url["hidden"], url["visit_count"], visit["is_visible"], rejects) == (None, None, True, [])


def test_an_archive_of_expired_visits_adds_to_the_history(workspace: Workspace, tmp_path: Path) -> None:
    """`Archived History`, where Chrome moved what was older than three months, has the same tables."""
    folder = tmp_path / "Default"
    folder.mkdir()
    filled(folder / "History", AGES["20: durations"])
    make(
        folder / "Archived History",
        AGES["20: durations"],
        f"INSERT INTO urls (id, url, title, last_visit_time) VALUES (1, 'https://old.example/', 'Old', {T0 - 10**15})",
        f"INSERT INTO visits (id, url, visit_time, transition) VALUES (1, 1, {T0 - 10**15}, {0x30000000})",
    )
    outcomes = import_files(workspace, [folder]).imports
    assert sorted((outcome.new, outcome.seen) for outcome in outcomes) == [(1, 1), (2, 2)]
    rows = workspace.lake.sql("SELECT url, visited_at FROM visits ORDER BY visited_at").rows()
    assert [url for url, _ in rows] == [
        "https://old.example/",
        *["https://go.example/", "https://page.example/"],
    ]


def test_urls_that_lost_their_visits_are_known_and_never_visits(workspace: Workspace, tmp_path: Path) -> None:
    path = filled(tmp_path / "History", AGES["106: originators"])
    import_files(workspace, [path])
    assert workspace.lake.sql("SELECT count(*) FROM visits WHERE url = 'https://old.example/'").item() == 0
    assert (
        workspace.lake.sql("SELECT count(*) FROM store.urls WHERE url = 'https://old.example/'").item() == 1
    )
