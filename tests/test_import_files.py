"""Importing files: exact values, nothing twice, nothing denied or secret kept, bad files, kills and company."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from histories import Visit, chromium, us

from brain import config, open_workspace
from brain.errors import UsageError
from brain.services import import_log
from brain.services.doctor import diagnose
from brain.services.import_files import ImportOptions, ImportOutcome, import_files
from brain.workspace import Workspace

DATA = Path(__file__).parent / "data"
CHROMIUM = DATA / "chromium-156-History"
FIREFOX = DATA / "firefox-153-live-places.sqlite"


def one(ws: Workspace, path: Path, **options: Any) -> ImportOutcome:
    """The outcome of importing one file."""
    (outcome,) = import_files(ws, [path], ImportOptions(**options)).imports
    return outcome


def with_settings(ws: Workspace, **changes: Any) -> Workspace:
    return Workspace(replace(ws.settings, **changes))


def rows(ws: Workspace, query: str) -> list[tuple[Any, ...]]:
    return list(ws.lake.sql(query).rows())


class TestRealFiles:
    def test_every_visit_of_a_chromium_file_is_taken_exactly(self, workspace: Workspace) -> None:
        outcome = one(workspace, CHROMIUM)
        assert (outcome.status, outcome.source, outcome.seen, outcome.new, outcome.visible) == (
            "imported",
            "chromium",
            24,
            24,
            23,
        )
        assert rows(
            workspace, "SELECT visited_at, url, title, duration_us, is_visible FROM visits ORDER BY 1"
        )[0] == (
            datetime(2026, 11, 30, 19, 36, 4, 446_587, tzinfo=UTC),
            "http://127.0.0.1:38080/docs/page-0?utm_source=x&i=0",
            "Page /docs/page-0?utm_source=x&i=0 — café notes",
            252_905,
            True,
        )

    def test_every_visit_of_a_firefox_file_and_its_log_is_taken_exactly(self, workspace: Workspace) -> None:
        outcome = one(workspace, FIREFOX)
        assert (outcome.status, outcome.source, outcome.seen, outcome.visible) == (
            "imported",
            "firefox",
            21,
            20,
        )
        assert rows(workspace, "SELECT min(visited_at) FROM visits") == [
            (datetime(2026, 11, 30, 19, 36, 46, 927_976, tzinfo=UTC),)
        ]

    def test_a_redirect_is_a_hop_linked_to_the_page_it_led_to(self, workspace: Workspace) -> None:
        one(workspace, CHROMIUM)
        assert rows(
            workspace,
            """SELECT page.native_id, hop.native_id, p.is_hop, p.is_visible, h.is_hop, h.is_visible, p.transition
               FROM visits p JOIN visits h ON p.from_id = h.id
               JOIN observations page ON page.visit_id = p.id JOIN observations hop ON hop.visit_id = h.id
               WHERE page.native_id = 18""",
        ) == [(18, 17, False, True, True, False, -1_476_395_007 & 0xFFFFFFFF)]

    def test_a_second_import_changes_nothing(self, workspace: Workspace) -> None:
        first = import_files(workspace, [CHROMIUM, FIREFOX]).totals
        before = workspace.home.lake.read_bytes()
        again = import_files(workspace, [CHROMIUM, FIREFOX])
        assert first == {"files": 2, "seen": 45, "new": 45, "updated": 0, "rejected": 0, "visible": 43}
        assert [o.status for o in again.imports] == ["unchanged", "unchanged"]
        assert again.totals == {"files": 2, "seen": 45, "new": 0, "updated": 0, "rejected": 0, "visible": 43}
        assert workspace.home.lake.read_bytes() == before

    def test_the_same_bytes_under_another_name_and_time_are_unchanged(
        self, workspace: Workspace, tmp_path: Path
    ) -> None:
        first = one(workspace, CHROMIUM)
        copy = Path(shutil.copy(CHROMIUM, tmp_path / "other"))
        os.utime(copy, (1, 1))
        again = one(workspace, copy)
        assert (again.status, again.id, again.new) == ("unchanged", first.id, 0)

    def test_the_same_bytes_of_another_profile_are_taken_as_its_own(self, workspace: Workspace) -> None:
        one(workspace, CHROMIUM, browser="chrome", profile="A")
        again = one(workspace, CHROMIUM, browser="chrome", profile="B")
        assert (again.status, again.new) == ("imported", 0)
        assert rows(workspace, "SELECT profile, visits FROM sources ORDER BY 1") == [("A", 24), ("B", 24)]

    def test_links_also_those_that_point_forward_in_the_file_lead_to_the_right_visit(
        self, workspace: Workspace, tmp_path: Path
    ) -> None:
        visits = [
            Visit("2026-11-01T10:00:02Z", "https://c.example/", from_visit=3),  # forward
            Visit("2026-11-01T10:00:00Z", "https://a.example/", opener=4),  # forward
            Visit("2026-11-01T10:00:01Z", "https://b.example/", from_visit=2),
            Visit("2026-11-01T09:00:00Z", "https://d.example/", from_visit=99),  # of no visit in the file
        ]
        one(workspace, chromium(tmp_path / "History", visits))
        assert rows(
            workspace,
            """SELECT v.domain, f.domain, o.domain FROM visits v LEFT JOIN visits f ON v.from_id = f.id
               LEFT JOIN visits o ON v.opener_id = o.id ORDER BY 1""",
        ) == [
            ("a.example", None, "d.example"),
            ("b.example", "a.example", None),
            ("c.example", "b.example", None),
            ("d.example", None, None),
        ]
        assert rows(workspace, "SELECT count(*) FROM visits WHERE from_id IS NOT NULL") == [(2,)]


class TestWhatIsAskedFor:
    def test_a_folder_is_what_it_holds(self, workspace: Workspace, tmp_path: Path) -> None:
        profile = tmp_path / "google-chrome" / "Default"
        profile.mkdir(parents=True)
        shutil.copy(CHROMIUM, profile / "History")
        (profile / "Cookies").write_text("no history")
        report = import_files(workspace, [tmp_path / "google-chrome", profile / "History"])
        assert [(Path(o.path).name, o.status, o.seen) for o in report.imports] == [
            ("History", "imported", 24)
        ]

    def test_nothing_named_is_refused(self, workspace: Workspace) -> None:
        with pytest.raises(UsageError, match="nothing to import"):
            import_files(workspace, [])

    def test_since_takes_later_visits_and_a_whole_import_then_takes_the_others(
        self, workspace: Workspace
    ) -> None:
        since = us("2026-11-30T19:36:10Z")
        expected = rows_of(CHROMIUM, since)
        part = one(workspace, CHROMIUM, since_us=since)
        assert 0 < part.seen == part.new == expected < 24
        assert one(workspace, CHROMIUM, since_us=since).status == "unchanged"
        whole = one(workspace, CHROMIUM)
        assert (whole.status, whole.seen, whole.new) == ("imported", 24, 24 - expected)
        # What a whole import has seen holds everything since then, too.
        assert one(workspace, CHROMIUM, since_us=since + 1).status == "unchanged"

    def test_nothing_since_is_said_as_such(self, workspace: Workspace) -> None:
        outcome = one(workspace, CHROMIUM, since_us=us("2027-01-01T00:00:00Z"))
        assert (outcome.status, outcome.error) == (
            "empty",
            "the file holds no records since 2027-01-01T00:00:00.000000Z",
        )

    def test_a_dry_run_counts_and_keeps_nothing(self, workspace: Workspace) -> None:
        outcome = one(workspace, CHROMIUM, dry_run=True)
        assert (outcome.id, outcome.status, outcome.seen, outcome.new, outcome.visible) == (
            None,
            "imported",
            24,
            24,
            23,
        )
        tables = workspace.lake.sql(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'store'"
        )["table_name"].to_list()
        kept = {t for t in tables if rows(workspace, f"SELECT count(*) FROM store.{t}") != [(0,)]}
        assert kept == {"migrations"}
        assert [*workspace.home.raw.rglob("*"), *workspace.home.cache.glob("import-*")] == []
        assert one(workspace, CHROMIUM).new == 24
        assert one(workspace, CHROMIUM, dry_run=True).new == 0

    def test_a_changed_deny_list_reads_the_file_again(self, workspace: Workspace, tmp_path: Path) -> None:
        visits = [Visit("2026-11-01T10:00:00Z", u) for u in ("https://a.example/", "https://bank.example/x")]
        path = chromium(tmp_path / "History", visits)
        denied = one(with_settings(workspace, deny=("bank.example",)), path)
        assert (denied.seen, denied.new, denied.visible) == (2, 1, 1)
        assert denied.counts | {"denied_urls": 1, "denied_visits": 1} == denied.counts
        assert one(with_settings(workspace, deny=("bank.example",)), path).status == "unchanged"
        assert one(workspace, path).new == 1


def rows_of(path: Path, since_us: int) -> int:
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as con:
        query = "SELECT count(*) FROM visits WHERE visit_time - 11644473600000000 >= ?"
        return int(con.execute(query, [since_us]).fetchone()[0])


TABLES = (
    "CREATE TABLE urls(id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, visit_count INTEGER,"
    " typed_count INTEGER, last_visit_time INTEGER, hidden INTEGER);"
    "CREATE TABLE visits(id INTEGER PRIMARY KEY, url, visit_time, from_visit, transition);"
)
GOOD = (
    "INSERT INTO urls VALUES (1, 'https://a.example/', 'A', 1, 0, 13440540964446587, 0);"
    "INSERT INTO visits VALUES (1, 1, 13440540964446587, 0, 805306368);"
)


def sqlite_file(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as con:
        con.executescript(script)
    return path


class TestBadInput:
    @pytest.mark.parametrize(
        ("content", "status", "says"),
        [
            pytest.param(b"", "empty", "zero bytes", id="empty"),
            pytest.param(CHROMIUM.read_bytes()[:30_000], "failed", "SQLite", id="truncated"),
            pytest.param(CHROMIUM.read_bytes()[:50], "failed", "SQLite", id="only a header"),
            pytest.param(random.Random(1).randbytes(8192), "failed", "", id="encrypted"),
            pytest.param(b"just some text\n" * 100, "failed", "", id="text"),
        ],
    )
    def test_a_file_that_cannot_be_read_says_so_in_one_line_and_others_go_on(
        self, workspace: Workspace, tmp_path: Path, content: bytes, status: str, says: str
    ) -> None:
        bad = tmp_path / "bad"
        bad.write_bytes(content)
        report = import_files(workspace, [bad, CHROMIUM])
        outcome, good = report.imports
        assert (outcome.status, outcome.seen, outcome.new) == (status, 0, 0)
        assert outcome.error
        assert says in outcome.error
        assert "\n" not in outcome.error
        assert "bad" in outcome.error
        assert (good.status, good.new) == ("imported", 24)
        assert outcome.id
        record = import_log.show_import(workspace, outcome.id).record
        assert (record["status"], record["error"]) == (status, outcome.error)

    @pytest.mark.parametrize(
        ("script", "status", "says"),
        [
            pytest.param("CREATE TABLE notes(a);", "failed", "", id="other tables"),
            pytest.param(TABLES, "empty", "the file holds no records", id="no rows"),
        ],
    )
    def test_a_database_without_history_says_so(
        self, workspace: Workspace, tmp_path: Path, script: str, status: str, says: str
    ) -> None:
        outcome = one(workspace, sqlite_file(tmp_path / "History", script))
        assert (outcome.status, outcome.seen) == (status, 0)
        assert outcome.error
        assert says in outcome.error
        assert "\n" not in outcome.error

    def test_paths_that_are_no_files_say_so(self, workspace: Workspace, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        os.mkfifo(tmp_path / "pipe")
        paths = [tmp_path / name for name in ("missing", "folder", "loop", "pipe")]
        outcomes = import_files(workspace, [*paths, CHROMIUM]).imports
        assert [o.status for o in outcomes] == ["failed"] * 4 + ["imported"]
        for path, outcome in zip(paths, outcomes, strict=False):
            assert outcome.error
            assert str(path) in outcome.error
            assert "\n" not in outcome.error

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
    def test_an_unreadable_folder_says_so(self, workspace: Workspace, tmp_path: Path) -> None:
        closed = tmp_path / "closed"
        closed.mkdir(mode=0)
        assert one(workspace, closed).status == "failed"

    @pytest.mark.parametrize(
        ("bad", "where", "reason"),
        [
            pytest.param("(2, NULL, NULL, NULL, NULL)", "visits.id=2", "url", id="all NULL"),
            pytest.param("(2, 1, 'noon', 0, 0)", "visits.id=2", "visit_time", id="text for a number"),
            pytest.param("(2, 1, x'00ff', 0, 0)", "visits.id=2", "visit_time", id="bytes for a number"),
            pytest.param("(2, 1, 1, 0, 0)", "visits.id=2", "no plausible instant", id="before 1990"),
            pytest.param("(2, 1, 9223372036854775807, 0, 0)", "visits.id=2", "no plausible", id="far future"),
            pytest.param("(2, 77, 13440540964446588, 0, 0)", "visits.id=2", "not in the file", id="dangling"),
        ],
    )
    def test_a_bad_record_is_listed_and_the_others_are_taken(
        self, workspace: Workspace, tmp_path: Path, bad: str, where: str, reason: str
    ) -> None:
        path = sqlite_file(tmp_path / "History", TABLES + GOOD + f"INSERT INTO visits VALUES {bad};")
        outcome = one(workspace, path)
        assert (outcome.status, outcome.new, outcome.rejected, outcome.error) == ("partial", 1, 1, None)
        assert outcome.id
        (reject,) = import_log.show_import(workspace, outcome.id).rejects
        assert reject["where"] == where
        assert reason in reject["reason"]
        assert rows(workspace, 'SELECT count(*), min("where") FROM rejects') == [(1, where)]

    def test_a_file_of_bad_records_alone_has_failed(self, workspace: Workspace, tmp_path: Path) -> None:
        bad = "INSERT INTO urls VALUES (1, NULL, NULL, NULL, NULL, NULL, NULL);INSERT INTO visits(id) VALUES (1), (2);"
        outcome = one(workspace, sqlite_file(tmp_path / "History", TABLES + bad))
        assert (outcome.status, outcome.seen, outcome.rejected) == ("failed", 0, 3)
        assert outcome.error == "none of its 3 records could be read"

    def test_text_that_is_not_utf8_is_taken_with_marks_in_place(
        self, workspace: Workspace, tmp_path: Path
    ) -> None:
        script = TABLES + GOOD + "UPDATE urls SET title = CAST(x'41ff42' AS TEXT);"
        assert one(workspace, sqlite_file(tmp_path / "History", script)).status == "imported"
        assert rows(workspace, "SELECT title FROM visits") == [("A\ufffdB",)]

    def test_an_unknown_import_is_refused(self, workspace: Workspace) -> None:
        one(workspace, CHROMIUM)
        for wrong in ("2", "x", "-1", "9" * 30):
            with pytest.raises(UsageError, match="there is no import"):
                import_log.show_import(workspace, wrong)


SECRET = "hunter2-Zq8vX3kLm9Tn4RwB7yCd"


def everything(home: Path) -> Iterator[tuple[str, str]]:
    """(place, text) of all that the home holds, compressed files opened."""
    for path in sorted(p for p in home.rglob("*") if p.is_file()):
        yield str(path), path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            yield str(path), str(pl.read_parquet(path).to_dicts())
        if path.name.endswith(".duckdb"):
            with duckdb.connect(path, read_only=True) as con:
                tables = con.execute("SELECT schema_name, table_name FROM duckdb_tables()").fetchall()
                for schema, table in tables:
                    yield f"{path}:{table}", str(con.execute(f'FROM "{schema}"."{table}"').fetchall())


def places_of(home: Path, text: str) -> list[str]:
    return [place for place, content in everything(home) if text in content]


class TestPrivacy:
    def test_what_is_denied_is_stored_nowhere(self, workspace: Workspace, tmp_path: Path) -> None:
        path = chromium(
            tmp_path / "History",
            [
                Visit("2026-11-01T10:00:00Z", "https://www.bank.example/accounts-zebra", "Zebra balance"),
                Visit("2026-11-01T10:00:01Z", "https://control.example/okapi", "Okapi", from_visit=1),
                Visit("2026-11-01T10:00:02Z", "file:///home/me/zebra.txt", "Zebra file"),
            ],
        )
        outcome = one(with_settings(workspace, deny=("bank.example",)), path)
        assert (outcome.new, outcome.counts["denied_visits"]) == (1, 2)
        # The search finds what is there: in the lake and in raw/.
        assert len({Path(p.split(":")[0]).suffix for p in places_of(workspace.home.root, "okapi")}) >= 2
        for word in ("zebra", "Zebra", "bank.example"):
            assert places_of(workspace.home.root, word) == []
        assert rows(workspace, "SELECT from_id FROM visits") == [(None,)]

    def test_secrets_are_stored_nowhere(self, workspace: Workspace, tmp_path: Path) -> None:
        path = chromium(
            tmp_path / "History",
            [
                Visit(
                    "2026-11-01T10:00:00Z",
                    f"https://control.example/cb?access_token={SECRET}&okapi=1#id_token={SECRET}",
                    f"Okapi https://x.example/?password={SECRET}",
                ),
                Visit("2026-11-01T10:00:01Z", f"https://me:{SECRET}@control.example/", f"password: {SECRET}"),
            ],
        )
        assert one(workspace, path).new == 2
        assert places_of(workspace.home.root, "okapi")
        assert places_of(workspace.home.root, SECRET) == []

    def test_copies_of_the_original_are_gone_afterwards(self, workspace: Workspace, tmp_path: Path) -> None:
        bad = tmp_path / "bad"
        bad.write_bytes(b"x" * 5000)
        import_files(workspace, [CHROMIUM, bad])
        assert list(workspace.home.cache.glob("import-*")) == []

    @pytest.mark.skipif(os.name != "posix", reason="POSIX modes")
    def test_all_that_is_kept_is_private(self, workspace: Workspace) -> None:
        old = os.umask(0)
        try:
            import_files(workspace, [CHROMIUM, FIREFOX])
            with workspace.lake.snapshot():
                pass
        finally:
            os.umask(old)
        home = workspace.home.root
        for path in (home, *home.rglob("*")):
            assert (path, oct(path.stat().st_mode & 0o077)) == (path, "0o0")


class TestRaw:
    def test_raw_alone_suffices_to_make_the_visits_anew(
        self, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one(workspace, CHROMIUM)
        one(workspace, FIREFOX)
        forward = [
            Visit("2026-11-01T10:00:02Z", "https://c.example/", from_visit=2),
            Visit("2026-11-01T10:00:00Z", "https://b.example/"),
        ]
        monkeypatch.setattr(
            "brain.importers._sqlite.Reader.batches.__defaults__", (1,)
        )  # links across batches
        one(workspace, chromium(tmp_path / "History", forward))
        raw = workspace.home.raw
        with duckdb.connect() as con:
            con.execute("SET TimeZone = 'UTC'")
            made = con.execute(f"""
                WITH visits AS (SELECT DISTINCT ON (visit_key) * FROM read_parquet('{raw}/*/visits-*.parquet')),
                urls AS (SELECT DISTINCT ON (url_id) * FROM read_parquet('{raw}/*/urls-*.parquet')),
                links AS (FROM read_parquet('{raw}/*/links-*.parquet'))
                SELECT visit_key, page_id, u.url, u.title, visited_at, coalesce(v.from_key, l.from_key),
                       is_visible, is_hop, duration_us, foreground_us, navigation, native_id
                FROM visits v JOIN urls u USING (url_id) LEFT JOIN links l USING (visit_key) ORDER BY 1""").fetchall()
        kept = rows(
            workspace,
            """SELECT visit_key, page_id, u.url, u.title, visited_at, from_key, is_visible, is_hop, duration_us,
                      foreground_us, navigation, native_id
               FROM store.visits v JOIN store.urls u USING (url_id) JOIN store.observations USING (visit_key)
               ORDER BY 1""",
        )
        assert len(kept) == 47
        assert made == kept

    def test_an_import_that_brings_nothing_new_keeps_nothing(self, workspace: Workspace) -> None:
        one(workspace, CHROMIUM, profile="A")
        again = one(workspace, CHROMIUM, profile="B")
        assert not (workspace.home.raw / f"{int(again.id or 0):08d}").exists()


# Nothing is shared with the test's process but the home.
RUN = (
    "import sys; from pathlib import Path; from brain import open_workspace;"
    "from brain.services.import_files import import_files;"
    "r = import_files(open_workspace(sys.argv[1]), [Path(p) for p in sys.argv[2:]]);"
    "print(*(o.status for o in r.imports))"
)
STATE = {
    "visits": """SELECT v.visited_at, v.url, v.title, f.visited_at, v.is_visible, v.duplicate_of IS NULL
                 FROM visits v LEFT JOIN visits f ON f.id = v.from_id ORDER BY ALL""",
    "pages": "SELECT url_norm, title, visits, visible_visits FROM pages ORDER BY ALL",
    "observations": "SELECT browser, native_id, count(*) FROM observations GROUP BY ALL ORDER BY ALL",
}


def start(home: Path, *paths: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(home), *map(str, paths)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two histories of 20,000 and 100 visits, the hundred repeats of the other's, with links forward and back."""
    folder = tmp_path_factory.mktemp("large")
    start_s = us("2026-01-01T00:00:00Z") // 1_000_000

    def visits(offset_us: int, count: int) -> Iterator[Visit]:
        for n in range(count):
            at = datetime.fromtimestamp(start_s + n * 60, UTC).replace(microsecond=offset_us)
            source = n + 2 if n % 1000 == 0 else n
            url = f"https://site-{n % 50}.example/{n % 4000}"
            yield Visit(at.isoformat(), url, f"Page {n % 4000}", from_visit=source)

    return (
        chromium(folder / "chrome" / "History", visits(0, 20_000)),
        chromium(folder / "brave" / "History", visits(300_000, 100)),
    )


