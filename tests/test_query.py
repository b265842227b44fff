"""SQL for people and models: what gets out of bounds is refused or stopped, and says so in one line."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from histories import Visit, chromium

from brain import views
from brain.errors import LakeError, QueryRefused, UsageError
from brain.services.import_files import import_files
from brain.services.query import describe, query
from brain.workspace import Workspace

FILES = "queries may read the lake's views only, no files and no network"
TOO_LONG = "the query ran for more than 0.5 s and was stopped"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace on a lake of three visits; to be read only."""
    from brain import open_workspace

    folder = tmp_path_factory.mktemp("query")
    ws = open_workspace(folder / "home")
    visits = [Visit(f"2026-11-01T10:00:0{n}Z", f"https://{n}.example/", f"Page {n}") for n in range(3)]
    import_files(ws, [chromium(folder / "History", visits)])
    return ws


def refused(ws: Workspace, sql: str, seconds: float = 0.5) -> str:
    with pytest.raises(QueryRefused) as caught:
        query(ws, sql, seconds=seconds)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestOutOfBounds:
    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT * FROM read_text('{secret}')",
            "SELECT * FROM read_blob('{secret}')",
            "SELECT * FROM read_csv('{secret}')",
            "SELECT * FROM read_json('{secret}')",
            "SELECT * FROM read_parquet('{secret}')",
            "SELECT * FROM sniff_csv('{secret}')",
            "SELECT * FROM glob('/*')",
            "SELECT * FROM parquet_metadata('{secret}')",
            "SELECT * FROM read_text('http://127.0.0.1:9/')",
            "SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')",
            "SELECT * FROM duckdb_secrets()",
        ],
    )
    def test_files_and_network_are_out_of_reach(self, lake: Workspace, tmp_path: Path, sql: str) -> None:
        secret = tmp_path / "secret.csv"
        secret.write_text("a\n1\n")
        assert refused(lake, sql.replace("{secret}", str(secret))) == FILES

    def test_a_file_cannot_be_named_like_a_table(self, lake: Workspace, tmp_path: Path) -> None:
        for name in ("secret.csv", "secret.parquet", "secret"):
            (tmp_path / name).write_text("a\n1\n")
            said = refused(lake, f"SELECT * FROM '{tmp_path}/{name}'")
            assert said == FILES or "does not exist" in said

    @pytest.mark.parametrize(
        "sql",
        [
            "COPY (SELECT 1) TO '{out}'",
            "COPY store.visits FROM '{out}'",
            "EXPORT DATABASE '{out}'",
            "ATTACH '{out}'",
            "DETACH lake",
            "USE memory",
            "INSTALL httpfs",
            "LOAD httpfs",
            "PRAGMA database_list",
            "SET threads = 1",
            "SET GLOBAL lock_configuration = false",
            "RESET memory_limit",
            "CALL pragma_version()",
            "CHECKPOINT",
            "VACUUM",
            "BEGIN",
            "PREPARE p AS SELECT 1",
            "CREATE TEMP TABLE t (a INTEGER)",
            "CREATE MACRO visits() AS 1",
            "INSERT INTO store.meta VALUES ('a', 'b')",
            "UPDATE store.urls SET url = ''",
            "DELETE FROM store.visits",
            "DROP VIEW visits",
            "ALTER TABLE store.visits RENAME TO gone",
            "EXPLAIN ANALYZE SELECT 1",
            "PIVOT visits ON browser USING count(*)",
        ],
    )
    def test_anything_but_a_select_is_refused(self, lake: Workspace, tmp_path: Path, sql: str) -> None:
        out = tmp_path / "out"
        assert refused(lake, sql.replace("{out}", str(out))).startswith("only SELECT is allowed, not ")
        assert not out.exists()

    @pytest.mark.parametrize(
        "sql", ["SELECT 1; SELECT 2", "SELECT 1; DROP VIEW visits", "", "  ", "-- nothing"]
    )
    def test_it_is_one_statement(self, lake: Workspace, sql: str) -> None:
        assert refused(lake, sql).startswith("one SELECT at a time; this holds ")

    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT nextval('store.change_seq')",
            "WITH gone AS (DELETE FROM store.visits RETURNING *) SELECT * FROM gone",
        ],
    )
    def test_a_select_cannot_write(self, lake: Workspace, sql: str) -> None:
        assert "read-only" in refused(lake, sql)

    @pytest.mark.parametrize("name", ["local_frame", "local_list", "lake", "sql", "batches", "con"])
    def test_variables_of_the_program_are_no_tables(self, lake: Workspace, name: str) -> None:
        local_frame = pl.DataFrame({"a": [1]})
        local_list = [1]
        assert "does not exist" in refused(lake, f"SELECT * FROM {name}")
        assert (len(local_frame), len(local_list)) == (1, 1)

    def test_the_environment_is_out_of_reach(self, lake: Workspace) -> None:
        assert "does not exist" in refused(lake, "SELECT getenv('HOME')")

    def test_extensions_are_never_fetched(self, lake: Workspace) -> None:
        said = refused(lake, "SELECT * FROM sqlite_scan('a', 'b')")
        assert "install" not in said.lower()
        settings = query(
            lake, "SELECT DISTINCT value FROM duckdb_settings() WHERE name LIKE 'auto%_known_extensions'"
        )
        assert settings.frame.rows() == [("false",)]


