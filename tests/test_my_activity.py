"""My Activity as Takeout exports it in JSON, built here from its documented form: a second, coarser history."""

import json
from pathlib import Path
from typing import Any

import pytest
from bookmark_files import DAMAGES, Damage, damaged, written
from hypothesis import HealthCheck, given, settings
from test_takeout import read, takes_anything

from brain import importers
from brain.errors import EmptySource, SourceError
from brain.importers import my_activity
from brain.services.import_files import import_files
from brain.workspace import Workspace

ACTIVITY: list[dict[str, Any]] = [
    {
        "header": "Chrome",
        "title": "Visited The page",
        "titleUrl": "https://www.google.com/url?q=https://p.example/a?b%3D1&usg=x",
        "time": "2023-11-14T22:13:20.123Z",
        "products": ["Chrome"],
    },
    {
        "header": "Search",
        "title": "Searched for tea",
        "titleUrl": "https://www.google.com/search?q=tea",
        "time": "2023-11-14T22:13:21Z",
    },
    {
        "header": "Chrome",
        "title": "Besucht: Seite",
        "titleUrl": "https://s.example/",
        "time": "2023-11-14T22:13:22.000001Z",
    },
    {"header": "Maps", "title": "Used Maps", "time": "2023-11-14T22:13:23Z"},
    {
        "header": "Chrome",
        "title": "https://u.example/",
        "titleUrl": "https://u.example/",
        "time": "2023-11-14T22:13:24Z",
    },
]


def test_my_activity_gives_pages_and_searches_with_their_addresses_unwrapped(tmp_path: Path) -> None:
    path = written(tmp_path / "MeineAktivitaeten.json", json.dumps(ACTIVITY))
    assert importers.pick(path) is my_activity
    rows, rejects = read(path, my_activity)
    assert rejects == []
    assert [(v["url"], v["visited_us"], v["navigation"]) for v in rows["visits"]] == [
        ("https://p.example/a?b=1", 1_700_000_000_123_000, "other"),
        ("https://www.google.com/search?q=tea", 1_700_000_001_000_000, "generated"),
        ("https://s.example/", 1_700_000_002_000_001, "other"),
        ("https://u.example/", 1_700_000_004_000_000, "other"),
    ]
    assert [u["title"] for u in rows["urls"]] == ["The page", "Searched for tea", "Seite", None]


def test_my_activity_rejects_bad_instants_one_by_one(tmp_path: Path) -> None:
    bad = [
        ACTIVITY[0] | {"time": t}
        for t in ("", "2023-11-14", "2023-11-14T22:13:20", "1950-01-01T00:00:00Z", None, 5)
    ]
    rows, rejects = read(written(tmp_path / "x", json.dumps([*bad, ACTIVITY[2], 7])), my_activity)
    assert len(rows["visits"]) == 1
    assert [where for where, _ in rejects] == [*(f"activity[{n}]" for n in range(6)), "activity[7]"]


def test_my_activity_matches_the_visits_of_a_history_within_two_seconds(
    workspace: Workspace, tmp_path: Path
) -> None:
    at = 1_700_000_000_000_000
    visits = [
        {"url": f"https://v.example/{n}", "time_usec": at + n * 60_000_000 + 1_500_000, "title": "V"}
        for n in range(4)
    ]
    acts = [
        {
            "header": "Chrome",
            "title": f"Visited V{n}",
            "titleUrl": f"https://v.example/{n}",
            "time": f"2023-11-14T22:{13 + n}:20Z",
        }
        for n in range(4)
    ]
    written(tmp_path / "a.json", json.dumps({"Browser History": visits}))
    written(tmp_path / "b.json", json.dumps(acts))
    import_files(workspace, [tmp_path / "a.json", tmp_path / "b.json"])
    row = workspace.lake.sql("SELECT count(*), count(*) FILTER (WHERE is_visible) FROM visits").row(0)
    assert row == (8, 4)


def test_my_activity_as_html_says_what_to_do(tmp_path: Path) -> None:
    page = '<html><head><title>My Activity History</title></head><body><div class="outer-cell mdl-cell">'
    path = written(tmp_path / "MyActivity.html", page)
    assert importers.pick(path) is my_activity
    with pytest.raises(SourceError, match="export it again as JSON"):
        read(path, my_activity)


def test_an_activity_that_is_no_visit_to_a_page_is_passed_over_and_never_refused(tmp_path: Path) -> None:
    others: list[dict[str, Any]] = [
        {"header": "Maps", "title": "Used Maps", "time": "2023-11-14T22:13:23Z"},
        {
            "header": "Android",
            "title": "Used X",
            "titleUrl": "android-app://x",
            "time": "2023-11-14T22:13:23Z",
        },
        {"header": "Voice", "title": "Said tea", "titleUrl": None, "time": "no time"},
    ]
    path = written(tmp_path / "x", json.dumps([*others, ACTIVITY[2]]))
    rows, rejects = read(path, my_activity)
    assert ([v["native_id"] for v in rows["visits"]], rejects) == ([3], [])
    with pytest.raises(EmptySource):
        read(written(tmp_path / "y", json.dumps(others)), my_activity)


def test_activities_cut_off_keep_what_came_before(tmp_path: Path) -> None:
    data = json.dumps(ACTIVITY)
    path = written(tmp_path / "x", data[: data.index("Besucht")])
    rows, rejects = read(path, my_activity)
    assert [v["url"] for v in rows["visits"]] == [
        "https://p.example/a?b=1",
        "https://www.google.com/search?q=tea",
    ]
    assert rejects == [("activities", "the rest cannot be read: it ends too early")]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(DAMAGES)
def test_damaged_activities_give_records_rejects_or_one_line(tmp_path: Path, damage: Damage) -> None:
    takes_anything(tmp_path / "x", damaged(json.dumps(ACTIVITY).encode(), damage), my_activity)
