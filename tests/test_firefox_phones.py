"""Firefox on phones. The files are built here from the tables that application-services (`create_shared_schema.sql`),
Fennec's BrowserDatabaseHelper and Firefox for iOS' BrowserSchema create."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain import importers
from brain.errors import SourceError
from brain.importers import fennec, firefox_ios_legacy, firefox_mobile
from brain.models import SOURCE_SCHEMAS, Batch, Rejected
from brain.services.import_files import import_files
from brain.workspace import Workspace

MS = 1_600_000_000_123

PLACES = """
CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR NOT NULL, title LONGVARCHAR,
    visit_count_local INTEGER NOT NULL DEFAULT 0, visit_count_remote INTEGER NOT NULL DEFAULT 0,
    hidden INTEGER DEFAULT 0 NOT NULL, typed INTEGER DEFAULT 0 NOT NULL, frecency INTEGER DEFAULT -1 NOT NULL,
    last_visit_date_local INTEGER NOT NULL DEFAULT 0, last_visit_date_remote INTEGER NOT NULL DEFAULT 0,
    guid TEXT, foreign_count INTEGER DEFAULT 0 NOT NULL, url_hash INTEGER DEFAULT 0 NOT NULL, description TEXT,
    preview_image_url TEXT, origin_id INTEGER, sync_status TINYINT NOT NULL DEFAULT 1,
    sync_change_counter INTEGER NOT NULL DEFAULT 0);
CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, is_local INTEGER NOT NULL, from_visit INTEGER,
    place_id INTEGER NOT NULL, visit_date INTEGER NOT NULL, visit_type INTEGER NOT NULL);
CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, fk INTEGER DEFAULT NULL, type INTEGER NOT NULL, parent INTEGER,
    position INTEGER NOT NULL DEFAULT 0, title TEXT, dateAdded INTEGER NOT NULL DEFAULT 0,
    lastModified INTEGER NOT NULL DEFAULT 0, guid TEXT NOT NULL UNIQUE);
CREATE TABLE moz_tags (id INTEGER PRIMARY KEY, tag TEXT UNIQUE NOT NULL, lastModified INTEGER NOT NULL);
CREATE TABLE moz_tags_relation (tag_id INTEGER NOT NULL, place_id INTEGER NOT NULL, PRIMARY KEY (tag_id, place_id))
    WITHOUT ROWID;
CREATE TABLE moz_bookmarks_synced (id INTEGER PRIMARY KEY, guid TEXT UNIQUE NOT NULL);
CREATE TABLE moz_places_metadata (id INTEGER PRIMARY KEY, guid TEXT, created_at INTEGER NOT NULL DEFAULT 0,
    updated_at INTEGER NOT NULL DEFAULT 0, place_id INTEGER NOT NULL, total_view_time INTEGER NOT NULL DEFAULT 0);
INSERT INTO moz_places (id, url) VALUES (1, 'https://one.example/'), (2, 'https://two.example/');
INSERT INTO moz_places (id, url, hidden) VALUES (3, 'https://go.example/', 1);
"""
FENNEC = """
CREATE TABLE history (_id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT, url TEXT NOT NULL, visits INTEGER NOT NULL
    DEFAULT 0, visits_local INTEGER NOT NULL DEFAULT 0, visits_remote INTEGER NOT NULL DEFAULT 0, favicon_id INTEGER,
    date INTEGER, date_local INTEGER NOT NULL DEFAULT 0, date_remote INTEGER NOT NULL DEFAULT 0, created INTEGER,
    modified INTEGER, guid TEXT NOT NULL, deleted INTEGER NOT NULL DEFAULT 0);
CREATE TABLE visits (_id INTEGER PRIMARY KEY AUTOINCREMENT, history_guid TEXT NOT NULL, visit_type TINYINT NOT NULL
    DEFAULT 1, date INTEGER NOT NULL, is_local TINYINT NOT NULL DEFAULT 1);
