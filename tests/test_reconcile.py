"""The same visit from several sources is one visit, seen by each of them, counted once."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from histories import Visit, chromium, us

from brain import importers
from brain.inbox import Inbox
from brain.intervals import iso
from brain.services.drain_inbox import drain
from brain.services.drain_inbox import inbox as inbox_of
from brain.services.import_files import ImportOptions, import_files
from brain.workspace import Workspace

START = us("2026-10-01T08:00:00+00:00")
RANDOM = random.Random(11)
# Two hundred visits to eighty pages, microseconds and all; no two within a minute of each other.
VISITS = [
    (
        f"https://site{n % 80}.example/page?n={n % 80}",
        f"Page {n % 80}",
        START + n * 60_000_000 + RANDOM.randrange(10**6),
    )
    for n in range(200)
]


def from_browser(ws: Workspace, folder: Path) -> None:
    file = chromium(
        folder / "google-chrome" / "Default" / "History",
        [Visit(iso(at), url, title) for url, title, at in VISITS],
    )
    import_files(ws, [file], ImportOptions(browser="chrome", profile="Default"))


def from_takeout(ws: Workspace, folder: Path) -> None:
    entries = [
        {"url": url, "title": title, "time_usec": at, "page_transition": "LINK", "client_id": "c"}
        for url, title, at in reversed(VISITS)
    ]
    file = folder / "Takeout" / "Chrome" / "History.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"Browser History": entries}), "utf-8")
    (outcome,) = import_files(ws, [file]).imports
    assert outcome.status in ("imported", "unchanged"), outcome.error


def from_extension(ws: Workspace, folder: Path) -> None:
    """What a back-fill by chrome.history.getVisits sends: milliseconds with a fraction, as a double."""
    box: Inbox = inbox_of(ws)
    for number, (url, title, at) in enumerate(VISITS):
        milliseconds = at / 1_000
        exact = iso(round(milliseconds * 1_000))
        data = {"url": url, "title": title, "transition": "link"}
        box.drop(
            {
                "id": f"visit-{number}",
                "kind": "visit",
                "at": exact,
                "data": data,
                "browser": "chrome",
                "profile": "Default",
            }
        )
    assert drain(ws).rejected == 0


WAYS: list[Callable[[Workspace, Path], None]] = [from_browser, from_takeout, from_extension]


def count(ws: Workspace) -> tuple[int, int, int]:
    """Visits, observations, visible visits."""
    row = ws.lake.sql(
        "SELECT (SELECT count(*) FROM visits), (SELECT count(*) FROM observations), "
        "(SELECT count(*) FROM visits WHERE is_visible)"
    )
    return row.row(0)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_the_same_visits_from_three_sources_are_counted_once_in_any_order(
    workspace: Workspace, tmp_path: Path, order: tuple[int, ...]
) -> None:
    for number in order:
        WAYS[number](workspace, tmp_path)
    assert count(workspace) == (200, 600, 200)
    for number in order:
        WAYS[number](workspace, tmp_path)
    assert count(workspace) == (200, 600, 200)
    titles = workspace.lake.sql(
        "SELECT DISTINCT title FROM visits WHERE url = 'https://site7.example/page?n=7'"
    )
    assert titles.rows() == [("Page 7",)]


class Coarse:
    """An importer of a source whose clock is off by up to two seconds."""

    NAME, SOURCE, BROWSER, VERSION, CLOCK_US = "coarse", "import", "unknown", 1, 2_000_000
    shift = 0

    @staticmethod
    def detect(path: Path) -> bool:
        return path.name == "coarse"

    @classmethod
    def read(cls, path: Path) -> Any:
        from brain.importers import chromium as real

        yield from real.read(path)


def test_a_coarse_clock_is_matched_within_its_own_bounds_and_no_further(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = [Visit(iso(START + n * 60_000_000), "https://a.example/", "A") for n in range(4)]
    shifts = (0, 1_900_000, -1_900_000, 2_100_000)
    rough = [
        Visit(iso(START + n * 60_000_000 + shift), "https://a.example/", "A")
        for n, shift in enumerate(shifts)
    ]
    import_files(workspace, [chromium(tmp_path / "History", exact)])
    monkeypatch.setattr(importers, "IMPORTERS", (Coarse, *importers.IMPORTERS))
    import_files(workspace, [chromium(tmp_path / "coarse", rough)])
    assert count(workspace) == (4 + 3, 8, 4 + 1)


def test_two_sources_with_exact_clocks_are_matched_within_a_second(
    workspace: Workspace, tmp_path: Path
) -> None:
    first = [
        Visit(iso(START), "https://a.example/", "A"),
        Visit(iso(START + 60_000_000), "https://a.example/", "A"),
    ]
    second = [
        Visit(iso(START + 900_000), "https://a.example/", "A"),
        Visit(iso(START + 61_500_000), "https://a.example/", "A"),
    ]
    import_files(workspace, [chromium(tmp_path / "one" / "History", first)], ImportOptions(profile="one"))
    import_files(workspace, [chromium(tmp_path / "two" / "History", second)], ImportOptions(profile="two"))
    assert count(workspace) == (4, 4, 3)