class TestCaps:
    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT count(*) FROM range(1_000_000_000_000) r(n) WHERE hash(n) = 1",
            "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
            f"SELECT count(*) FROM {', '.join(f'range(1000) r{n}(n{n})' for n in range(5))} WHERE n0 + n1 = n2 + n3",
            "SELECT n FROM range(100_000_000_000) r(n) ORDER BY hash(n)",
            "SELECT n, sleep_ms(400) FROM range(100) r(n)",
        ],
    )
    def test_what_takes_too_long_is_stopped(self, lake: Workspace, sql: str) -> None:
        assert refused(lake, sql) == TOO_LONG

    def test_it_is_stopped_in_a_fair_time_while_others_use_the_lake(self, lake: Workspace) -> None:
        said: list[str] = []
        thread = threading.Thread(
            target=lambda: said.append(
                refused(lake, "SELECT count(*) FROM range(1_000_000_000_000) r(n)", 1.0)
            )
        )
        thread.start()
        leases = 0
        while thread.is_alive():
            with lake.lake.write(timeout=2.0) as con:  # LakeBusy if the query held the lake
                con.execute("SELECT 1")
            with lake.lake.read(timeout=2.0) as con:
                leases += len(con.execute("SELECT count(*) FROM visits").fetchall())
            time.sleep(0.01)
        assert said == [TOO_LONG.replace("0.5", "1")]
        assert leases > 0

    def test_an_endless_result_is_cut_at_once(self, lake: Workspace) -> None:
        result = query(lake, "SELECT * FROM range(1_000_000_000_000)", max_rows=5)
        assert (result.frame.height, result.truncated) == (5, True)

    @pytest.mark.parametrize(("most", "truncated"), [(2, True), (3, False), (4, False)])
    def test_it_says_whether_rows_were_left_out(self, lake: Workspace, most: int, truncated: bool) -> None:
        result = query(lake, "SELECT url FROM visits", max_rows=most)
        assert (result.frame.height, result.truncated) == (min(most, 3), truncated)

    @pytest.mark.skipif(sys.platform != "linux", reason="needs resource and /proc")
    @pytest.mark.parametrize(
        "sql",
        ["SELECT range(1_000_000_000)", "SELECT string_agg(repeat('x', 1000), '') FROM range(10_000_000)"],
    )
    def test_what_needs_too_much_memory_is_refused(self, lake: Workspace, sql: str) -> None:
        """In a process of its own, which could not grow beyond 6 GB."""
        code = (
            "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))\n"
            "from brain import open_workspace; from brain.services.query import query\n"
            "from brain.errors import QueryRefused\n"
            "try: query(open_workspace(sys.argv[1]), sys.argv[2], seconds=60)\n"
            "except QueryRefused as error: print(error)\n"
            "status = open('/proc/self/status').read()  # ru_maxrss would count the parent before exec too\n"
            "print(int(status.split('VmHWM:')[1].split()[0]) // 1024)"
        )
        run = subprocess.run(
            [sys.executable, "-c", code, str(lake.home.root), sql], capture_output=True, text=True, check=True
        )
        said, peak_mb = run.stdout.splitlines()
        assert said == "the query needs more memory than it may have; narrow it or add a LIMIT"
        assert (
            int(peak_mb) < 4_000
        )  # without the cap it takes all there is; what is counted late comes on top

    def test_the_caps_cannot_be_changed(self, lake: Workspace) -> None:
        with lake.lake.snapshot() as con:
            for change in (
                "SET memory_limit = '1TB'",
                "SET enable_external_access = true",
                "SET TimeZone = 'Asia/Tokyo'",
            ):
                with pytest.raises(Exception, match=r"configuration has been locked|Cannot change"):
                    con.execute(change)