CREATE TABLE bookmarks (_id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT, url TEXT, type INTEGER NOT NULL DEFAULT 1,
    parent INTEGER, position INTEGER NOT NULL, keyword TEXT, description TEXT, tags TEXT, favicon_id INTEGER,
    created INTEGER, modified INTEGER, guid TEXT NOT NULL, deleted INTEGER NOT NULL DEFAULT 0);
INSERT INTO history (_id, title, url, visits, date, guid, deleted) VALUES
    (7, '', 'https://seven.example/', 3, 1600000000123, 'g7', 0), (8, NULL, '', 1, 1600000000124, 'g8', 1);
"""
IOS = """
CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT NOT NULL UNIQUE, url TEXT UNIQUE,
    title TEXT NOT NULL, server_modified INTEGER, local_modified INTEGER, is_deleted TINYINT NOT NULL,
    should_upload TINYINT NOT NULL, domain_id INTEGER);
CREATE TABLE visits (id INTEGER PRIMARY KEY AUTOINCREMENT, siteID INTEGER NOT NULL, date REAL NOT NULL,
    type INTEGER NOT NULL, is_local TINYINT NOT NULL, UNIQUE (siteID, date, type));
INSERT INTO history VALUES (1, 'a', 'https://one.example/', 'One', NULL, NULL, 0, 0, 1),
    (2, 'b', 'https://two.example/', '', 1, 2, 0, 0, 1), (3, 'c', NULL, '', 1, 2, 1, 1, NULL);
