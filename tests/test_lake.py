"""The lake: merges that change nothing twice, titles over time, migrations whole or not at all, shared snapshots."""

import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from histories import Visit, chromium

from brain import migrations
from brain.config import Home
from brain.errors import LakeError, QueryRefused
from brain.lake import Lake
from brain.services.import_files import ImportOptions, import_files
from brain.sql import transaction

PAGE = "https://a.example/page"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with its tables and no rows."""
    lake = Lake(Home(tmp_path / "home"))
    lake.ensure()
    return lake


def take(workspace: Any, folder: Path, *visits: Visit, browser: str = "chrome") -> Any:
    """Import a handmade history of these visits as a new file of that browser."""
    path = chromium(folder / f"{browser}-{len(list(folder.glob('*')))}", visits)
    (outcome,) = import_files(workspace, [path], ImportOptions(browser=browser)).imports
    assert outcome.status == "imported"
    return outcome


def rows(workspace: Any, query: str) -> list[tuple[Any, ...]]:
    return list(workspace.lake.sql(query).rows())


class TestMerging:
    def test_known_visits_change_nothing(self, workspace: Any, tmp_path: Path) -> None:
        one = Visit("2026-11-01T10:00:00Z", PAGE, "A", duration_us=5)
        take(workspace, tmp_path, one)
        tables = ("urls", "visits", "observations", "titles")
        before = [
            workspace.lake.sql(f"SELECT * FROM store.{t}").drop("change_id", strict=False) for t in tables
        ]
        again = take(workspace, tmp_path, one, Visit("2026-11-01T10:00:01Z", "https://b.example/"))
        assert (again.seen, again.new, again.updated) == (2, 1, 0)
        for table, old in zip(tables, before, strict=True):
            now = workspace.lake.sql(f"SELECT * FROM store.{table} WHERE import_id = 1")
            assert now.drop("change_id", strict=False).equals(old)

    def test_the_title_of_the_later_visit_wins(self, workspace: Any, tmp_path: Path) -> None:
        take(workspace, tmp_path, Visit("2026-11-01T10:00:00Z", PAGE, "Old"))
        outcome = take(workspace, tmp_path, Visit("2026-11-02T10:00:00Z", PAGE, "New"))
        assert outcome.counts["retitled_urls"] == 1
        assert rows(workspace, "SELECT title, as_of, current FROM titles ORDER BY as_of") == [
            ("Old", datetime(2026, 11, 1, 10, tzinfo=UTC), False),
            ("New", datetime(2026, 11, 2, 10, tzinfo=UTC), True),
        ]
        assert rows(workspace, "SELECT title FROM pages") == [("New",)]

    def test_an_older_file_imported_later_only_adds_to_the_past_titles(
        self, workspace: Any, tmp_path: Path
    ) -> None:
        take(workspace, tmp_path, Visit("2026-11-02T10:00:00Z", PAGE, "New"))
        take(workspace, tmp_path, Visit("2026-11-01T10:00:00Z", PAGE, "Old"))
        take(
            workspace,
            tmp_path,
            Visit("2026-11-01T10:00:00Z", PAGE, "Old"),
            Visit("2026-11-01T11:00:00Z", "a:b"),
        )
        assert rows(workspace, "SELECT title, current FROM titles ORDER BY as_of") == [
            ("Old", False),
            ("New", True),
        ]
        assert rows(workspace, "SELECT title, known_last_visit FROM pages WHERE title IS NOT NULL") == [
            ("New", datetime(2026, 11, 2, 10, tzinfo=UTC))
        ]

    def test_durations_fill_and_grow_and_never_shrink(self, workspace: Any, tmp_path: Path) -> None:
        seen = []
        for duration, foreground in ((0, None), (7, 4), (9, 3), (2, None)):
            outcome = take(
                workspace,
                tmp_path,
                Visit("2026-11-01T10:00:00Z", PAGE, duration_us=duration, foreground_us=foreground),
                Visit("2026-11-01T10:00:05Z", f"https://{duration}.example/"),
            )
            visit = rows(workspace, f"SELECT duration_us, foreground_us FROM visits WHERE url = '{PAGE}'")
            seen.append((outcome.updated, *visit))
        assert seen == [(0, (None, None)), (1, (7, 4)), (1, (9, 4)), (0, (9, 4))]

    def test_one_visit_seen_by_two_sources_is_one_visit_with_two_observations(
        self, workspace: Any, tmp_path: Path
    ) -> None:
        take(workspace, tmp_path, Visit("2026-11-01T10:00:00Z", PAGE))
        outcome = take(
            workspace,
            tmp_path,
            Visit("2026-11-01T09:00:00Z", "https://b.example/"),
            Visit("2026-11-01T10:00:00Z", PAGE),
            browser="brave",
        )
        assert (outcome.seen, outcome.new) == (2, 1)
        assert rows(workspace, f"SELECT count(*) FROM visits WHERE url = '{PAGE}'") == [(1,)]
        assert rows(workspace, "SELECT browser, native_id FROM observations ORDER BY 1, 2") == [
            ("brave", 1),
            ("brave", 2),
            ("chrome", 1),
        ]

    def test_a_repeat_within_a_second_by_another_source_is_linked_and_counted_once(
        self, workspace: Any, tmp_path: Path
    ) -> None:
        take(workspace, tmp_path, Visit("2026-11-01T10:00:00.900000Z", PAGE))
        outcome = take(
            workspace,
            tmp_path,
            Visit("2026-11-01T10:00:01.900000Z", PAGE),  # just within
            Visit("2026-11-01T10:00:01.900001Z", PAGE),  # just outside
            Visit("2026-11-01T10:00:01Z", "https://b.example/"),  # another page
            browser="brave",
        )
        assert outcome.counts["duplicates"] == 1
        assert rows(
            workspace,
            """SELECT v.visited_at, v.is_visible, o.visited_at, v.duplicate_reason FROM visits v
               JOIN visits o ON o.id = v.duplicate_of""",
        ) == [
            (
                datetime(2026, 11, 1, 10, 0, 1, 900_000, tzinfo=UTC),
                False,
                datetime(2026, 11, 1, 10, 0, 0, 900_000, tzinfo=UTC),
                "same URL at the same time, other source",
            )
        ]
        assert rows(workspace, "SELECT visits, visible_visits FROM pages ORDER BY 1") == [(1, 1), (3, 2)]

    def test_repeats_by_the_same_source_stay_visits_of_their_own(
        self, workspace: Any, tmp_path: Path
    ) -> None:
        take(workspace, tmp_path, Visit("2026-11-01T10:00:00Z", PAGE), Visit("2026-11-01T10:00:00.5Z", PAGE))
        take(workspace, tmp_path, Visit("2026-11-01T10:00:00.7Z", PAGE))
        assert rows(workspace, "SELECT count(*), count(duplicate_of) FROM visits") == [(3, 0)]

    def test_two_imports_side_by_side_never_link_a_pair_both_ways(
        self, workspace: Any, tmp_path: Path
    ) -> None:
        from brain import merge

        take(workspace, tmp_path, Visit("2026-11-01T10:00:00Z", PAGE))
        take(workspace, tmp_path, Visit("2026-11-01T10:00:05Z", PAGE), browser="brave")
        (a,), (b,) = rows(workspace, "SELECT visit_key FROM store.visits ORDER BY visited_at")
        with workspace.lake.write() as con:
            for one, other in ((a, b), (b, a)):
                found = pl.DataFrame(
                    {"visit_key": [one], "duplicate_of": [other]}, schema_overrides={"visit_key": pl.UInt64}
                )
                merge.mark_duplicates(con, found)
        assert rows(workspace, "SELECT count(*) FILTER (WHERE is_visible) FROM visits") == [(1,)]


class TestMigrations:
    def test_a_failing_step_leaves_nothing_behind(self, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(con: Any) -> None:
            con.execute("CREATE TABLE store.half (a INTEGER)")
            con.execute("ALTER TABLE store.visits ADD COLUMN half INTEGER")
            con.execute("SELECT * FROM nowhere")

        latest = migrations.LATEST
        monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, (latest + 1, "fails", fails)))
        monkeypatch.setattr(migrations, "LATEST", latest + 1)
        with pytest.raises(
            LakeError, match=rf"^migration {latest + 1} \(fails\) failed and was rolled back: [^\n]*nowhere"
        ):
            Lake(lake.home).ensure()
        with lake.read() as con:
            assert migrations.version(con) == latest
            tables = con.execute("SELECT table_name FROM information_schema.tables").fetchall()
            assert ("half",) not in tables
            assert ("half",) not in con.execute(
                "SELECT name FROM pragma_table_info('store.visits')"
            ).fetchall()

    def test_steps_are_applied_once_each_and_in_order(
        self, lake: Lake, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ran: list[int] = []
        before = migrations.LATEST
        new = (before + 1, before + 2)
        steps = tuple((n, f"step {n}", lambda con, n=n: ran.append(n)) for n in new)
        monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, *steps))
        monkeypatch.setattr(migrations, "LATEST", new[-1])
        for _ in range(2):
            Lake(lake.home).ensure()
        assert ran == list(new)
        numbers = lake.sql("SELECT number FROM store.migrations ORDER BY 1")["number"].to_list()
        assert numbers == [*range(1, before + 1), *new]

    def test_a_lake_of_a_newer_version_is_refused_in_one_line(self, lake: Lake) -> None:
        with lake.write() as con:
            con.execute("INSERT INTO store.migrations VALUES (99, 'future', now())")
        with pytest.raises(LakeError, match=r"^this lake has schema 99, made by a newer Brainlake[^\n]*$"):
            Lake(lake.home).ensure()

    def test_a_file_that_is_no_lake_is_refused_in_one_line(self, lake: Lake) -> None:
        lake.home.lake.write_bytes(b"nothing of the kind" * 1000)
        with pytest.raises(LakeError, match=r"^[^\n]*not a DuckDB file[^\n]*$"):
            Lake(lake.home).ensure()


class TestReading:
    def test_instants_come_back_in_utc_with_microseconds(self, workspace: Any, tmp_path: Path) -> None:
        take(workspace, tmp_path, Visit("2026-11-01T12:00:00.123456+02:00", PAGE))
        frame = workspace.lake.sql("SELECT visited_at FROM visits")
        assert frame.schema == {"visited_at": pl.Datetime("us", "UTC")}
        assert frame.item() == datetime(2026, 11, 1, 10, 0, 0, 123_456, tzinfo=UTC)

    def test_a_wrong_query_is_refused_in_one_line(self, lake: Lake) -> None:
        with pytest.raises(QueryRefused, match=r"^[^\n]*nowhere[^\n]*$"):
            lake.sql("SELECT * FROM nowhere")

    def test_values_are_bound(self, lake: Lake) -> None:
        assert lake.sql("SELECT ? AS a, ? AS b", ["'; DROP", 2]).rows() == [("'; DROP", 2)]

    def test_without_a_lake_it_says_so(self, tmp_path: Path) -> None:
        empty = Lake(Home(tmp_path / "none"))
        with pytest.raises(LakeError, match="there is no lake"):
            empty.sql("SELECT 1")
        with pytest.raises(LakeError, match="there is no lake"), empty.snapshot():
            pass
        assert not (tmp_path / "none").exists()

    def test_a_block_that_raises_writes_nothing(self, lake: Lake) -> None:
        def write() -> None:
            with lake.write() as con, transaction(con):
                con.execute("INSERT INTO store.meta VALUES ('a', 'b')")
                raise KeyError

        with pytest.raises(KeyError):
            write()
        assert lake.sql("SELECT * FROM store.meta").is_empty()


class TestSnapshots:
    def test_a_snapshot_is_one_moment_while_a_writer_writes(self, lake: Lake) -> None:
        stop = threading.Event()

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                with lake.write() as con, transaction(con):
                    for name in ("x", "y"):
                        con.execute(
                            "INSERT OR REPLACE INTO store.meta VALUES (?, ?)",
                            [name, str(number)],
                        )

        writer = threading.Thread(target=write)
        writer.start()
        try:
            seen = []
            for _ in range(10):
                with lake.snapshot() as con:
                    first = con.execute("SELECT value FROM store.meta ORDER BY name").fetchall()
                    assert first == con.execute("SELECT value FROM store.meta ORDER BY name").fetchall()
                    seen.append(tuple(v for (v,) in first))
        finally:
            stop.set()
            writer.join()
        assert all(len(set(values)) <= 1 for values in seen)

    def test_readers_of_one_state_share_one_copy(self, lake: Lake) -> None:
        with lake.snapshot_file() as one, Lake(lake.home).snapshot_file() as other:
            assert one == other
            assert [p.name for p in lake.home.snapshots.glob("*.duckdb")] == [one.name]

    def test_snapshots_of_one_state_nest_in_a_thread(self, lake: Lake) -> None:
        with lake.snapshot() as outer, lake.snapshot() as inner:
            assert outer.execute("SELECT 1").fetchall() == inner.execute("SELECT 1").fetchall()
        # The outer one still holds its copy after the inner has ended.
        with lake.snapshot_file() as outer_path:
            with lake.snapshot_file():
                pass
            _change(lake)
            with lake.snapshot_file():
                assert outer_path.exists()

    def test_a_copy_nobody_uses_is_removed_by_the_next(self, lake: Lake) -> None:
        with lake.snapshot_file() as old:
            spilled = Path(f"{old}.tmp")
            spilled.mkdir()
            _change(lake)
            with lake.snapshot_file() as new:
                assert old.exists()
                assert old != new
        with lake.snapshot_file() as now:
            assert now == new
            assert not old.exists()
            assert not spilled.exists()

    def test_copies_are_private_and_cannot_be_written(self, lake: Lake) -> None:
        with lake.snapshot_file() as path:
            assert path.stat().st_mode & 0o777 == 0o600
            assert path.parent.stat().st_mode & 0o777 == 0o700
        with lake.snapshot() as con, pytest.raises(Exception, match="read-only"):
            con.execute("DELETE FROM store.meta")

    def test_many_threads_may_open_one_at_once(self, lake: Lake) -> None:
        faults: list[BaseException] = []

        def read() -> None:
            try:
                for _ in range(5):
                    with lake.snapshot() as con:
                        assert con.execute("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]
            except BaseException as error:
                faults.append(error)

        threads = [threading.Thread(target=read) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []

    @pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
    def test_the_log_of_a_killed_writer_is_part_of_the_copy(self, lake: Lake) -> None:
        code = (
            "import sys, time; from pathlib import Path; from brain.config import Home; from brain.lake import Lake\n"
            "with Lake(Home(Path(sys.argv[1]))).write() as con:\n"
            "    con.execute(\"INSERT INTO store.meta VALUES ('kept', '1')\")\n"
            "    print('committed', flush=True); time.sleep(60)"
        )
        writer = subprocess.Popen([sys.executable, "-c", code, str(lake.home.root)], stdout=subprocess.PIPE)
        assert writer.stdout
        assert writer.stdout.readline() == b"committed\n"
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert Path(f"{lake.home.lake}.wal").stat().st_size > 0
        with lake.snapshot() as con:
            assert con.execute("SELECT name FROM store.meta").fetchall() == [("kept",)]
        assert [p.suffix for p in lake.home.snapshots.iterdir() if p.suffix != ".lock"] == [".duckdb"]
        assert lake.sql("SELECT name FROM store.meta")["name"].to_list() == ["kept"]


def _change(lake: Lake) -> None:
    with lake.write() as con:
        con.execute("INSERT INTO store.meta VALUES (gen_random_uuid()::VARCHAR, '')")
