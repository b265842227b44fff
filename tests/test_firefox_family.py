"""The other Firefoxes and their bookmarks. Mobile and fork files are built here from the tables they create
(application-services' shared schema, Fennec's BrowserProvider, and the columns that each fork has)."""

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import lz4.block
import pytest
from bookmark_files import DAMAGES, Damage, damaged, takes_anything, written
from bookmark_files import read as read_bookmarks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain import importers
from brain.errors import SourceError
from brain.importers import fennec, firefox, firefox_backup, firefox_mobile
from brain.models import EARLIEST_US, LATEST_US, SOURCE_SCHEMAS, Batch
from brain.services.import_files import import_files
from brain.workspace import Workspace

MS = 1_600_000_000_123
MOBILE = """
CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR NOT NULL, title LONGVARCHAR, description TEXT,
    preview_image_url TEXT, visit_count_local INTEGER NOT NULL DEFAULT 0, visit_count_remote INTEGER NOT NULL DEFAULT 0,
    hidden INTEGER DEFAULT 0 NOT NULL, typed INTEGER DEFAULT 0 NOT NULL, frecency INTEGER DEFAULT -1 NOT NULL,
    last_visit_date_local INTEGER NOT NULL DEFAULT 0, last_visit_date_remote INTEGER NOT NULL DEFAULT 0,
    guid TEXT NOT NULL UNIQUE, foreign_count INTEGER DEFAULT 0 NOT NULL, url_hash INTEGER DEFAULT 0 NOT NULL,
    origin_id INTEGER NOT NULL DEFAULT 1, sync_status TINYINT NOT NULL DEFAULT 1);
CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, is_local INTEGER NOT NULL, from_visit INTEGER, place_id INTEGER
    NOT NULL, visit_date INTEGER NOT NULL, visit_type INTEGER NOT NULL, unknown_fields TEXT);
CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, fk INTEGER DEFAULT NULL, type TINYINT NOT NULL, parent INTEGER,
    position INTEGER NOT NULL, title TEXT, dateAdded INTEGER NOT NULL DEFAULT 0,
    lastModified INTEGER NOT NULL DEFAULT 0,
    guid TEXT NOT NULL UNIQUE, syncStatus TINYINT NOT NULL DEFAULT 0, syncChangeCounter INTEGER NOT NULL DEFAULT 1);
CREATE TABLE moz_bookmarks_synced (id INTEGER PRIMARY KEY, guid TEXT NOT NULL UNIQUE);
"""
ROOTS = [
    (1, None, 2, None, "root", "root________"),
    (2, None, 2, 1, "menu", "menu________"),
    (3, None, 2, 1, "toolbar", "toolbar_____"),
    (4, None, 2, 1, "tags", "tags________"),
    (5, None, 2, 1, "unfiled", "unfiled_____"),
]


def bookmarks(con: sqlite3.Connection, unit: int, more: list[tuple[Any, ...]]) -> None:
    for row in [*ROOTS, *more]:
        con.execute(
            "INSERT INTO moz_bookmarks (id, fk, type, parent, title, guid, position, dateAdded, lastModified) "
            "VALUES (?, ?, ?, ?, ?, ?, 0, ?, ?)",
            (*row, MS * unit, (MS + 1_000) * unit),
        )


def a_phone(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as con:
        con.executescript(MOBILE)
        con.executemany(
            "INSERT INTO moz_places (id, url, title, visit_count_local, visit_count_remote, last_visit_date_local,"
            " last_visit_date_remote, guid) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (1, "https://short.example/", "", 1, 0, MS, 0, "a"),
                (2, "https://page.example/", "Page", 1, 2, MS + 1, MS + 9, "b"),
                (3, "https://file.example/x.pdf", None, 1, 0, MS, 0, "c"),
            ],
        )
        con.executemany(
            "INSERT INTO moz_historyvisits (id, is_local, from_visit, place_id, visit_date, visit_type) VALUES (?, ?, ?, ?, ?, ?)",  # noqa: E501
            [
                (1, 1, 0, 1, MS, 5),
                (2, 1, 1, 2, MS + 1, 1),
                (3, 0, None, 2, MS + 9, 2),
                (4, 1, 0, 3, MS + 20, 7),
                (5, 1, 0, 2, 17, 1),
            ],
        )
        bookmarks(con, 1, [(9, 2, 1, 5, "Kept", "kept________")])
        con.commit()
    return path


