"""Desktop Firefox: golden values of a file copied while it ran, the rules for hops, and forks with fewer columns."""

import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain import importers
from brain.errors import SourceError
from brain.importers import _sqlite, firefox
from brain.models import SOURCE_SCHEMAS, Batch, Rejected

DATA = Path(__file__).parent / "data"
NAME = "firefox-153-live-places.sqlite"
T0 = 1_796_067_406_927_976  # 2026-11-30T19:36:46.927976Z

Row = dict[str, Any]


def read(path: Path) -> tuple[list[Row], list[Row], list[Rejected]]:
    """Everything the importer yields for a file, after checking that each batch keeps its schema."""
    found: dict[str, list[Row]] = {"urls": [], "visits": [], "bookmarks": []}
    rejects = []
    for item in importers.pick(path).read(path):
        if isinstance(item, Batch):
            assert item.rows.schema == SOURCE_SCHEMAS[item.record]
            item.rows.validate(full=True)
            found[item.record] += item.rows.to_pylist()
        else:
            rejects.append(item)
    return found["urls"], found["visits"], rejects


def make(path: Path, *statements: str) -> Path:
    """Places in the columns that every fork has; three pages, the second of them hidden."""
    con = sqlite3.connect(path)
    con.executescript(
        "CREATE TABLE moz_places(id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, visit_count INTEGER,"
        " hidden INTEGER DEFAULT 0 NOT NULL, last_visit_date INTEGER);"
        "CREATE TABLE moz_historyvisits(id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER,"
        " visit_date INTEGER, visit_type INTEGER, session INTEGER);"
        "INSERT INTO moz_places VALUES (1, 'https://a.example/', 'A', 2, 0, NULL),"
        " (2, 'https://b.example/go', NULL, 1, 1, NULL), (3, 'https://c.example/', '', 1, 0, NULL);"
    )
    for statement in statements:
        con.execute(statement)
    con.commit()
    con.close()
    return path


def visit(native: int, place: object, *, type: object = 1, source: int = 0, at: object = None) -> str:  # noqa: A002
    at = T0 + native if at is None else at
    return f"INSERT INTO moz_historyvisits VALUES ({native}, {source}, {place}, {at}, {type}, 0)"


@pytest.fixture
def real(tmp_path: Path) -> Path:
    for suffix in ("", "-wal"):
        shutil.copy(DATA / f"{NAME}{suffix}", tmp_path / f"places.sqlite{suffix}")
    return tmp_path / "places.sqlite"


