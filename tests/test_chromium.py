"""Chromium history: golden values of a real file, every age of schema, and bad input of every kind."""

import random
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain import importers, snapshot
from brain.errors import EmptySource, SourceError
from brain.importers import _sqlite, chromium
from brain.models import SOURCE_SCHEMAS, Batch, Rejected

DATA = Path(__file__).parent / "data"
T0 = 13_440_540_964_446_587  # 2026-11-30T19:36:04.446587Z in microseconds since 1601
T0_UNIX = 1_796_067_364_446_587
LINK = 0x30000000  # core link, chain start and end

Row = dict[str, Any]


def read(path: Path) -> tuple[list[Row], list[Row], list[Rejected]]:
    """Everything the importer yields for a file, after checking that each batch keeps its schema."""
    found: dict[str, list[Row]] = {"urls": [], "visits": []}
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
    """A History in a minimal old schema, changed by the statements."""
    con = sqlite3.connect(path)
    con.executescript(
        "CREATE TABLE urls(id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, visit_count INTEGER,"
        " typed_count INTEGER, last_visit_time INTEGER, hidden INTEGER);"
        "CREATE TABLE visits(id INTEGER PRIMARY KEY, url INTEGER, visit_time INTEGER, from_visit INTEGER,"
        " transition INTEGER);"
        f"INSERT INTO urls VALUES (1, 'https://a.example/', 'A', 1, 0, {T0}, 0);"
    )
    for statement in statements:
        con.execute(statement)
    con.commit()
    con.close()
    return path


def visit(native: int, *, url: int = 1, at: object = T0, transition: object = LINK) -> str:
    return f"INSERT INTO visits VALUES ({native}, {url}, {at}, 0, {transition})"


@pytest.fixture
def real(tmp_path: Path) -> Path:
    return Path(shutil.copy(DATA / "chromium-156-History", tmp_path / "History"))


