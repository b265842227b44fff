"""Generates all sample files: one world of pages, one trail of visits per browser, one writer per format."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path

import numpy as np

from brain.errors import UsageError
from brain.sample import (
    bookmarks,
    chromium,
    fenix,
    firefox,
    firefox_bookmarks,
    moved,
    pages,
    queries,
    qutebrowser,
    safari,
    sessions,
    takeout,
    trail,
)
from brain.sample.sessions import SECOND, Role
from brain.sample.trail import Trail

# Where the history ends unless the caller says so: fixed, because this module reads no clock.
DEFAULT_END = date(2026, 11, 30)
FIREFOX_PROFILE = "k3v9x2qa.default-release"


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of a sample: visits per browser, days of history, article pages per article visit."""

    chromium: int
    firefox: int
    days: int
    article_share: float


SCALES: dict[str, Scale] = {
    "small": Scale(chromium=260, firefox=60, days=180, article_share=0.45),
    "demo": Scale(chromium=4_500, firefox=600, days=180, article_share=0.42),
    "large": Scale(chromium=100_000, firefox=6_000, days=730, article_share=0.36),
    "1m": Scale(chromium=1_000_000, firefox=20_000, days=1_825, article_share=0.337),
}


@dataclass(frozen=True, slots=True)
class SampleFile:
    """One written file, or a vault of notes, which is a folder.

    `kind` is "history", "bookmarks", "tabs", "takeout", "visits", "thoughts", "talks" or "notes", `browser` as in
    `brain.models.BROWSERS`; `rows` counts what it holds, by table or record.
    """

    path: Path
    kind: str
    browser: str
    rows: dict[str, int]


@dataclass(frozen=True, slots=True)
class SampleReport:
    """What was written. `visits` counts the visits of Chromium and Firefox, `pages` the distinct URLs visited there."""

    files: list[SampleFile] = field(default_factory=list)
    queries: Path = Path()
    pages: int = 0
    visits: int = 0


def generate(
    folder: Path,
    scale: str = "demo",
    seed: int = 1,
    end: date | datetime | None = None,
    progress: Callable[[str], None] | None = None,
) -> SampleReport:
    """Write a sample into `folder` (made if missing; files of an earlier sample are replaced).

    No instant is later than `end`: an aware datetime, or a date, which stands for the midnight (UTC) it begins with;
    `DEFAULT_END` when None. `progress` is called with a few words before each step. Raises UsageError for an unknown
    scale, a negative seed or a naive datetime.
    """
    if scale not in SCALES:
        raise UsageError(f"unknown scale {scale!r}: choose one of {', '.join(SCALES)}")
    if seed < 0:
        raise UsageError("the seed must not be negative")
    size, last = SCALES[scale], _instant(end or DEFAULT_END)
    end_us = (int(last.timestamp()) * SECOND) + last.microsecond
    tell = progress or (lambda _: None)
    tell("pages")
    world, chrome_trail, firefox_trail = _history(np.random.default_rng(seed), size, end_us)
    folder.mkdir(parents=True, exist_ok=True)
    tell("Chromium history")
    chrome_path = folder / "chrome" / "Default" / "History"
    written = [
        SampleFile(chrome_path, "history", "chrome", chromium.write(chrome_path, world, chrome_trail)),
    ]
    tell("Firefox history")
    firefox_path = folder / "firefox" / FIREFOX_PROFILE / "places.sqlite"
    rows = firefox.write(firefox_path, world, firefox_trail, np.random.default_rng([seed, 1]))
    written.append(SampleFile(firefox_path, "history", "firefox", rows))
    kept = bookmarks.write(folder, world, chrome_trail, np.random.default_rng([seed, 2]), end_us)
    written += [SampleFile(*file) for file in kept]
    written += [SampleFile(*file) for file in takeout.write(folder, world, chrome_trail)]
    written += [SampleFile(*file) for file in moved.write(folder, world, chrome_trail, end_us)]
    written += [SampleFile(*file) for file in fenix.write(folder, world, firefox_trail, end_us)]
    written += [SampleFile(*file) for file in firefox_bookmarks.backup(firefox_path.parent, firefox_path)]
    # Last, since they add to the world.
    rng, visits = np.random.default_rng([seed, 3]), size.chromium // 8
    written += [SampleFile(*file) for file in safari.write(folder, world, rng, min(visits, 400), end_us)]
    written += [SampleFile(*file) for file in qutebrowser.write(folder, world, rng, min(visits, 120), end_us)]
    tell("questions")
    queries.write(folder / "queries.json", last)
    return SampleReport(
        files=written,
        queries=folder / "queries.json",
        pages=len(np.union1d(chrome_trail.page, firefox_trail.page)),
        visits=len(chrome_trail.at) + len(firefox_trail.at),
    )


def _history(rng: np.random.Generator, size: Scale, end_us: int) -> tuple[pages.World, Trail, Trail]:
    """The world and both browsers' trails, with exactly the visits that `size` names."""
    hops, frames = size.chromium // 40, size.chromium // 60
    anchored = sum(len(a["at"]) for a in _anchors_in("chrome"))
    layout = sessions.plan(rng, size.chromium - anchored - hops - frames, size.days, end_us)
    articles = [int(count * size.article_share) + 1 for count in sessions.counts(layout, Role.ARTICLE)]
    searches = [int(count * 0.5) + 1 for count in sessions.counts(layout, Role.SEARCH)]
    world = pages.build(rng, articles, searches, expired=size.chromium // 200)
    chrome = trail.walk(
        rng,
        layout,
        world,
        trail.anchor_visits(rng, world, "chrome", end_us),
        odd=list(world.odd),
        hops=hops,
        frames=frames,
        cover=True,
    )
    hops, frames = size.firefox // 40, size.firefox // 60
    anchored = sum(len(a["at"]) for a in _anchors_in("firefox"))
    layout = sessions.plan(rng, size.firefox - anchored - hops - frames, size.days, end_us)
    second = trail.walk(
        rng,
        layout,
        world,
        trail.anchor_visits(rng, world, "firefox", end_us),
        odd=[page for page in world.odd if not world.urls[page].startswith("chrome")],
        hops=hops,
        frames=frames,
        cover=False,
    )
    return world, chrome, second


def _anchors_in(browser: str) -> list[dict[str, list[int]]]:
    return [page for page in pages.data("anchors")["page"] if page.get("in", "chrome") in (browser, "both")]


def _instant(end: date | datetime) -> datetime:
    if not isinstance(end, datetime):
        return datetime.combine(end, time(), tzinfo=UTC)
    if end.tzinfo is None:
        raise UsageError("the end of the history needs a time zone")
    return end.astimezone(UTC)