def read(path: Path, importer: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Visits with their URL, bookmarks, and where the rejects are."""
    known: dict[int, dict[str, Any]] = {}
    rows: dict[str, list[dict[str, Any]]] = {"visits": [], "bookmarks": []}
    rejects = []
    for item in importer.read(path):
        if not isinstance(item, Batch):
            rejects.append(item.where)
            continue
        assert item.rows.schema == SOURCE_SCHEMAS[item.record]
        item.rows.validate(full=True)
        for row in item.rows.to_pylist():
            if item.record == "urls":
                known[row["url_ref"]] = row
            elif item.record == "visits":
                assert EARLIEST_US <= row["visited_us"] < LATEST_US
                rows["visits"].append(row | {"url": known[row["url_ref"]]["url"]})
            else:
                rows["bookmarks"].append(row)
    return rows["visits"], rows["bookmarks"], rejects


def test_a_phones_history_is_in_milliseconds_and_its_hops_are_the_sources(tmp_path: Path) -> None:
    path = a_phone(tmp_path / "x")
    assert importers.pick(path) is firefox_mobile
    visits, kept, rejects = read(path, firefox_mobile)
    assert rejects == ["moz_historyvisits.id=5"]
    assert [
        (v["url"], v["visited_us"], v["is_visible"], v["is_hop"], v["origin"], v["navigation"])
        for v in visits
    ] == [
        ("https://short.example/", 1_600_000_000_123_000, False, True, "local", "redirect"),
        ("https://page.example/", 1_600_000_000_124_000, True, False, "local", "link"),
        ("https://page.example/", 1_600_000_000_132_000, True, False, "synced", "typed"),
        ("https://file.example/x.pdf", 1_600_000_000_143_000, False, False, "local", "download"),
    ]
    (mark,) = kept
    assert (mark["url"], mark["title"], mark["folder"], mark["added_us"]) == (
        "https://page.example/",
        "Kept",
        ["Other bookmarks"],
        1_600_000_000_123_000,
    )
    (urls,) = [
        item for item in firefox_mobile.read(path) if isinstance(item, Batch) and item.record == "urls"
    ]
    assert urls.rows.to_pylist()[1]["visit_count"] == 3
    assert urls.rows.to_pylist()[1]["last_visit_us"] == 1_600_000_000_132_000


def test_fennec_has_microseconds_in_visits_and_names_urls_by_guid(tmp_path: Path) -> None:
    path = tmp_path / "browser.db"
    with closing(sqlite3.connect(path)) as con:
        con.executescript(
            "CREATE TABLE history (_id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT, url TEXT NOT NULL, visits INTEGER, date INTEGER, guid TEXT);"  # noqa: E501
            "CREATE TABLE visits (_id INTEGER PRIMARY KEY AUTOINCREMENT, history_guid TEXT NOT NULL, visit_type TINYINT NOT NULL, date INTEGER NOT NULL, is_local TINYINT NOT NULL);"  # noqa: E501
            "CREATE TABLE bookmarks (_id INTEGER PRIMARY KEY, title TEXT);"
        )
        con.execute("INSERT INTO history VALUES (7, 'T', 'https://a.example/', 1, ?, 'g')", [MS])
        con.executemany(
            "INSERT INTO visits VALUES (?, ?, ?, ?, ?)",
            [(1, "g", 2, MS * 1_000 + 7, 1), (2, "none", 1, MS * 1_000, 0), (3, "g", 1, MS * 1_000, 0)],
        )
        con.commit()
    assert importers.pick(path) is fennec
    visits, _, rejects = read(path, fennec)
    assert [(v["url"], v["visited_us"], v["navigation"], v["origin"]) for v in visits] == [
        ("https://a.example/", 1_600_000_000_123_007, "typed", "local"),
        ("https://a.example/", 1_600_000_000_123_000, "link", "synced"),
    ]
    assert rejects == ["visits.id=2"]


# moz_places and moz_historyvisits as files of forks that stayed at older schemas have them, with the user_version.
_EARLY = """id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, rev_host LONGVARCHAR,
    visit_count INTEGER DEFAULT 0, hidden INTEGER DEFAULT 0 NOT NULL, typed INTEGER DEFAULT 0 NOT NULL, {icon}
    frecency INTEGER DEFAULT -1 NOT NULL, last_visit_date INTEGER, guid TEXT, foreign_count INTEGER DEFAULT 0 NOT NULL,
    url_hash INTEGER DEFAULT 0 NOT NULL{more}"""
_OF_ORIGINS = ", description TEXT, preview_image_url TEXT, origin_id INTEGER REFERENCES moz_origins(id)"
_ORIGINS = "CREATE TABLE moz_origins (id INTEGER PRIMARY KEY, prefix TEXT, host TEXT, frecency INTEGER)"
_META = "CREATE TABLE moz_meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID"
_METADATA = """CREATE TABLE moz_places_metadata (id INTEGER PRIMARY KEY, place_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL DEFAULT 0, total_view_time INTEGER NOT NULL DEFAULT 0)"""
FORKS: dict[str, tuple[int, str, tuple[str, ...]]] = {
    "Pale Moon": (35, _EARLY.format(icon="favicon_id INTEGER,", more=""), ()),
    "Waterfox": (52, _EARLY.format(icon="", more=_OF_ORIGINS), (_ORIGINS, _META)),
    "Firefox 78": (54, _EARLY.format(icon="", more=_OF_ORIGINS), (_ORIGINS, _META)),
    "LibreWolf": (58, _EARLY.format(icon="", more=_OF_ORIGINS), (_ORIGINS, _META, _METADATA)),
}


@pytest.mark.parametrize("fork", FORKS)
def test_forks_with_older_tables_are_read_exactly(tmp_path: Path, fork: str) -> None:
    version, columns, others = FORKS[fork]
    path = tmp_path / "places.sqlite"
    with closing(sqlite3.connect(path)) as con:
        con.execute(f"CREATE TABLE moz_places ({columns})")
        con.execute(
            "CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER,"
            " visit_date INTEGER, visit_type INTEGER, session INTEGER)"
        )
        for table in others:
            con.execute(table)
        con.execute(f"PRAGMA user_version = {version}")
        con.executemany(
            "INSERT INTO moz_places (id, url, title, hidden, last_visit_date) VALUES (?, ?, ?, ?, ?)",
            [
                (1, "https://a.example/", None, 0, MS * 1_000 + 1),
                (2, "http://b.example/", "", 1, None),
                (3, "https://b.example/", "B", 0, 0),
            ],
        )
        con.executemany(
            "INSERT INTO moz_historyvisits VALUES (?, ?, ?, ?, ?, ?)",
            [
                (1, 0, 1, MS * 1_000 + 1, 2, 7),
                (2, 1, 2, MS * 1_000 + 2, 1, 0),
                (3, 2, 3, MS * 1_000 + 3, 5, None),
            ],
        )
        con.commit()
    assert importers.pick(path) is firefox
    visits, kept, rejects = read(path, firefox)
    assert [
        (v["url"], v["visited_us"] - MS * 1_000, v["navigation"], v["is_visible"], v["is_hop"])
        for v in visits
    ] == [
        ("https://a.example/", 1, "typed", True, False),
        ("http://b.example/", 2, "link", False, True),
        ("https://b.example/", 3, "redirect", True, False),
    ]
    assert (kept, rejects) == ([], [])
    (urls,) = [i.rows.to_pylist() for i in firefox.read(path) if isinstance(i, Batch) and i.record == "urls"]
    assert [(u["title"], u["last_visit_us"]) for u in urls] == [
        (None, MS * 1_000 + 1),
        (None, None),
        ("B", None),
    ]


def test_two_tables_of_two_columns_each_are_enough(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with closing(sqlite3.connect(path)) as con:
        con.execute("CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url)")
        con.execute(
            "CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, place_id, visit_date, visit_type)"
        )
        con.execute("INSERT INTO moz_places VALUES (1, 'https://a.example/')")
        con.execute("INSERT INTO moz_historyvisits VALUES (1, 1, ?, 2)", [MS * 1_000 + 1])
        con.commit()
    (visit,), kept, rejects = read(path, firefox)
    assert (visit["visited_us"], visit["is_visible"], visit["from_native_id"]) == (MS * 1_000 + 1, True, None)
    assert (kept, rejects) == ([], [])


DESKTOP = """
CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url, title, hidden, visit_count, last_visit_date);
CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit, place_id, visit_date, visit_type);
CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, type INTEGER, fk INTEGER, parent INTEGER, position INTEGER, title,
    keyword_id INTEGER, folder_type TEXT, dateAdded INTEGER, lastModified INTEGER, guid TEXT);
