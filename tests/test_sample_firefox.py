"""The sample's second browser: bookmarks in its history, a backup of them, and the phone that it syncs with."""

import re
import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from bookmark_files import read as read_bookmarks
from test_sample import queries, stems

from brain import importers
from brain.importers import firefox, firefox_backup, firefox_mobile
from brain.models import Batch
from brain.sample import SampleReport, fenix, generate
from brain.services.import_files import import_files
from brain.workspace import Workspace

END = date(2026, 11, 30)
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SampleReport:
    return generate(tmp_path_factory.mktemp("small"), "small", seed=1, end=END)


def path_of(report: SampleReport, browser: str, kind: str = "history") -> Path:
    (path,) = (f.path for f in report.files if (f.browser, f.kind) == (browser, kind))
    return path


def read(path: Path) -> Rows:
    found: Rows = {"urls": [], "visits": [], "bookmarks": []}
    for item in importers.pick(path).read(path):
        assert isinstance(item, Batch), item
        found[item.record] += item.rows.to_pylist()
    return found


def test_bookmarks_lie_in_folders_and_some_have_tags(small: SampleReport) -> None:
    path = path_of(small, "firefox")
    assert importers.pick(path) is firefox
    kept = read(path)["bookmarks"]
    assert len(kept) == 11
    assert {tuple(row["folder"]) for row in kept} == {
        ("Bookmarks menu", "Weekend"),
        ("Bookmarks menu", "Weekend", "Kitchen"),
        ("Bookmarks toolbar", "Someday"),
        ("Bookmarks toolbar",),
        ("Other bookmarks",),
    }
    assert {tag for row in kept for tag in row["tags"]} == {"print", "lend", "dig deeper"}
    assert any(not row["tags"] for row in kept)


def test_the_backup_says_what_the_profile_says(small: SampleReport) -> None:
    path = path_of(small, "firefox", "bookmarks")
    assert importers.pick(path) is firefox_backup
    rows, rejects = read_bookmarks(path)
    kept = {row["native_id"]: row for row in read(path_of(small, "firefox"))["bookmarks"]}
    assert {row["native_id"]: row for row in rows} == kept
    assert rejects == []


def test_what_points_to_a_place_is_counted(small: SampleReport) -> None:
    with closing(sqlite3.connect(path_of(small, "firefox"))) as con:
        pointing = "(SELECT count(*) FROM moz_bookmarks WHERE fk = p.id)"
        wrong = f"SELECT count(*) FROM moz_places p WHERE foreign_count <> {pointing}"
        assert con.execute(wrong).fetchone() == (0,)


def test_the_phone_has_its_own_visits_and_the_desktops_newest(small: SampleReport) -> None:
    path = path_of(small, "fenix")
    assert importers.pick(path) is firefox_mobile
    found = read(path)
    synced = [v for v in found["visits"] if v["origin"] == "synced"]
    assert len(synced) == fenix.SYNCED
    assert [v["is_visible"] for v in synced] == [True] * len(synced)
    desktop = {v["visited_us"] // 1_000 for v in read(path_of(small, "firefox"))["visits"]}
    assert {v["visited_us"] // 1_000 for v in synced} <= desktop
    here = [v for v in found["visits"] if v["origin"] == "local"]
    assert (len(here), sum(v["is_hop"] for v in here), sum(v["is_visible"] for v in here)) == (18, 3, 15)
    assert all((v["foreground_us"] is not None) == v["is_visible"] for v in here)
    assert [row["tags"] for row in found["bookmarks"]] == [["outside"], [], ["outside"]]


def test_what_the_phone_synced_is_one_visit_with_the_desktops(
    small: SampleReport, workspace: Workspace
) -> None:
    import_files(workspace, [path_of(small, "firefox")])
    count = "SELECT count(*) FROM visits WHERE is_visible"
    before = workspace.lake.sql(count).item()
    import_files(workspace, [path_of(small, "fenix")])
    repeated = "SELECT count(*) FROM visits WHERE browser = 'fenix' AND duplicate_of IS NOT NULL"
    assert workspace.lake.sql(repeated).item() == fenix.SYNCED
    assert workspace.lake.sql(count).item() - before == 15


def test_no_question_asks_for_a_page_of_the_phone(small: SampleReport) -> None:
    asked = set().union(*(stems(question["text"]) for question in queries(small)))
    with closing(sqlite3.connect(path_of(small, "fenix"))) as con:
        rows = con.execute(
            "SELECT title, url FROM moz_places WHERE visit_count_local > 0 AND title IS NOT NULL"
        ).fetchall()
    assert len(rows) == 5
    for title, url in rows:
        place = re.sub("[./-]", " ", url.removeprefix("https://").replace(".example", ""))
        assert not stems(f"{title} {place}") & asked, title
