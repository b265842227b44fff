"""The sample's bookmarks and saved tabs: every file is read whole, and tells of the same person as the histories."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from bookmark_files import Row, read

from brain import importers
from brain.sample import SampleReport, generate

END = date(2026, 11, 30)
END_US = int(datetime(2026, 11, 30, tzinfo=UTC).timestamp()) * 1_000_000


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> SampleReport:
    return generate(tmp_path_factory.mktemp("sample"), "demo", seed=1, end=END)


def kept(report: SampleReport) -> Iterator[tuple[str, str, list[Row]]]:
    """For each file its importer, its kind and what it holds."""
    for file in report.files:
        if file.kind in ("bookmarks", "tabs"):
            rows, rejects = read(file.path)
            assert rejects == []
            assert len(rows) == file.rows["bookmarks"]
            yield importers.pick(file.path).NAME, file.kind, rows


def test_every_form_is_there_and_read_without_a_reject(demo: SampleReport) -> None:
    found = {name: (kind, len(rows)) for name, kind, rows in kept(demo)}
    assert {name: kind for name, (kind, _) in found.items()} == {
        "chrome_bookmarks": "bookmarks",
        "firefox_backup": "bookmarks",
        "netscape_html": "bookmarks",
        "safari_bookmarks": "bookmarks",
        "onetab": "tabs",
        "tab_session_manager": "tabs",
    }
    assert all(count > 20 for _, count in found.values())


def test_the_profile_folder_holds_history_and_bookmarks(demo: SampleReport) -> None:
    assert {f.path.name for f in demo.files if f.path.parent.name == "Default"} == {"History", "Bookmarks"}


def test_some_pages_were_visited_and_some_never(demo: SampleReport) -> None:
    history = next(f.path for f in demo.files if f.path.name == "History")
    with closing(sqlite3.connect(history)) as con:
        visited = {url for (url,) in con.execute("SELECT url FROM urls WHERE id IN (SELECT url FROM visits)")}
    chosen = {row["url"] for name, _, rows in kept(demo) for row in rows if name == "chrome_bookmarks"}
    assert len(chosen & visited) > len(chosen - visited) > 20


def test_the_older_export_overlaps_with_the_browsers_own_file(demo: SampleReport) -> None:
    by_name = {name: rows for name, _, rows in kept(demo)}
    now = {row["url"]: row for row in by_name["chrome_bookmarks"]}
    before = by_name["netscape_html"]
    assert all(row["url"] in now for row in before)
    assert len(before) < len(now)
    assert all(row["added_us"] == now[row["url"]]["added_us"] // 1_000_000 * 1_000_000 for row in before)
    folders = {tuple(row["folder"]) for row in before}
    assert ("Bookmarks bar", "Work/Data") in folders
    assert () in folders
    renamed = [row for row in before if row["title"] != now[row["url"]]["title"]]
    assert 0 < len(renamed) < len(before) / 2


def test_all_shelves_but_open_tabs_occur_and_nothing_happens_after_the_end(demo: SampleReport) -> None:
    everything = [row for _, _, rows in kept(demo) for row in rows]
    assert {row["shelf"] for row in everything} == {"bookmarks", "reading_list", "saved_tabs"}
    known = [row["added_us"] for row in everything if row["added_us"] is not None]
    assert max(known) <= END_US
    assert len(known) < len(everything)
    assert all(row["added_raw"] is None for row in everything)


def test_what_has_no_answer_is_not_kept_either(demo: SampleReport) -> None:
    words = {
        word.lower()
        for _, _, rows in kept(demo)
        for row in rows
        if "kept.example" in row["url"]
        for word in (row["title"] or "").replace(":", " ").split()
    }
    for query in json.loads(demo.queries.read_text("utf-8"))["queries"]:
        if query["family"] == "no-answer":
            assert not {w for w in query["text"].lower().split() if len(w) > 5} & words, query["text"]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    def digests(seed: int, name: str) -> list[str]:
        report = generate(tmp_path / name, "small", seed=seed, end=END)
        return [
            hashlib.sha256(f.path.read_bytes()).hexdigest()
            for f in report.files
            if f.kind in ("bookmarks", "tabs")
        ]

    assert digests(7, "first") == digests(7, "again")
    assert not set(digests(7, "first")) & set(digests(8, "other"))