class TestARealFile:
    def test_every_url_and_visit_is_read(self, real: Path) -> None:
        urls, visits, rejects = read(real)
        assert (len(urls), len(visits), rejects) == (21, 24, [])
        assert [v["native_id"] for v in visits] == list(range(1, 25))
        assert sum(v["is_visible"] for v in visits) == 23

    def test_the_first_visit_is_exact(self, real: Path) -> None:
        urls, visits, _ = read(real)
        assert urls[0] == {
            "url_ref": 1,
            "url": "http://127.0.0.1:38080/docs/page-0?utm_source=x&i=0",
            "title": "Page /docs/page-0?utm_source=x&i=0 — café notes",
            "visit_count": 1,
            "typed_count": 1,
            "last_visit_us": T0_UNIX,
            "hidden": False,
        }
        assert visits[0] == {
            "native_id": 1,
            "url_ref": 1,
            "visited_us": T0_UNIX,
            "from_native_id": None,
            "opener_native_id": None,
            "transition": 939_524_097,
            "navigation": "typed",
            "is_visible": True,
            "is_hop": False,
            "is_subframe": False,
            "is_reload": False,
            "is_back_forward": False,
            "duration_us": 252_905,
            "foreground_us": 295_360,
            "origin": "local",
            "origin_device": None,
            "title": None,
        }

    def test_a_redirect_is_one_hop_and_one_page(self, real: Path) -> None:
        _, visits, _ = read(real)
        hop, page = visits[16], visits[17]
        assert (hop["is_hop"], hop["is_visible"], hop["duration_us"]) == (True, False, None)
        assert (page["is_hop"], page["is_visible"], page["from_native_id"]) == (False, True, 17)
        assert (page["transition"], page["navigation"]) == (-1_476_395_007 & 0xFFFFFFFF, "typed")
        assert hop["visited_us"] == page["visited_us"]

    def test_reload_form_and_back_are_told_apart(self, real: Path) -> None:
        _, visits, _ = read(real)
        assert [v["native_id"] for v in visits if v["is_reload"]] == [23]
        assert [v["native_id"] for v in visits if v["is_back_forward"]] == [22]
        assert visits[18]["navigation"] == "form"
        assert visits[20]["opener_native_id"] == 20

    def test_urls_are_never_decoded(self, real: Path) -> None:
        urls, _, _ = read(real)
        assert urls[18]["url"] == "http://localhost:38080/caf%C3%A9/%E6%97%A5%E6%9C%AC#frag"

    def test_a_sound_file_is_read_in_columns_only(self, real: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise AssertionError("read row by row")

        monkeypatch.setattr(_sqlite.Reader, "_row_by_row", refuse)
        assert len(read(real)[1]) == 24

    def test_time_in_front_that_was_not_measured_stays_unknown(self, real: Path) -> None:
        _, visits, _ = read(real)
        assert [v["native_id"] for v in visits if v["foreground_us"] is None] == [17, 21, 22]
        assert visits[19]["foreground_us"] == 1_121_317


class TestSchemas:
    def test_the_oldest_schema_reads_with_the_rest_unknown(self, tmp_path: Path) -> None:
        _, [seen], rejects = read(make(tmp_path / "History", visit(1)))
        assert rejects == []
        assert (seen["duration_us"], seen["foreground_us"], seen["opener_native_id"]) == (None, None, None)
        assert (seen["visited_us"], seen["origin"], seen["is_visible"]) == (T0_UNIX, "local", True)

    def test_urls_without_visits_are_kept(self, tmp_path: Path) -> None:
        [url], visits, rejects = read(make(tmp_path / "History"))
        assert (url["url"], url["last_visit_us"], visits, rejects) == ("https://a.example/", T0_UNIX, [], [])

    @pytest.mark.parametrize(
        ("source", "origin"),
        [(0, "synced"), (1, "local"), (2, "extension"), (3, "imported"), (7, "imported"), (99, None)],
    )
    def test_the_origin_comes_from_visit_source(self, source: int, origin: str, tmp_path: Path) -> None:
        path = make(
            tmp_path / "History",
            "CREATE TABLE visit_source(id INTEGER PRIMARY KEY, source INTEGER NOT NULL)",
            f"INSERT INTO visit_source VALUES (2, {source})",
            visit(1),
            visit(2),
        )
        assert [v["origin"] for v in read(path)[1]] == ["local", origin]

    def test_a_visit_with_another_devices_id_is_synced(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "History",
            "ALTER TABLE visits ADD COLUMN originator_cache_guid TEXT DEFAULT ''",
            "INSERT INTO visits VALUES (1, 1, 13440540964446587, 0, 805306368, ''),"
            " (2, 1, 13440540964446588, 0, 805306368, 'cpqBkX==')",
        )
        assert [(v["origin"], v["origin_device"]) for v in read(path)[1]] == [
            ("local", None),
            ("synced", "cpqBkX=="),
        ]

    @pytest.mark.parametrize(
        ("transition", "navigation", "visible", "hop", "subframe"),
        [
            (LINK, "link", True, False, False),
            (LINK | 2, "bookmark", True, False, False),
            (LINK | 3, "subframe", False, False, True),
            (LINK | 4, "subframe", False, False, True),
            (LINK | 5, "generated", True, False, False),
            (LINK | 6, "start_page", True, False, False),
            (LINK | 9, "keyword", True, False, False),
            (LINK | 10, "keyword", False, False, False),
            (LINK | 77, "other", True, False, False),
            (0x10000000, "link", False, True, False),
            ("NULL", "link", True, False, False),
        ],
    )
    def test_visible_is_what_the_history_page_shows(
        self, transition: object, navigation: str, visible: bool, hop: bool, subframe: bool, tmp_path: Path
    ) -> None:
        _, [seen], _ = read(make(tmp_path / "History", visit(1, transition=transition)))
        assert (seen["navigation"], seen["is_visible"]) == (navigation, visible)
        assert (seen["is_hop"], seen["is_subframe"]) == (hop, subframe)

    def test_ids_that_are_no_row_ids_still_link_visits_and_urls(self, tmp_path: Path) -> None:
        path = tmp_path / "History"
        con = sqlite3.connect(make(tmp_path / "made", visit(8), visit(9)))
        con.execute("ATTACH ? AS copy", (str(path),))
        con.execute("CREATE TABLE copy.urls AS SELECT * FROM urls")
        con.execute("CREATE TABLE copy.visits AS SELECT * FROM visits ORDER BY id DESC")
        con.commit()
        con.close()
        assert [v["native_id"] for v in read(path)[1]] == [9, 8]

    def test_a_batch_boundary_loses_and_doubles_nothing(self, tmp_path: Path) -> None:
        path = make(tmp_path / "History")
        con = sqlite3.connect(path)
        rows = ((n, 1, T0 + n, 0, LINK) for n in range(1, _sqlite.BATCH_ROWS + 3))
        con.executemany("INSERT INTO visits VALUES (?,?,?,?,?)", rows)
        con.commit()
        con.close()
        sizes = [
            b.rows.num_rows for b in chromium.read(path) if isinstance(b, Batch) and b.record == "visits"
        ]
        assert sizes == [_sqlite.BATCH_ROWS, 2]


class TestBadRows:
    def test_visits_that_cannot_be_are_named_with_their_values(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "History",
            visit(1),
            visit(2, at=0),
            visit(3, at="NULL"),
            visit(4, at=2**63 - 1),
            visit(5, url=404),
            visit(6, at=-(2**63)),
        )
        _, visits, rejects = read(path)
        assert [v["native_id"] for v in visits] == [1]
        assert {(r.where, r.reason) for r in rejects} == {
            ("visits.id=2", "visit_time 0 is no plausible instant"),
            ("visits.id=3", "visit_time is missing"),
            ("visits.id=4", "visit_time 9223372036854775807 is no plausible instant"),
            ("visits.id=5", "its URL 404 is not in the file"),
            ("visits.id=6", "visit_time -9223372036854775808 is no plausible instant"),
        }

    def test_numbers_are_taken_however_they_are_stored(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "History",
            "DROP TABLE visits",
            "CREATE TABLE visits(id INTEGER PRIMARY KEY, url, visit_time, from_visit, transition, visit_duration)",
            f"INSERT INTO visits VALUES (1, 1.0, '{T0}', NULL, {LINK}, 7), (2, 1, {T0}, 'x', {LINK}, x'00ff'),"
            f" (3, 1, 'soon', 0, {LINK}, 7)",
        )
        _, visits, rejects = read(path)
        assert [(v["native_id"], v["visited_us"], v["duration_us"]) for v in visits] == [
            (1, T0_UNIX, 7),
            (2, T0_UNIX, None),
        ]
        assert [(r.where, r.reason) for r in rejects] == [
            ("visits.id=2", "from_visit is not a whole number: 'x'; the rest of the record was taken"),
            (
                "visits.id=2",
                "visit_duration is not a whole number: '\\x00�'; the rest of the record was taken",
            ),
            ("visits.id=3", "visit_time is not a whole number: 'soon'"),
        ]

    def test_bytes_that_are_no_text_are_replaced_and_nothing_else(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "History",
            "INSERT INTO urls VALUES (2, CAST(x'68747470733a2f2f622e6578616d706c652fff' AS TEXT), '', 1, 0, 0, 1)",
        )
        urls, _, rejects = read(path)
        assert [(u["url"], u["title"], u["last_visit_us"]) for u in urls] == [
            ("https://a.example/", "A", T0_UNIX),
            ("https://b.example/\ufffd", None, None),
        ]
        assert rejects == []

    def test_a_file_of_nulls_yields_rejects_only(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "History",
            "UPDATE urls SET url = NULL, title = NULL, visit_count = NULL, last_visit_time = NULL, hidden = NULL",
            "INSERT INTO visits VALUES (1, NULL, NULL, NULL, NULL)",
        )
        urls, visits, rejects = read(path)
        assert (urls, visits) == ([], [])
        assert [r.reason for r in rejects] == ["url is missing", "url is missing"]

    def test_what_comes_before_damage_is_kept_and_the_rest_is_counted_as_lost(self, tmp_path: Path) -> None:
        path = make(tmp_path / "History", *(visit(n, at=T0 + n) for n in range(1, 2000)))
        content = bytearray(path.read_bytes())
        con = sqlite3.connect(path)
        (page,) = con.execute(
            "SELECT pageno FROM dbstat WHERE name = 'visits' AND pagetype = 'leaf'"
            " ORDER BY pageno DESC LIMIT 1 OFFSET 2"
        ).fetchone()
        con.close()
        content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
        path.write_bytes(content)
        _, visits, rejects = read(path)
        assert 0 < len(visits) < 1999
        assert [v["native_id"] for v in visits] == list(range(1, len(visits) + 1))
        assert [r.where for r in rejects] == [f"visits.id>{len(visits)}"]
        assert "the rest of the table cannot be read" in rejects[0].reason


class TestBadFiles:
    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "zero bytes"),
            (b"hello\n", "a text file"),
            (b'{"a": 1}', "JSON text"),
            (b"PK\x03\x04" + bytes(40), "a zip archive"),
            (random.Random(1).randbytes(8192), "not an SQLite database, or an encrypted one"),
            (b"SQLite format 3\0", "SQLite database"),
            (b"SQLite format 3\0" + random.Random(2).randbytes(9000), "cannot be read as an SQLite database"),
        ],
    )
    def test_a_file_of_another_kind_is_named_in_one_line(
        self, content: bytes, said: str, tmp_path: Path
    ) -> None:
        path = tmp_path / "History"
        path.write_bytes(content)
        with pytest.raises(SourceError, match=said) as caught:
            importers.pick(path)
        assert "\n" not in str(caught.value)
        with pytest.raises(SourceError):
            list(chromium.read(path))

    def test_a_database_of_other_tables_says_which(self, tmp_path: Path) -> None:
        con = sqlite3.connect(tmp_path / "Cookies")
        con.execute("CREATE TABLE cookies(a)")
        con.execute("CREATE TABLE meta(a)")
        con.close()
        with pytest.raises(SourceError, match="no known kind; its tables: cookies, meta"):
            importers.pick(tmp_path / "Cookies")
        sqlite3.connect(tmp_path / "none").execute("VACUUM")
        with pytest.raises(SourceError):
            importers.pick(tmp_path / "none")

    def test_a_folder_and_a_missing_file_are_refused(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "missing"):
            with pytest.raises(SourceError, match="cannot be read"):
                importers.pick(path)

    def test_an_empty_file_is_an_empty_source(self, tmp_path: Path) -> None:
        (tmp_path / "History").touch()
        with pytest.raises(EmptySource):
            importers.pick(tmp_path / "History")

    def test_views_in_place_of_tables_are_not_taken(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "History",
            "ALTER TABLE visits RENAME TO kept",
            "CREATE VIEW visits AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)"
            " SELECT id, 1 AS url, 1 AS visit_time, 0 AS from_visit, 0 AS transition FROM n",
        )
        with pytest.raises(SourceError, match="no known kind"):
            importers.pick(path)

    def test_a_truncated_file_yields_a_part_or_one_clear_error(self, real: Path) -> None:
        content = real.read_bytes()
        for size in range(0, len(content), 7919):
            real.write_bytes(content[:size])
            outcome(real)

    @settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        flips=st.lists(
            st.tuples(st.integers(0, 204_799), st.binary(min_size=1, max_size=16)), min_size=1, max_size=40
        )
    )
    def test_flipped_bytes_never_surprise(self, flips: list[tuple[int, bytes]], tmp_path: Path) -> None:
        content = bytearray((DATA / "chromium-156-History").read_bytes())
        for at, new in flips:
            content[at : at + len(new)] = new
        (tmp_path / "flipped").write_bytes(content)
        outcome(tmp_path / "flipped")