"""

Found = tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]], list[Rejected]]


def make(path: Path, schema: str, *statements: str) -> Path:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as con:
        con.executescript(schema)
        for statement in statements:
            con.execute(statement)
        con.commit()
    return path


def read(path: Path, importer: importers.Importer | None = None) -> Found:
    """URLs, visits with their URL, bookmarks and rejects, after checking that each batch keeps its schema."""
    rows: dict[str, list[dict[str, Any]]] = {"urls": [], "visits": [], "bookmarks": []}
    rejects = []
    for item in (importer or importers.pick(path)).read(path):
        if isinstance(item, Batch):
            assert item.rows.schema == SOURCE_SCHEMAS[item.record]
            item.rows.validate(full=True)
            rows[item.record] += item.rows.to_pylist()
        else:
            rejects.append(item)
    named = {u["url_ref"]: u["url"] for u in rows["urls"]}
    visits = [v | {"url": named[v["url_ref"]]} for v in rows["visits"]]
    return rows["urls"], visits, rows["bookmarks"], rejects


def places_visit(native: int, place: int, kind: int = 1, *, local: int = 1, at: int | None = None) -> str:
    at = MS + native if at is None else at
    return f"INSERT INTO moz_historyvisits VALUES ({native}, {local}, NULL, {place}, {at}, {kind})"


class TestPlaces:
    @pytest.mark.parametrize(
        ("place", "kind", "local", "visible", "hop"),
        [
            (1, 1, 1, True, False),
            (1, 9, 1, True, False),
            (1, 5, 1, False, True),  # an earlier Fenix says it by the type
            (1, 6, 1, False, True),
            (3, 1, 1, False, True),  # a later one by the place
            (3, 8, 1, False, False),
            (1, 4, 1, False, False),
            (1, 7, 1, False, False),
            (1, 5, 0, True, False),  # a desktop marks the target
            (1, 6, 0, True, False),
            (3, 1, 0, True, False),  # seen elsewhere
            (1, 8, 0, False, False),
        ],
    )
    def test_hops_are_the_sources_of_this_phone_and_synced_redirects_are_pages(
        self, place: int, kind: int, local: int, visible: bool, hop: bool, tmp_path: Path
    ) -> None:
        path = make(tmp_path / "x", PLACES, places_visit(1, place, kind, local=local))
        _, (visit,), _, rejects = read(path)
        assert (visit["is_visible"], visit["is_hop"], rejects) == (visible, hop, [])
        assert visit["origin"] == ("local" if local else "synced")

    def test_view_times_in_milliseconds_go_to_visits_made_here(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "x",
            PLACES,
            places_visit(1, 1, at=MS),
            places_visit(2, 1, at=MS + 90_000),
            places_visit(3, 2, local=0, at=MS),
            f"INSERT INTO moz_places_metadata VALUES (1, 'a', {MS}, {MS}, 1, 1500), (2, 'b', {MS + 89_999}, 0, 1, 250),"
            f" (3, 'c', {MS + 90_001}, 0, 1, 4000), (4, 'd', {MS + 5}, 0, 2, 9000), (5, 'e', {MS - 1}, 0, 1, 9)",
        )
        _, visits, _, _ = read(path)
        assert [v["foreground_us"] for v in visits] == [1_750_000, 4_000_000, None]

    def test_tags_have_tables_of_their_own(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "x",
            PLACES,
            "INSERT INTO moz_bookmarks (id, type, parent, title, guid) VALUES (1, 2, NULL, 'root', 'root________'),"
            " (2, 2, 1, 'mobile', 'mobile______'), (3, 2, 2, 'Trips', 'f')",
            "INSERT INTO moz_bookmarks (id, type, fk, parent, title, dateAdded, lastModified, guid)"
            f" VALUES (4, 1, 2, 3, 'Two', {MS}, 0, 'm')",
            "INSERT INTO moz_tags VALUES (1, 'sea', 1), (2, 'fog', 1), (3, 'unused', 1)",
            "INSERT INTO moz_tags_relation VALUES (1, 2), (2, 2), (3, 1), (99, 2)",
        )
        _, _, (kept,), rejects = read(path)
        assert (kept["url"], kept["folder"], kept["tags"]) == (
            "https://two.example/",
            ["Mobile bookmarks", "Trips"],
            ["fog", "sea"],
        )
        assert (kept["added_us"], kept["modified_us"], rejects) == (MS * 1_000, None, [])

    def test_microseconds_are_no_instant_here(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "x", PLACES, places_visit(1, 1, at=MS * 1_000), places_visit(2, 1, at=2**63 - 1)
        )
        _, visits, _, rejects = read(path)
        assert visits == []
        assert [r.where for r in rejects] == ["moz_historyvisits.id=1", "moz_historyvisits.id=2"]

    def test_a_second_import_changes_nothing(self, workspace: Workspace, tmp_path: Path) -> None:
        path = make(tmp_path / "places.sqlite", PLACES, places_visit(1, 1), places_visit(2, 2, local=0))
        (first,) = import_files(workspace, [path]).imports
        make(path, PLACES, places_visit(1, 1), places_visit(2, 2, local=0), places_visit(3, 2))
        (second,) = import_files(workspace, [path]).imports
        assert (first.new, second.new) == (2, 1)


class TestFennec:
    def test_deleted_urls_are_neither_known_nor_missing(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "browser.db",
            FENNEC,
            f"INSERT INTO visits VALUES (1, 'g7', 6, {MS}007, 0), (2, 'g8', 1, {MS}000, 1), (3, 'x', 1, {MS}000, 1),"
            f" (4, 'g7', 1, {MS}, 1)",
        )
        assert importers.pick(path) is fennec
        (url,), (visit,), _, rejects = read(path)
        assert (url["url"], url["title"], url["visit_count"], url["last_visit_us"]) == (
            "https://seven.example/",
            None,
            3,
            MS * 1_000,
        )
        assert (visit["visited_us"], visit["is_visible"], visit["is_hop"], visit["origin"]) == (
            MS * 1_000 + 7,
            True,
            False,
            "synced",
        )
        assert [(r.where, r.reason) for r in rejects] == [
            ("visits.id=3", "its URL is not in the file"),
            ("visits.id=4", f"date {MS} is no plausible instant"),
        ]

    def test_bookmarks_have_folders_and_pinned_sites_are_none(self, tmp_path: Path) -> None:
        roots = [
            (0, 0, "", "places"),
            (-3, 0, "Pinned", "pinned"),
            (1, 0, "Mobile", "mobile"),
            (9, 1, "Food", "f"),
        ]
        path = make(
            tmp_path / "browser.db",
            FENNEC,
            *(
                "INSERT INTO bookmarks (_id, type, parent, title, position, guid)"
                f" VALUES ({native}, 0, {parent}, '{title}', 0, '{guid}')"
                for native, parent, title, guid in roots
            ),
            "INSERT INTO bookmarks (_id, title, url, parent, position, created, modified, guid, deleted) VALUES"
            f" (20, 'Soup', 'https://soup.example/', 9, 0, {MS}, {MS + 5}, 'b1', 0),"
            " (21, 'Pin', 'https://pin.example/', -3, 0, 1, 1, 'b2', 0),"
            " (22, NULL, 'https://gone.example/', 1, 0, 1, 1, 'b3', 1), (23, 'x', 'no address', 1, 0, 1, 1, 'b4', 0)",
        )
        _, _, (kept,), rejects = read(path)
        assert (kept["url"], kept["title"], kept["folder"]) == (
            "https://soup.example/",
            "Soup",
            ["Mobile bookmarks", "Food"],
        )
        assert (kept["added_us"], kept["modified_us"]) == (MS * 1_000, (MS + 5) * 1_000)
        assert [r.where for r in rejects] == ["bookmarks._id=23"]


class TestEarlyIos:
    def test_dates_are_microseconds_as_doubles(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "browser.db",
            IOS,
            f"INSERT INTO visits VALUES (1, 1, {MS}007.0, 2, 1), (2, 2, {MS}008.75, 5, 0), (3, 3, {MS}009, 1, 1),"
            f" (4, 404, {MS}010, 1, 1), (5, 1, {MS}, 1, 1), (6, 2, 1e999, 1, 1)",
        )
        assert importers.pick(path) is firefox_ios_legacy
        urls, visits, _, rejects = read(path)
        assert [(u["url"], u["title"]) for u in urls] == [
            ("https://one.example/", "One"),
            ("https://two.example/", None),
        ]
        assert [
            (v["url"], v["visited_us"], v["navigation"], v["origin"], v["is_visible"], v["transition"])
            for v in visits
        ] == [
            ("https://one.example/", MS * 1_000 + 7, "typed", "local", True, 2),
            ("https://two.example/", MS * 1_000 + 8, "redirect", "synced", True, 5),
        ]
        assert sorted(r.where for r in rejects) == ["visits.id=4", "visits.id=5", "visits.id=6"]


FUZZ = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
KINDS = [(PLACES, firefox_mobile), (FENNEC, fennec), (IOS, firefox_ios_legacy)]


@pytest.mark.parametrize(("schema", "importer"), KINDS)
@FUZZ
@given(
    flips=st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=6)), min_size=1, max_size=12),
    part=st.sampled_from([1.0, 1.0, 0.9, 0.4]),
)
def test_flipped_and_cut_bytes_never_surprise(
    schema: str, importer: importers.Importer, flips: list[tuple[float, bytes]], part: float, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    content = bytearray(make(path, schema).read_bytes())
    for at, new in flips:
        place = int(at * len(content))
        content[place : place + len(new)] = new
    path.write_bytes(content[: int(part * len(content))])
    assert importer.detect(path) in (True, False)
    with suppress(SourceError):
        read(path, importer)


CELL = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text("a:/1", max_size=5)
    | st.binary(max_size=4)
)


@pytest.mark.parametrize(("schema", "importer"), KINDS)
@FUZZ
@given(cells=st.lists(CELL, min_size=40, max_size=40))
def test_any_cells_do_no_harm(
    schema: str, importer: importers.Importer, cells: list[object], tmp_path: Path
) -> None:
    path = make(tmp_path / "x", schema)
    with closing(sqlite3.connect(path)) as con:
        tables = [name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            if table.startswith("sqlite_"):
                continue
            width = len(con.execute(f"PRAGMA table_info({table})").fetchall())
            for row in (cells[:width], cells[width : 2 * width]):
                with suppress(sqlite3.Error, OverflowError):
                    con.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", row)
        con.commit()
    with suppress(SourceError):
        read(path, importer)
