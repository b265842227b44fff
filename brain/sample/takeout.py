"""The export of this person's Google account, in two zips as Takeout splits them: history, and My Activity.

The history repeats the newest half of the Chromium history to the microsecond, as the account's sync does, so that no
visit comes twice. It also remembers the visits that the browser has forgotten, of which only the URLs are left there.
"""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from brain.intervals import iso
from brain.sample.chromium import WINDOWS_EPOCH_US, forgotten
from brain.sample.pages import World
from brain.sample.trail import How, Trail

_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can tell: the same seed makes the same bytes
_TRANSITIONS = {How.TYPED: "TYPED", How.SEARCH: "GENERATED", How.FORM: "FORM_SUBMIT", How.RELOAD: "RELOAD"}
_NAME = "takeout-20261130T000000Z-00{part}.zip"
_TABS, _ACTIVITIES = 3, 20

Written = tuple[Path, str, str, dict[str, int]]


def write(folder: Path, world: World, trail: Trail) -> list[Written]:
    """Write the files; (path, kind, browser, rows by record) of each."""
    seen = np.flatnonzero(~np.isin(trail.how, (How.HOP, How.FRAME)))
    newest = seen[len(seen) // 2 :][::-1].tolist()
    first = [_visit(world, trail, row) for row in newest[:_ACTIVITIES]]
    activities = [_activity(visit) for visit in first if visit["url"].startswith("http")]
    _zip(folder, 1, "Chrome/History.json", _history(world, trail, newest, first))
    _zip(folder, 2, "My Activity/Chrome/MyActivity.json", iter([_pretty(activities)]))
    counts = (len(newest) + len(world.expired), len(activities))
    return [
        (folder / "takeout" / _NAME.format(part=part), "takeout", "chrome", {"visits": count})
        for part, count in enumerate(counts, 1)
    ]


def _zip(folder: Path, part: int, member: str, text: Iterator[str]) -> None:
    path = folder / "takeout" / _NAME.format(part=part)
    path.parent.mkdir(parents=True, exist_ok=True)
    info = zipfile.ZipInfo(f"Takeout/{member}", _TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, "w") as archive, archive.open(info, "w", force_zip64=True) as file:
        for piece in text:
            file.write(piece.encode())


def _history(world: World, trail: Trail, rows: list[int], first: list[dict[str, Any]]) -> Iterator[str]:
    """The history, newest first, one visit at a time: a large scale has a million."""
    yield '{\n"Browser History": ['
    for number, row in enumerate(rows):
        yield ("," if number else "") + "\n" + _pretty(_visit(world, trail, row))
    for page, at in sorted(forgotten(world, trail), key=lambda visit: (-visit[1], visit[0])):
        yield ",\n" + _pretty(_record(world, page, at, "LINK"))
    last = first[0]
    typed = {"url": last["url"], "title": last["title"], "hidden": False}
    others = {
        "Typed Url": [typed | {"visits": [last["time_usec"] + WINDOWS_EPOCH_US], "visit_transitions": [0]}],
        "Session": [
            {"session_tag": "laptop", "tab": {"current_navigation_index": 0, "navigation": [_step(visit)]}}
            for visit in first[:_TABS]
        ],
    }
    yield "\n],\n" + _pretty(others).removeprefix("{\n")


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _visit(world: World, trail: Trail, row: int) -> dict[str, Any]:
    transition = _TRANSITIONS.get(How(int(trail.how[row])), "LINK")
    return _record(world, int(trail.page[row]), int(trail.at[row]), transition)


def _record(world: World, page: int, at: int, transition: str) -> dict[str, Any]:
    return {
        "page_transition_qualifier": transition,
        "title": world.titles[page],
        "url": world.urls[page],
        "time_usec": at,
        "client_id": "c2FtcGxl",
    }


def _step(visit: dict[str, Any]) -> dict[str, Any]:
    return {
        "virtual_url": visit["url"],
        "title": visit["title"],
        "timestamp_msec": visit["time_usec"] // 1_000,
    }


def _activity(visit: dict[str, Any]) -> dict[str, Any]:
    return {
        "header": "Chrome",
        "title": f"Visited {visit['title']}",
        "titleUrl": visit["url"],
        "time": iso(visit["time_usec"]),
        "products": ["Chrome"],
    }
