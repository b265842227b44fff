"""When this person browsed and what for: sessions laid out over months, before any page is chosen.

Days follow the week, hours the local day, topics the time of day and their own phase of the months. All times are UTC
microseconds; time spent is drawn log-normally around 42 seconds.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from brain.sample.pages import data

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ZONE = "Europe/Berlin"  # where the invented person lives
SECOND = 1_000_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR


class Role(IntEnum):
    """What kind of page a visit goes to."""

    ARTICLE = 0
    SEARCH = 1
    DAILY = 2
    ODD = 3
    RELOAD = 4  # the page before it once more
    BACK = 5  # the page two before it


# Share of browsing per hour of the local day.
HOURS = {
    False: [1, 0, 0, 0, 0, 1, 4, 9, 12, 14, 13, 11, 7, 9, 12, 11, 10, 7, 6, 8, 11, 12, 8, 3],
    True: [3, 1, 0, 0, 0, 0, 1, 3, 7, 12, 13, 10, 7, 7, 9, 9, 8, 7, 7, 8, 11, 12, 9, 5],
}
WEEKDAY_SHARE = [1.05, 1.1, 1.0, 1.0, 0.95, 0.7, 0.6]  # Monday first
SUITS = {  # how likely a topic of this kind is in (work hours, morning, evening, weekend)
    "work": (1.0, 0.3, 0.15, 0.06),
    "morning": (0.15, 1.6, 0.3, 0.6),
    "evening": (0.12, 0.2, 1.0, 0.8),
    "weekend": (0.05, 0.1, 0.45, 1.5),
    "any": (0.4, 0.5, 0.7, 0.8),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """One row per visit to come: its session, place in it, role, topic, instant and time spent (us)."""

    session: Ints
    position: Ints
    role: Ints
    topic: Ints
    at: Ints
    spent: Ints


def plan(rng: np.random.Generator, visits: int, days: int, end_us: int) -> Plan:
    """Exactly `visits` planned visits in the `days` before `end_us`, none after it."""
    lengths = np.minimum(1 + rng.geometric(0.13, size=visits // 4 + 8), 45).astype(np.int64)
    used = int(np.searchsorted(np.cumsum(lengths), visits)) + 1
    lengths = lengths[:used]
    lengths[-1] -= int(lengths.sum()) - visits
    start, weekend, hour, age = _session_starts(rng, used, days, end_us)
    topic = _session_topics(rng, weekend, hour, 1.0 - age / days)
    session = np.repeat(np.arange(used), lengths)
    first_row = np.cumsum(lengths) - lengths
    position = np.arange(visits) - first_row[session]
    spent = np.exp(rng.normal(np.log(42.0), 1.15, size=visits)).clip(2.0, 2_400.0)
    spent_us = (spent * SECOND).astype(np.int64)
    before = np.cumsum(spent_us) - spent_us
    into = before - before[first_row][session]
    last = into[first_row + lengths - 1] + SECOND
    start = np.minimum(start, end_us - last - HOUR // 60)
    return Plan(session, position, _roles(rng, position), topic[session], start[session] + into, spent_us)


def _session_starts(
    rng: np.random.Generator, count: int, days: int, end_us: int
) -> tuple[Ints, Bools, Ints, npt.NDArray[np.float64]]:
    """Start instants with what the topics depend on: weekend, local hour, age in days."""
    zone = ZoneInfo(ZONE)
    last_day = datetime.fromtimestamp((end_us - 1) // SECOND, UTC).astimezone(zone).date()
    dates = [last_day - timedelta(days=back) for back in range(days)]
    noons = [datetime(d.year, d.month, d.day, 12, tzinfo=zone) for d in dates]
    midnight = np.array([(int(n.timestamp()) - 12 * 3_600) * SECOND for n in noons], dtype=np.int64)
    weekday = np.array([d.weekday() for d in dates])
    share = np.array(WEEKDAY_SHARE)[weekday] * rng.uniform(0.55, 1.45, size=days)
    share[rng.random(days) < 0.04] *= 0.05  # days off the screen
    back = np.sort(rng.choice(days, size=count, p=share / share.sum()))[::-1]
    weekend = weekday[back] >= 5
    hour = np.zeros(count, dtype=np.int64)
    for flag, shares in HOURS.items():
        mask = weekend == flag
        hour[mask] = rng.choice(24, size=int(mask.sum()), p=np.array(shares) / sum(shares))
    start = midnight[back] + hour * HOUR + rng.integers(0, HOUR, size=count)
    late = start >= end_us - HOUR  # the last day may not be over yet
    start[late] -= DAY * (1 + (start[late] - (end_us - HOUR)) // DAY)
    return start, weekend, hour, back.astype(np.float64)


def _session_topics(
    rng: np.random.Generator, weekend: Bools, hour: Ints, progress: npt.NDArray[np.float64]
) -> Ints:
    topics = data("topics")["topic"]
    slot = np.where(weekend, 3, np.where(hour < 9, 1, np.where(hour < 18, 0, 2)))
    weights = np.empty((len(topics), len(hour)))
    for row, topic in enumerate(topics):
        oldest, newest = topic["phase"]
        alive = np.where((progress >= oldest) & (progress <= newest), 1.0, 0.02)
        weights[row] = topic["weight"] * np.array(SUITS[topic["when"]])[slot] * alive
    edges = np.cumsum(weights, axis=0)
    chosen: Ints = (edges < rng.random(len(hour)) * edges[-1]).sum(axis=0).astype(np.int64)
    return chosen


def _roles(rng: np.random.Generator, position: Ints) -> Ints:
    draw = rng.random(len(position))
    opening = np.select([draw < 0.5, draw < 0.86], [Role.DAILY, Role.SEARCH], Role.ARTICLE)
    later = np.select(
        [draw < 0.07, draw < 0.14, draw < 0.151], [Role.DAILY, Role.SEARCH, Role.ODD], Role.ARTICLE
    )
    role = np.where(position == 0, opening, later).astype(np.int64)
    plain = (role == Role.ARTICLE) & (position > 0)
    reload = plain & (draw > 0.98)
    back = plain & (position >= 2) & (draw > 0.94) & ~reload
    # A step back needs the page two before it, so no two repeating rows may be close.
    repeats = reload | back
    repeats[1:] &= ~repeats[:-1]
    repeats[2:] &= ~repeats[:-2]
    role[reload & repeats] = Role.RELOAD
    role[back & repeats] = Role.BACK
    return role


def counts(layout: Plan, role: Role) -> list[int]:
    """How many planned visits of `role` each topic has."""
    topics = len(data("topics")["topic"])
    return [int(count) for count in np.bincount(layout.topic[layout.role == role], minlength=topics)]