"""


def a_desktop(path: Path, more: list[tuple[Any, ...]]) -> Path:
    with closing(sqlite3.connect(path)) as con:
        con.executescript(DESKTOP)
        con.executemany(
            "INSERT INTO moz_places (id, url) VALUES (?, ?)",
            [(1, "https://a.example/"), (2, "place:sort=8"), (3, "https://b.example/")],
        )
        bookmarks(con, 1_000, more)
        con.commit()
    return path


MARKS = [
    (10, None, 2, 2, "Recipes / bread", "f1"),
    (11, 1, 1, 10, "A", "m1"),
    (12, 2, 1, 3, "Most visited", "m2"),
    (13, None, 3, 10, None, "s1"),
    (14, None, 2, 4, "rye", "t1"),
    (15, None, 2, 4, "oven", "t2"),
    (16, 1, 1, 14, None, "x1"),
    (17, 1, 1, 15, None, "x2"),
    (18, 3, 1, 5, None, "m3"),
    (19, 99, 1, 5, "gone", "m4"),
]


def test_bookmarks_have_their_folders_and_tags_and_queries_are_none(tmp_path: Path) -> None:
    _, kept, rejects = read(a_desktop(tmp_path / "places.sqlite", MARKS), firefox)
    assert [(m["url"], m["title"], m["folder"], m["tags"], m["native_id"]) for m in kept] == [
        ("https://a.example/", "A", ["Bookmarks menu", "Recipes / bread"], ["oven", "rye"], "m1"),
        ("https://b.example/", None, ["Other bookmarks"], [], "m3"),
    ]
    assert kept[0]["added_us"] == MS * 1_000
    assert kept[0]["modified_us"] == (MS + 1_000) * 1_000
    assert rejects == ["moz_bookmarks.id=19"]


def test_folders_in_a_circle_and_without_parents_do_not_hang(tmp_path: Path) -> None:
    ring = [
        (20, None, 2, 21, "x", "r1"),
        (21, None, 2, 20, "y", "r2"),
        (22, 1, 1, 20, "in a ring", "r3"),
        (23, 3, 1, 777, "lost", "r4"),
    ]
    deep = [(100 + n, None, 2, 99 + n if n else 2, f"d{n}", f"d{n}") for n in range(1_000)]
    _, kept, _ = read(a_desktop(tmp_path / "p", [*ring, *deep, (5_000, 1, 1, 1_099, "deep", "d")]), firefox)
    assert {m["title"] for m in kept} >= {"in a ring", "lost"}


def test_a_profile_brings_history_and_bookmarks_in_one_import(workspace: Workspace, tmp_path: Path) -> None:
    path = a_desktop(tmp_path / "places.sqlite", MARKS)
    with closing(sqlite3.connect(path)) as con:
        con.execute("INSERT INTO moz_historyvisits VALUES (1, 0, 1, ?, 1)", [MS * 1_000])
        con.commit()
    (outcome,) = import_files(workspace, [path]).imports
    assert (outcome.seen, outcome.new, outcome.counts["bookmarks"]) == (1, 1, 2)
    assert workspace.lake.sql("SELECT count(*) FROM bookmarks").item() == 2


TREE = {
    "guid": "root________",
    "title": "",
    "typeCode": 2,
    "root": "placesRoot",
    "children": [
        {
            "guid": "menu________",
            "title": "menu",
            "typeCode": 2,
            "root": "bookmarksMenuFolder",
            "children": [
                {
                    "guid": "a",
                    "title": "A",
                    "typeCode": 1,
                    "uri": "https://a.example/",
                    "dateAdded": MS * 1_000,
                    "tags": "x,y",
                },
                {"guid": "s", "typeCode": 3, "type": "text/x-moz-place-separator"},
                {
                    "guid": "f",
                    "title": "In",
                    "typeCode": 2,
                    "children": [{"guid": "b", "typeCode": 1, "uri": "https://b.example/"}],
                },
                {"guid": "q", "title": "q", "typeCode": 1, "uri": "place:sort=8"},
            ],
        },
        {
            "guid": "tags________",
            "typeCode": 2,
            "root": "tagsFolder",
            "children": [{"guid": "t", "typeCode": 1, "uri": "https://t.example/"}],
        },
    ],
}


def compressed(text: str) -> bytes:
    data = text.encode()
    block: bytes = lz4.block.compress(data, store_size=False)
    return firefox_backup.MAGIC + len(data).to_bytes(4, "little") + block


@pytest.mark.parametrize("form", ["jsonlz4", "json"])
def test_a_backup_is_read_compressed_and_plain(tmp_path: Path, form: str) -> None:
    text = json.dumps(TREE)
    path = written(tmp_path / "x", compressed(text) if form == "jsonlz4" else text)
    assert importers.pick(path) is firefox_backup
    rows, rejects = read_bookmarks(path)
    assert [(r["url"], r["title"], r["folder"], r["tags"], r["added_us"]) for r in rows] == [
        ("https://a.example/", "A", ["Bookmarks menu"], ["x", "y"], MS * 1_000),
        ("https://b.example/", None, ["Bookmarks menu", "In"], [], None),
    ]
    assert rejects == []


@pytest.mark.parametrize("size", [0, 5, 2**31, 2**32 - 1])
def test_a_block_that_lies_about_its_size_is_one_line(tmp_path: Path, size: int) -> None:
    data = compressed(json.dumps(TREE))
    path = written(tmp_path / "x", data[:8] + size.to_bytes(4, "little") + data[12:])
    with pytest.raises(SourceError) as error:
        read_bookmarks(path, firefox_backup)
    assert "\n" not in str(error.value)


FUZZ = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(DAMAGES)
def test_damage_gives_records_rejects_or_one_line(tmp_path: Path, damage: Damage) -> None:
    takes_anything(firefox_backup, tmp_path / "j", damaged(json.dumps(TREE).encode(), damage))
    takes_anything(firefox_backup, tmp_path / "l", damaged(compressed(json.dumps(TREE)), damage))
    for make, importer in ((a_phone, firefox_mobile), (lambda p: a_desktop(p, MARKS), firefox)):
        path = tmp_path / "db"
        path.unlink(missing_ok=True)
        path.write_bytes(damaged(make(path).read_bytes(), damage))
        assert importer.detect(path) in (True, False)
        with suppress(SourceError):
            read(path, importer)


CELL = st.none() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5) | st.binary(max_size=5)


@FUZZ
@given(st.lists(st.tuples(CELL, CELL, CELL, CELL), max_size=6))
def test_any_cells_do_no_harm(tmp_path: Path, cells: list[tuple[Any, ...]]) -> None:
    path = tmp_path / "x"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as con:
        con.executescript(
            DESKTOP.replace(" INTEGER,", ",") + "ALTER TABLE moz_historyvisits ADD COLUMN is_local;"
        )
        with suppress(UnicodeEncodeError):
            for number, (a, b, c, d) in enumerate(cells, 1):
                con.execute("INSERT INTO moz_places (id, url, title) VALUES (?, ?, ?)", (number, a, b))
                con.execute("INSERT INTO moz_historyvisits VALUES (?, ?, 1, ?, ?, ?)", (number, a, b, c, d))
                con.execute(
                    "INSERT INTO moz_bookmarks (id, type, fk, parent, title) VALUES (?, ?, ?, ?, ?)",
                    (number, a, b, c, d),
                )
        con.commit()
    for importer in (firefox, firefox_mobile):
        with suppress(SourceError):
            read(path, importer)