class TestARealFile:
    def test_visits_in_the_log_are_read_too(self, real: Path) -> None:
        urls, visits, rejects = read(real)
        assert (len(urls), len(visits), rejects) == (24, 21, [])
        assert sum(v["is_visible"] for v in visits) == 20

    def test_without_its_log_the_file_ends_earlier(self, real: Path) -> None:
        real.with_name("places.sqlite-wal").unlink()
        assert len(read(real)[1]) == 17

    def test_the_first_visit_is_exact(self, real: Path) -> None:
        urls, visits, _ = read(real)
        assert visits[0] == {
            "native_id": 1,
            "url_ref": 5,
            "visited_us": T0,
            "from_native_id": None,
            "opener_native_id": None,
            "transition": 1,
            "navigation": "link",
            "is_visible": True,
            "is_hop": False,
            "is_subframe": False,
            "is_reload": False,
            "is_back_forward": False,
            "duration_us": None,
            "foreground_us": None,
            "origin": None,
            "origin_device": None,
            "title": None,
        }
        assert urls[4] == {
            "url_ref": 5,
            "url": "http://127.0.0.1:38081/docs/page-0?utm_source=x&i=0",
            "title": "Page /docs/page-0?utm_source=x&i=0 — café notes",
            "visit_count": 1,
            "typed_count": None,
            "last_visit_us": T0,
            "hidden": False,
        }

    def test_the_source_of_a_redirect_is_the_hop_and_its_target_the_page(self, real: Path) -> None:
        _, visits, _ = read(real)
        hop, page = visits[16], visits[17]
        assert (hop["is_hop"], hop["is_visible"], hop["navigation"]) == (True, False, "link")
        assert (page["is_hop"], page["is_visible"], page["navigation"]) == (False, True, "redirect")
        assert (page["from_native_id"], page["transition"]) == (17, 6)
        assert [v["native_id"] for v in visits if v["is_hop"]] == [17]

    def test_a_sound_file_is_read_in_columns_only(self, real: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise AssertionError("read row by row")

        monkeypatch.setattr(_sqlite.Reader, "_row_by_row", refuse)
        assert len(read(real)[1]) == 21

    def test_bookmarks_never_visited_are_known_urls(self, real: Path) -> None:
        urls, _, _ = read(real)
        assert urls[2] == {
            "url_ref": 3,
            "url": "https://www.mozilla.org/contribute/",
            "title": None,
            "visit_count": 0,
            "typed_count": None,
            "last_visit_us": None,
            "hidden": False,
        }


class TestRules:
    @pytest.mark.parametrize(
        ("kind", "navigation", "visible", "subframe"),
        [
            (1, "link", True, False),
            (2, "typed", True, False),
            (3, "bookmark", True, False),
            (4, "subframe", False, True),
            (5, "redirect", True, False),
            (6, "redirect", True, False),
            (7, "download", False, False),
            (8, "subframe", False, True),
            (9, "reload", True, False),
            (0, "other", True, False),
            ("NULL", "other", True, False),
        ],
    )
    def test_each_visit_type(
        self, kind: object, navigation: str, visible: bool, subframe: bool, tmp_path: Path
    ) -> None:
        _, [seen], _ = read(make(tmp_path / "p", visit(1, 1, type=kind)))
        assert (seen["navigation"], seen["is_visible"], seen["is_subframe"]) == (
            navigation,
            visible,
            subframe,
        )
        assert seen["is_reload"] is (kind == 9)

    def test_a_hidden_page_is_a_hop_only_when_it_leads_somewhere(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "p", visit(1, 2), visit(2, 1, type=5, source=1), visit(3, 2), visit(4, 3, source=3)
        )
        _, visits, _ = read(path)
        assert [v["is_hop"] for v in visits] == [True, False, False, False]
        assert [v["is_visible"] for v in visits] == [False, True, False, True]

    def test_a_page_that_redirects_once_and_is_not_hidden_was_seen(self, tmp_path: Path) -> None:
        _, visits, _ = read(make(tmp_path / "p", visit(1, 1), visit(2, 3, type=6, source=1)))
        assert [(v["is_hop"], v["is_visible"]) for v in visits] == [(False, True), (False, True)]

    def test_view_times_go_to_the_latest_visit_before_them(self, tmp_path: Path) -> None:
        ms = T0 // 1000
        path = make(
            tmp_path / "p",
            "CREATE TABLE moz_places_metadata(id INTEGER PRIMARY KEY, place_id, created_at, total_view_time)",
            visit(1, 1, at=T0),
            visit(2, 1, at=T0 + 60_000_000),
            visit(3, 3, at=T0 + 1_000_000),
            f"INSERT INTO moz_places_metadata VALUES (1, 1, {ms}, 1500), (2, 1, {ms + 59_000}, 250),"
            f" (3, 1, {ms + 61_000}, 4000), (4, 3, {ms}, 9000), (5, 1, {ms + 62_000}, 0), (6, 1, 'x', 7),"
            f" (7, 2, {ms}, 7)",
        )
        _, visits, rejects = read(path)
        assert [v["foreground_us"] for v in visits] == [1_750_000, 4_000_000, None]
        assert rejects == []

    def test_visits_that_cannot_be_are_named(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "p",
            visit(1, 1, at="NULL"),
            visit(2, 99),
            visit(3, 1, at=5),
            visit(4, "NULL"),
            visit(5, 1),
        )
        _, visits, rejects = read(path)
        assert [v["native_id"] for v in visits] == [5]
        assert {(r.where, r.reason) for r in rejects} == {
            ("moz_historyvisits.id=1", "visit_date is missing"),
            ("moz_historyvisits.id=2", "its URL 99 is not in the file"),
            ("moz_historyvisits.id=3", "visit_date 5 is no plausible instant"),
            ("moz_historyvisits.id=4", "place_id is missing"),
        }

    def test_a_place_without_url_takes_its_visits_along(self, tmp_path: Path) -> None:
        path = make(tmp_path / "p", "UPDATE moz_places SET url = NULL WHERE id = 1", visit(1, 1), visit(2, 3))
        urls, visits, rejects = read(path)
        assert [u["url_ref"] for u in urls] == [2, 3]
        assert [v["native_id"] for v in visits] == [2]
        assert [r.reason for r in rejects] == ["url is missing", "its URL 1 is not in the file"]


class TestDetection:
    @pytest.mark.parametrize(
        "statement",
        [
            "ALTER TABLE moz_historyvisits ADD COLUMN is_local INTEGER NOT NULL DEFAULT 0",
            "CREATE TABLE moz_bookmarks_synced(id)",
        ],
    )
    def test_mobile_files_in_milliseconds_are_not_taken(self, statement: str, tmp_path: Path) -> None:
        path = make(tmp_path / "places.db", statement)
        assert not firefox.detect(path)

    def test_each_importer_takes_its_own_file_only(self, real: Path) -> None:
        assert importers.pick(real) is firefox
        assert [m.NAME for m in importers.IMPORTERS if m.detect(DATA / "chromium-156-History")] == [
            "chromium"
        ]


class TestBadFiles:
    def test_a_file_without_its_tables_is_refused(self, tmp_path: Path) -> None:
        sqlite3.connect(tmp_path / "x").execute("CREATE TABLE t(a)")
        with pytest.raises(SourceError, match="no Firefox history"):
            list(firefox.read(tmp_path / "x"))

    @settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        flips=st.lists(
            st.tuples(st.integers(0, 20_479), st.binary(min_size=1, max_size=8)), min_size=1, max_size=20
        ),
        cut=st.integers(0, 20_480),
    )
    def test_flipped_and_cut_bytes_never_surprise(
        self, flips: list[tuple[int, bytes]], cut: int, tmp_path: Path
    ) -> None:
        path = tmp_path / "p"
        path.unlink(missing_ok=True)
        content = bytearray(make(path, *(visit(n, 1 + n % 3) for n in range(1, 200))).read_bytes())
        for at, new in flips:
            content[at : at + len(new)] = new
        path.write_bytes(content[:-cut] if cut % 5 == 0 and cut else content)
        with suppress(SourceError):
            for item in firefox.read(path):
                assert isinstance(item, Batch | Rejected)
