"""How this person got from page to page: the visits of one browser as columns, independent of its file format.

`walk` puts pages on the sessions of `brain.sample.sessions` and adds what browsers record besides: redirect hops,
frames, reloads, steps back, tabs opened from other tabs, visits synced from a phone.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from zoneinfo import ZoneInfo

import numpy as np

from brain.sample.pages import World, data
from brain.sample.sessions import SECOND, ZONE, Bools, Ints, Plan, Role

AnchorVisit = tuple[int, int, int, bool]  # page, instant, time spent, typed


class How(IntEnum):
    """How a visit came about."""

    LINK = 0
    TYPED = 1
    BOOKMARK = 2
    FRAME = 3
    SEARCH = 4
    FORM = 5
    RELOAD = 6
    BACK = 7
    HOP = 8  # the redirecting page itself
    REDIRECTED = 9  # reached through the hop before it


@dataclass(frozen=True, slots=True)
class Trail:
    """All visits of one browser, by time. `origin` and `opener` are row numbers here, or -1; times in us.

    `spent` is 0 where unknown, `foreground` -1 where unknown; `synced` marks visits made on another device.
    """

    at: Ints
    page: Ints
    how: Ints
    origin: Ints
    opener: Ints
    spent: Ints
    foreground: Ints
    synced: Bools


def walk(
    rng: np.random.Generator,
    layout: Plan,
    world: World,
    anchors: list[AnchorVisit],
    odd: list[int],
    hops: int,
    frames: int,
    cover: bool,
) -> Trail:
    """Put pages on the plan; `len(plan) + len(anchors) + hops + frames` visits come out, sorted by time.

    `anchors` are extra visits, `odd` the pages this browser may use for that role. With `cover` every article and
    search page is visited at least once as long as there are visits enough; else popular pages come first.
    """
    page = _pages(rng, layout, world, odd, cover)
    how, origin, opener = _steps(rng, layout)
    spent = layout.spent.copy()
    spent[rng.random(len(spent)) < 0.08] = 0
    extra = np.array(anchors, dtype=np.int64).reshape(-1, 4)
    none = np.full(len(extra), -1, dtype=np.int64)
    at = np.concatenate([layout.at, extra[:, 1]])
    page = np.concatenate([page, extra[:, 0]])
    how = np.concatenate([how, np.where(extra[:, 3] == 1, How.TYPED, How.LINK)])
    origin = np.concatenate([origin, none])
    opener = np.concatenate([opener, none])
    spent = np.concatenate([spent, extra[:, 2]])
    foreground = (spent * rng.uniform(0.35, 1.0, size=len(spent))).astype(np.int64)
    foreground[(spent == 0) | (rng.random(len(spent)) < 0.1)] = -1
    base = len(at)

    linked = np.flatnonzero((how[: len(layout.at)] == How.LINK) & (origin[: len(layout.at)] >= 0))
    through = np.sort(rng.choice(linked, size=hops, replace=False))
    hop_page = np.array([world.hop_to(p) for p in page[through].tolist()], dtype=np.int64)
    framed = np.sort(rng.choice(np.flatnonzero(layout.role == Role.ARTICLE), size=frames, replace=False))
    frame_page = rng.choice(np.array(world.frames), size=frames)
    hop_origin = origin[through]
    origin[through] = np.arange(base, base + hops)
    how[through] = How.REDIRECTED
    zeros, nothing = np.zeros(hops + frames, dtype=np.int64), np.full(hops + frames, -1, dtype=np.int64)
    trail = Trail(
        at=np.concatenate([at, at[through] - 140_000, at[framed] + 450_000]),
        page=np.concatenate([page, hop_page, frame_page]),
        how=np.concatenate([how, np.full(hops, How.HOP), np.full(frames, How.FRAME)]).astype(np.int64),
        origin=np.concatenate([origin, hop_origin, framed]),
        opener=np.concatenate([opener, nothing]),
        spent=np.concatenate([spent, zeros]),
        foreground=np.concatenate([foreground, nothing]),
        synced=np.zeros(base + hops + frames, dtype=np.bool_),
    )
    return _by_time(rng, trail)


def _pages(rng: np.random.Generator, layout: Plan, world: World, odd: list[int], cover: bool) -> Ints:
    page = np.empty(len(layout.at), dtype=np.int64)
    daily, strange = layout.role == Role.DAILY, layout.role == Role.ODD
    page[daily] = world.daily.start + _popular(rng, len(world.daily), int(daily.sum()))
    page[strange] = np.resize(rng.permutation(np.array(odd)), int(strange.sum()))  # each in turn
    for role, ranges in ((Role.ARTICLE, world.articles), (Role.SEARCH, world.searches)):
        for topic, pages in enumerate(ranges):
            rows = np.flatnonzero((layout.role == role) & (layout.topic == topic))
            if not len(rows):
                continue
            drawn = _popular(rng, len(pages), len(rows))
            if cover:
                once = min(len(pages), len(rows))
                drawn[:once] = rng.permutation(len(pages))[:once]
                drawn = rng.permutation(drawn)
            page[rows] = pages.start + drawn
    for role, back in ((Role.RELOAD, 1), (Role.BACK, 2)):
        rows = np.flatnonzero(layout.role == role)
        page[rows] = page[rows - back]
    return page


def _popular(rng: np.random.Generator, pages: int, draws: int) -> Ints:
    """Ranks below `pages` whose popularity falls as 1/rank (Zipf)."""
    return np.minimum((pages + 1) ** rng.random(draws) - 1, pages - 1).astype(np.int64)


def _steps(rng: np.random.Generator, layout: Plan) -> tuple[Ints, Ints, Ints]:
    """How each visit came about, the row it came from in the same tab, and the row whose tab opened it."""
    rows = np.arange(len(layout.role))
    role, first = layout.role, layout.position == 0
    draw = rng.random(len(rows))
    how = np.full(len(rows), int(How.LINK))
    how[role == Role.DAILY] = np.where(draw[role == Role.DAILY] < 0.75, How.TYPED, How.BOOKMARK)
    search = role == Role.SEARCH
    how[search] = np.where(first[search] | (draw[search] < 0.5), How.SEARCH, How.FORM)
    how[role == Role.RELOAD] = How.RELOAD
    how[role == Role.BACK] = How.BACK
    follows = ~first & np.isin(how, (How.LINK, How.FORM))
    new_tab = follows & (how == How.LINK) & (draw < 0.08)
    origin = np.where(follows & ~new_tab, rows - 1, -1)
    return how, origin, np.where(new_tab, rows - 1, -1)


def _by_time(rng: np.random.Generator, trail: Trail) -> Trail:
    """The trail sorted by time, instants made distinct (by microseconds, never past the last one)."""
    order = np.lexsort((np.arange(len(trail.at)), trail.at))
    rank = np.empty(len(order) + 1, dtype=np.int64)
    rank[order] = np.arange(len(order))
    rank[-1] = -1  # so that -1 stays -1
    at = trail.at[order]
    step = np.arange(len(at))
    at = np.maximum.accumulate(at - step) + step
    how = trail.how[order]
    chained = (trail.origin[order] >= 0) | (trail.opener[order] >= 0) | (how == How.HOP)
    has_child = np.zeros(len(at) + 1, dtype=np.bool_)
    has_child[rank[trail.origin[order]]] = True
    has_child[rank[trail.opener[order]]] = True
    alone = ~chained & ~has_child[:-1] & np.isin(how, (How.LINK, How.SEARCH))
    synced = alone & (rng.random(len(at)) < 0.35)
    foreground = np.where(synced, -1, trail.foreground[order])
    return Trail(
        at=at,
        page=trail.page[order],
        how=how,
        origin=rank[trail.origin[order]],
        opener=rank[trail.opener[order]],
        spent=np.where(synced & (rng.random(len(at)) < 0.5), 0, trail.spent[order]),
        foreground=foreground,
        synced=synced,
    )


def anchor_visits(rng: np.random.Generator, world: World, browser: str, end_us: int) -> list[AnchorVisit]:
    """The visits of the hand-written pages in `browser` ("chrome" or "firefox"), for `walk`."""
    zone = ZoneInfo(ZONE)
    end = datetime.fromtimestamp(end_us // SECOND, UTC).astimezone(zone)
    visits = []
    for page, anchor in zip(world.anchors, data("anchors")["page"], strict=True):
        if anchor.get("in", "chrome") not in (browser, "both"):
            continue
        for days in anchor["at"]:
            day = end - timedelta(days=days)
            noon = datetime(day.year, day.month, day.day, 12, tzinfo=zone)
            second = int(noon.timestamp()) - 12 * 3_600 + int(rng.integers(9 * 3_600, 21 * 3_600))
            spent = int(anchor["minutes"] * 60 * SECOND * rng.uniform(0.85, 1.1))
            typed = anchor.get("how") == "typed"
            visits.append((page, second * SECOND + int(rng.integers(SECOND)), spent, typed))
    return visits
