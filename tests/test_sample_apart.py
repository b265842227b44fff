"""The sample's lesser browsers: a Safari that syncs with a phone and a short trial of qutebrowser, in true schemas."""

import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from history_files import Row, read
from test_sample import queries

from brain import importers
from brain.importers import qutebrowser, safari
from brain.sample import SampleReport, generate
from brain.sample.sqlite_file import _statements
from brain.services.import_files import import_files
from brain.workspace import Workspace

END = date(2026, 11, 30)
END_US = int(datetime(2026, 11, 30, tzinfo=UTC).timestamp()) * 1_000_000
DAY_US = 86_400_000_000
BROWSERS: dict[str, Any] = {"safari": safari, "qutebrowser": qutebrowser}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> SampleReport:
    return generate(tmp_path_factory.mktemp("demo"), "demo", seed=1, end=END)


@pytest.fixture(params=BROWSERS)
def browser(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def path_of(report: SampleReport, browser: str) -> Path:
    (path,) = (f.path for f in report.files if (f.browser, f.kind) == (browser, "history"))
    return path


def cells(report: SampleReport, browser: str, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path_of(report, browser))) as con:
        return con.execute(sql).fetchall()


def imported(report: SampleReport, browser: str) -> tuple[list[Row], list[Row]]:
    path = path_of(report, browser)
    assert importers.pick(path) is BROWSERS[browser]
    urls, visits, rejects = read(path, BROWSERS[browser])
    assert rejects == []
    return urls, visits


def test_tables_are_those_of_the_browser(demo: SampleReport, browser: str) -> None:
    tables, indexes = _statements(browser)
    made = {sql for (sql,) in cells(demo, browser, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")} - {
        "CREATE TABLE sqlite_sequence(name,seq)"
    }
    assert made == {*tables, *indexes}
    with closing(sqlite3.connect(path_of(demo, browser))) as con:
        assert con.execute("PRAGMA user_version").fetchone() == ({"safari": 16, "qutebrowser": 4}[browser],)
        assert con.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert con.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert con.execute("PRAGMA foreign_key_check").fetchall() == []


def test_safari_holds_hops_forms_failures_and_visits_of_the_phone(demo: SampleReport) -> None:
    urls, visits = imported(demo, "safari")
    assert (len(urls), len(visits)) == (256, 432)
    hops = {v["native_id"]: v for v in visits if v["is_hop"]}
    reached = [v for v in visits if v["from_native_id"]]
    assert len(hops) == len(reached) == 20
    for visit in reached:
        hop = hops[visit["from_native_id"]]
        assert visit["navigation"] == "redirect"
        assert (hop["title"], hop["is_visible"], visit["is_visible"]) == (None, False, True)
        assert hop["visited_us"] < visit["visited_us"]
        assert hop["url"].startswith("https://lnk.example/")
    failed = [v for v in visits if not v["is_visible"] and not v["is_hop"]]
    assert cells(demo, "safari", "SELECT count(*) FROM history_visits WHERE NOT load_successful") == [
        (len(failed),)
    ]
    assert failed
    assert {v["navigation"] for v in visits} == {"other", "form", "redirect"}
    assert {v["origin"] for v in visits} == {"local", "synced"}
    assert safari.tombstones(path_of(demo, "safari"))[0].url is None


def test_safari_counts_the_visits_of_each_page(demo: SampleReport) -> None:
    wrong = (
        "SELECT count(*) FROM history_items i WHERE visit_count <>"
        " (SELECT count(*) FROM history_visits v WHERE v.history_item = i.id)"
    )
    assert cells(demo, "safari", wrong) == [(0,)]


def test_qutebrowser_was_tried_for_a_fortnight_and_completes_what_was_visited(demo: SampleReport) -> None:
    urls, visits = imported(demo, "qutebrowser")
    assert len(urls) == len(visits) == 129  # nothing is known for completion alone
    assert sum(v["is_hop"] for v in visits) == 6
    times = [v["visited_us"] for v in visits]
    assert times == sorted(times)
    assert END_US - 56 * DAY_US <= times[0] < times[-1] <= END_US - 40 * DAY_US
    hops = (
        "SELECT count(*), count(DISTINCT title) > 1 FROM History WHERE redirect AND url LIKE '%lnk.example%'"
    )
    assert cells(demo, "qutebrowser", hops) == [(6, 1)]


def test_neither_visits_what_a_question_is_about(demo: SampleReport, browser: str) -> None:
    """Each question keeps its one best answer, and what was seen when stays as it was."""
    asked = {answer for question in queries(demo) for answer in question["answers"]}
    assert len(asked) > 50
    assert {url["url"] for url in imported(demo, browser)[0]} & asked == set()


def test_nothing_happens_after_the_end(demo: SampleReport, browser: str) -> None:
    assert max(v["visited_us"] for v in imported(demo, browser)[1]) <= END_US


def test_both_are_imported_under_their_names(demo: SampleReport, workspace: Workspace) -> None:
    paths = [path_of(demo, name) for name in BROWSERS]
    found = import_files(workspace, paths).imports
    assert [(i.browser, i.seen, i.new) for i in found] == [("safari", 432, 432), ("qutebrowser", 129, 129)]