def outcome(path: Path) -> None:
    """Read the file by all means; anything but batches, rejects and SourceError is a failure."""
    with suppress(SourceError):
        for item in chromium.read(path):
            assert isinstance(item, Batch | Rejected)
            if isinstance(item, Batch):
                item.rows.validate(full=True)


@pytest.fixture
def site() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/redirect"):
                self.send_response(302)
                self.send_header("Location", "/target?from=redirect")
                self.end_headers()
                return
            body = f"<title>Title of {self.path}</title>".encode()
            self.send_response(200 if "favicon" not in self.path else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.browser
def test_a_running_browsers_history_is_read_as_it_is(site: str, tmp_path: Path) -> None:
    chrome = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not chrome:
        pytest.skip("no Chromium is installed")
    api = pytest.importorskip("playwright.sync_api")
    pages = ["/one?utm_source=x&id=1", "/caf%C3%A9/%E6%97%A5%E6%9C%AC#part", "/one?utm_source=x&id=1"]
    flags = (
        "no-sandbox",
        "disable-gpu",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
    )
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            str(tmp_path / "profile"),
            executable_path=chrome,
            headless=True,
            args=[f"--{flag}" for flag in flags],
            ignore_default_args=["--incognito"],
        )
        try:
            page = browser.pages[0]
            for path in (*pages, "/redirect"):
                page.goto(site + path)
            live = tmp_path / "profile" / "Default" / "History"
            urls, visits = wait_for_visits(live, 5, tmp_path)
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                sqlite3.connect(f"{live.as_uri()}?mode=ro", uri=True, timeout=0.1).execute(
                    "SELECT * FROM urls"
                )
        finally:
            browser.close()
    named = {u["url_ref"]: u for u in urls}
    assert [named[v["url_ref"]]["url"] for v in visits if v["is_visible"]] == [
        *(site + path for path in pages),
        site + "/target?from=redirect",
    ]
    assert [named[v["url_ref"]]["url"] for v in visits if v["is_hop"]] == [site + "/redirect"]


def wait_for_visits(live: Path, count: int, tmp_path: Path) -> tuple[list[Row], list[Row]]:
    """Snapshots of a live file until it holds so many visits; the browser writes them a little later."""
    import time

    for _ in range(60):
        copy = snapshot.take(live, tmp_path)
        urls, visits, rejects = read(copy.path)
        assert rejects == []
        if len(visits) >= count:
            return urls, visits
        time.sleep(0.5)
    raise AssertionError(f"only {len(visits)} visits were written")


def test_batches_are_arrow(real: Path) -> None:
    first = next(iter(chromium.read(real)))
    assert isinstance(first, Batch)
    assert isinstance(first.rows, pa.RecordBatch)
