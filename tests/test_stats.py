"""Counts of visits: exact on a handmade history, in the user's days, unknown time kept apart from none."""

from dataclasses import replace
from pathlib import Path

import pytest
from histories import LINK, Visit, chromium

from brain import config
from brain.errors import UsageError
from brain.services.import_files import ImportOptions, import_files
from brain.services.stats import browsing_stats
from brain.workspace import Workspace

A, B = "https://www.a.example/one", "https://b.example/"
VISITS = [
    # In Vienna the clocks went forward on 2026-03-29 at 02:00 and back on 2026-10-25 at 03:00.
    Visit("2026-03-28T22:59:59.999999Z", A, foreground_us=1_500_000),  # 23:59 on the 28th
    Visit("2026-03-28T23:00:00Z", A, foreground_us=0),  # 00:00 on the 29th
    Visit("2026-03-29T21:59:59Z", B),  # 23:59 on the 29th, a day of 23 hours
    Visit("2026-03-29T22:00:00Z", B, foreground_us=250_000),  # 00:00 on the 30th
    Visit("2026-10-25T00:30:00Z", A),  # 02:30 the first time
    Visit("2026-10-25T01:30:00Z", A, foreground_us=2_000_000),  # 02:30 the second time
    Visit("2026-10-25T01:30:01Z", B, transition=LINK | 3),  # a frame
]


def make(folder: Path) -> Workspace:
    ws = Workspace(replace(config.load(folder / "home"), timezone="Europe/Vienna"))
    import_files(ws, [chromium(folder / "History", VISITS)], ImportOptions(browser="chrome"))
    return ws


@pytest.fixture(scope="module")
def vienna(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A lake with these visits; to be read only."""
    return make(tmp_path_factory.mktemp("stats"))


def row(key: str, visits: int, visible: int, pages: int, seconds: float | None) -> dict[str, object]:
    return {"key": key, "visits": visits, "visible_visits": visible, "pages": pages, "seconds": seconds}


def test_days_are_those_of_the_zone_through_its_clock_changes(vienna: Workspace) -> None:
    stats = browsing_stats(vienna)
    assert stats.rows == [
        row("2026-03-28", 1, 1, 1, 1.5),
        row("2026-03-29", 2, 2, 2, 0.0),
        row("2026-03-30", 1, 1, 1, 0.25),
        row("2026-10-25", 3, 2, 1, 2.0),
    ]
    assert stats.totals == {"visits": 7, "visible_visits": 6, "pages": 2}


def test_in_another_zone_they_are_other_days(vienna: Workspace) -> None:
    utc = Workspace(replace(vienna.settings, timezone="UTC"))
    assert [(r["key"], r["visits"]) for r in browsing_stats(utc).rows] == [
        ("2026-03-28", 2),
        ("2026-03-29", 2),
        ("2026-10-25", 3),
    ]


def test_an_hour_that_comes_twice_counts_both(vienna: Workspace) -> None:
    assert [(r["key"], r["visits"]) for r in browsing_stats(vienna, by="hour", since="2026-10").rows] == [
        ("02", 3)
    ]


def test_unknown_time_in_front_is_none_and_measured_none_is_zero(vienna: Workspace) -> None:
    seconds = {day: browsing_stats(vienna, "domain", day, day).rows for day in ("2026-03-29", "2026-10-25")}
    assert {r["key"]: r["seconds"] for r in seconds["2026-03-29"]} == {"a.example": 0.0, "b.example": None}
    assert {r["key"]: r["seconds"] for r in seconds["2026-10-25"]} == {"a.example": 2.0, "b.example": None}


def test_domains_come_by_what_a_person_saw(vienna: Workspace) -> None:
    assert browsing_stats(vienna, "domain").rows == [
        row("a.example", 4, 4, 1, 3.5),
        row("b.example", 3, 2, 1, 0.25),
    ]
    limited = browsing_stats(vienna, "domain", limit=1)
    assert [r["key"] for r in limited.rows] == ["a.example"]
    assert limited.totals["visits"] == 7


def test_repeats_seen_by_another_source_are_counted_once(tmp_path: Path) -> None:
    vienna = make(tmp_path)
    repeat = [Visit("2026-03-29T21:59:59.5Z", B)]
    import_files(vienna, [chromium(tmp_path / "brave" / "History", repeat)], ImportOptions(browser="brave"))
    stats = browsing_stats(vienna, since="2026-03-29", until="2026-03-29")
    assert stats.rows == [row("2026-03-29", 3, 2, 2, 0.0)]
    assert [(r["key"], r["visits"]) for r in browsing_stats(vienna, "source").rows] == [("chromium", 8)]


@pytest.mark.parametrize(
    ("since", "until", "echo", "visits"),
    [
        (None, None, (None, None), 7),
        ("2026-03-29", "2026-03-29", ("2026-03-28T23:00:00.000000Z", "2026-03-29T22:00:00.000000Z"), 2),
        ("2026-10-25", None, ("2026-10-24T22:00:00.000000Z", None), 3),
        (None, "2026-03-28T22:59:59.999999Z", (None, "2026-03-28T22:59:59.999999Z"), 0),
        (None, "2026-03-28T23:00:00Z", (None, "2026-03-28T23:00:00.000000Z"), 1),
        (
            "2026-03-28T22:59:59.999999Z",
            "2026-03",
            ("2026-03-28T22:59:59.999999Z", "2026-03-31T22:00:00.000000Z"),
            4,
        ),
    ],
)
def test_the_interval_is_half_open_and_echoed(
    vienna: Workspace, since: str | None, until: str | None, echo: tuple[str | None, str | None], visits: int
) -> None:
    stats = browsing_stats(vienna, since=since, until=until)
    assert stats.coverage.interval == dict(zip(("since", "until"), echo, strict=True))
    assert stats.coverage.zone == "Europe/Vienna"
    assert stats.totals["visits"] == visits


def test_it_tells_what_it_rests_on(vienna: Workspace) -> None:
    assert browsing_stats(vienna).coverage.sources == [
        {"source": "chromium", "newest": "2026-10-25T01:30:01.000000Z", "rows": 7}
    ]


def test_an_empty_lake_has_no_rows(workspace: Workspace) -> None:
    stats = browsing_stats(workspace)
    assert (stats.rows, stats.totals) == ([], {"visits": 0, "visible_visits": 0, "pages": 0})
    assert not workspace.home.root.exists()


@pytest.mark.parametrize(("by", "since"), [("url", None), ("day", "soon"), ("day", "2027-01-01T00:00:00")])
def test_what_cannot_be_meant_is_refused(vienna: Workspace, by: str, since: str | None) -> None:
    with pytest.raises(UsageError):
        browsing_stats(vienna, by, since, until="2026-01-01")