@pytest.fixture(scope="module")
def undisturbed(
    large: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[float, dict[str, Any]]:
    """How long an import of both takes here, and what it makes."""
    ws = Workspace(config.load(tmp_path_factory.mktemp("undisturbed") / "home"))
    began = time.monotonic()
    process = start(ws.home.root, *large)
    assert process.communicate()[0] == "imported imported\n"
    return time.monotonic() - began, state(ws)


def state(ws: Workspace) -> dict[str, Any]:
    return {name: ws.lake.sql(query).rows() for name, query in STATE.items()}


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
class TestKills:
    def test_a_killed_import_is_completed_by_running_it_again(
        self, large: tuple[Path, Path], undisturbed: tuple[float, dict[str, Any]], tmp_path: Path
    ) -> None:
        seconds, expected = undisturbed
        assert len(expected["visits"]) == 20_100
        assert sum(not row[-1] for row in expected["visits"]) == 100  # repeats
        for number, share in enumerate((0.4, 0.65, 0.9)):
            home = tmp_path / f"home {number}"
            process = start(home, *large)
            time.sleep(seconds * share)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            ws = open_workspace(home)
            import_files(ws, list(large))
            assert state(ws) == expected
            assert list(ws.home.cache.glob("import-*")) == []
            faults = {c.name: c.detail for c in diagnose(ws).checks if not c.ok}
            assert faults.keys() <= {"model", "index", "disk"}

    def test_a_kill_before_repeats_are_linked_still_counts_them_once(
        self, workspace: Workspace, tmp_path: Path
    ) -> None:
        mine = chromium(tmp_path / "a" / "History", [Visit("2026-11-01T10:00:00Z", "https://a.example/")])
        other = chromium(tmp_path / "b" / "History", [Visit("2026-11-01T10:00:00.5Z", "https://a.example/")])
        one(workspace, mine, browser="chrome")
        code = (
            "import os, signal, sys; from brain import merge;"
            "merge.find_duplicates = lambda *a: os.kill(os.getpid(), signal.SIGKILL);"
            "from brain.services.import_files import ImportOptions;"
            + RUN.replace("sys.argv[2:]]", "sys.argv[2:]], ImportOptions(browser='brave')")
        )
        subprocess.run([sys.executable, "-c", code, str(workspace.home.root), str(other)], check=False)
        assert rows(workspace, "SELECT count(*), count(duplicate_of) FROM visits") == [(2, 0)]
        again = one(workspace, other, browser="brave")
        assert (again.status, again.new, again.counts["duplicates"]) == ("imported", 0, 1)
        assert rows(workspace, "SELECT status FROM imports ORDER BY import_id") == [
            ("imported",),
            ("interrupted",),
            ("imported",),
        ]

    def test_two_processes_may_import_the_same_file_at_once(
        self, large: tuple[Path, Path], tmp_path: Path
    ) -> None:
        path = large[0]
        pair = [start(tmp_path / "home", path) for _ in range(2)]
        said = [process.communicate() for process in pair]
        assert [out for out, _ in said] in (
            [["imported\n"] * 2, ["imported\n", "unchanged\n"], ["unchanged\n", "imported\n"]]
        )
        ws = open_workspace(tmp_path / "home")
        assert rows(ws, "SELECT count(*), count(DISTINCT id) FROM visits") == [(20_000, 20_000)]
        assert rows(ws, "SELECT count(*), count(DISTINCT visit_id) FROM observations") == [(20_000, 20_000)]
        assert rows(ws, "SELECT count(*), count(DISTINCT id) FROM pages") == [(4_000, 4_000)]


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux only")
def test_names_that_are_no_utf8_are_imported_recorded_and_stop_no_other_file(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / os.fsdecode(b"chrome-\xff")
    folder.mkdir()
    good = chromium(folder / "History", [Visit("2026-11-01T10:00:00Z", "https://a.example/", "A")])
    bad = folder / "wrong"
    bad.write_text("no database")
    assert [o.status for o in import_files(workspace, [bad, good, CHROMIUM]).imports] == [
        "failed",
        "imported",
        "imported",
    ]
    assert one(workspace, good).status == "unchanged"
    assert rows(workspace, "SELECT count(*) FROM imports WHERE path LIKE '%chrome-\\xff%'") == [(2,)]


def test_an_unknown_browser_is_refused_before_anything_is_made(home: Path, workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="unknown browser 'netscape'; known: chrome, "):
        import_files(workspace, [CHROMIUM], ImportOptions(browser="netscape"))
    assert not home.exists()