class TestAnswers:
    @pytest.mark.parametrize(
        "sql",
        [
            "SELECT count(*) FROM visits",
            "SELECT count(*) FROM visits;",
            "-- how many\nSELECT count(*) /* all */ FROM visits -- of them",
            "WITH v AS (FROM visits) SELECT count(*) FROM v",
            "FROM visits SELECT count(*)",
        ],
    )
    def test_a_quiet_select_is_answered(self, lake: Workspace, sql: str) -> None:
        result = query(lake, sql)
        assert (result.frame.rows(), result.truncated) == ([(3,)], False)

    def test_without_rows_the_columns_keep_their_types(self, lake: Workspace) -> None:
        result = query(lake, "SELECT visited_at, url, is_visible, duration_us FROM visits WHERE false")
        assert result.frame.schema == {
            "visited_at": pl.Datetime("us", "UTC"),
            "url": pl.String,
            "is_visible": pl.Boolean,
            "duration_us": pl.Int64,
        }

    @pytest.mark.parametrize(
        ("expression", "value"),
        [
            ("INTERVAL 3 DAY", "3 days"),
            ("union_value(k := 1)", "1"),
            ("'10101'::BIT", "10101"),
            ("[INTERVAL 1 DAY]", "[1 day]"),
            ("340282366920938463463374607431768211455::UHUGEINT", "340282366920938463463374607431768211455"),
            ("[1, 2]", [1, 2]),
            ("{'a': 1}", {"a": 1}),
            ("NULL", None),
            ("'x'::ENUM('x', 'y')", "x"),
        ],
    )
    def test_every_type_has_a_form(self, lake: Workspace, expression: str, value: Any) -> None:
        assert query(lake, f"SELECT {expression} AS v").frame.rows() == [(value,)]

    def test_columns_of_one_name_are_told_apart(self, lake: Workspace) -> None:
        frame = query(lake, 'SELECT 1 AS a, 2 AS a, 3 AS "a_1", 4 AS "q""q"').frame
        assert len(set(frame.columns)) == 4
        assert frame.rows() == [(1, 2, 3, 4)]
        assert lake.lake.sql("SELECT 1 AS a, 2 AS a").rows() == [(1, 2)]

    @pytest.mark.parametrize(
        "value", ["'infinity'::TIMESTAMPTZ", "TIMESTAMP '0044-03-15 (BC) 10:00'", "'-infinity'::DATE"]
    )
    def test_times_that_are_none_are_refused(self, lake: Workspace, value: str) -> None:
        assert (
            refused(lake, f"SELECT {value} AS t")
            == "t holds a time outside the years 1 to 9999; cast it to VARCHAR"
        )

    def test_a_missing_view_or_column_is_answered_with_what_there_is(self, lake: Workspace) -> None:
        said = refused(lake, "SELECT * FROM visit")
        assert said.endswith(f"There are the views {', '.join(v.name for v in views.VIEWS)}.")
        assert '"url"' in refused(lake, "SELECT urll FROM visits")
        assert "syntax error" in refused(lake, "SELECT * FROM visits WHERE")

    def test_without_a_lake_it_says_so(self, workspace: Workspace) -> None:
        with pytest.raises(LakeError, match="there is no lake"):
            query(workspace, "SELECT 1")
        assert not workspace.home.root.exists()


class TestSchema:
    def test_every_documented_view_is_described_with_its_real_columns(self, lake: Workspace) -> None:
        assert [(v.name, v.about, [(n, m) for n, _, m in v.columns]) for v in describe(lake)] == [
            (v.name, v.about, list(v.columns.items())) for v in views.VIEWS
        ]
        (visits,) = describe(lake, "visits")
        assert {n: t for n, t, _ in visits.columns}["visited_at"] == "TIMESTAMP WITH TIME ZONE"

    def test_an_unknown_view_is_refused_with_what_there_is(self, lake: Workspace) -> None:
        with pytest.raises(UsageError, match="there is no view 'visit'; there are visits, pages"):
            describe(lake, "visit")
