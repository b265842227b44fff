"""Writes the history of a Mac at work as a Safari `History.db`: user_version 16, in WAL mode, closed cleanly.

It syncs with the phone through iCloud (`origin` 1). Titles stand with the visits; a redirecting page has none and names
the visit it leads to, which names it in turn. Some pages did not load. One hour was cleared from it.
"""

import sqlite3
from pathlib import Path

import numpy as np

from brain.sample.apart import own_pages, stroll
from brain.sample.pages import World
from brain.sample.sessions import DAY, HOUR, Bools, Ints
from brain.sample.sqlite_file import fresh, insert
from brain.sample.trail import How, Trail

EPOCH_2001_US = 978_307_200_000_000  # 1970-01-01 to 2001-01-01
USER_VERSION = 16
_FAILED_EVERY = 40  # one in so many pages that nothing leads on from did not load
_SCORE = 100  # of one visit
# Pages that stand only here: (title, host and path).
_AT_WORK = (
    ("Expense policy: trains before planes", "intranet.northwind.example/policies/travel"),
    ("Release checklist for the harbour project", "intranet.northwind.example/projects/harbour/release"),
    ("Glossary of lighting terms", "lumen.example/glossary"),
    ("Holiday calendar 2026", "intranet.northwind.example/calendar"),
)
_OWN_VISITS = 3  # of each of them

Written = tuple[Path, str, str, dict[str, int]]


def write(folder: Path, world: World, rng: np.random.Generator, visits: int, end_us: int) -> list[Written]:
    """Write the file with about `visits` visits of the world's pages: (path, kind, browser, rows by table)."""
    path = folder / "safari" / "History.db"
    trail = stroll(rng, world, visits, 180, end_us)
    at, page, row = _with_own_pages(world, trail, end_us)
    with fresh(path, "safari", 4096) as connection:
        items = _items(connection, world, page)
        _visits(connection, world, trail, at, page, row, items)
        cleared = int(at[0]) - DAY
        connection.execute(
            "INSERT INTO history_tombstones (start_time, end_time) VALUES (?, ?)",
            [_seconds(cleared), _seconds(cleared + HOUR)],
        )
        connection.execute(f"PRAGMA user_version = {USER_VERSION}")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    counted = {"history_visits": len(at), "history_items": len(np.unique(page))}
    return [(path, "history", "safari", counted)]


def _with_own_pages(world: World, trail: Trail, end_us: int) -> tuple[Ints, Ints, Ints]:
    """Instants and pages of all visits by time, and each one's row in the trail, -1 where it has none."""
    pages = own_pages(world, _AT_WORK)
    number = np.repeat(np.arange(1, len(pages) + 1), _OWN_VISITS)
    turn = np.tile(np.arange(_OWN_VISITS), len(pages))
    at = np.concatenate([trail.at, end_us - (10 + 7 * turn + number) * DAY + number * 61_000_017])
    page = np.concatenate([trail.page, pages[number - 1]])
    row = np.concatenate([np.arange(len(trail.at)), np.full(len(number), -1, dtype=np.int64)])
    order = np.argsort(at, kind="stable")
    return at[order], page[order], row[order]


def _items(connection: sqlite3.Connection, world: World, page: Ints) -> Ints:
    """Write the pages by first visit; each page's row id."""
    distinct, first = np.unique(page, return_index=True)
    order = distinct[np.argsort(first)]
    item = np.zeros(len(world.urls), dtype=np.int64)
    item[order] = np.arange(1, len(order) + 1)
    counted = np.bincount(page, minlength=len(world.urls))[order]
    urls = [world.urls[p] for p in order.tolist()]
    insert(
        connection,
        "history_items",
        {
            "id": np.arange(1, len(order) + 1),
            "url": urls,
            "domain_expansion": [_expansion(url) for url in urls],
            "visit_count": counted,
            "daily_visit_counts": [(_SCORE * count).to_bytes(4, "little") for count in counted.tolist()],
            "visit_count_score": _SCORE * counted,
        },
        should_recompute_derived_visit_counts=0,
    )
    return item


def _visits(
    connection: sqlite3.Connection, world: World, trail: Trail, at: Ints, page: Ints, row: Ints, items: Ints
) -> None:
    walked = row >= 0
    how = np.where(walked, trail.how[row], int(How.LINK))
    synced: Bools = walked & trail.synced[row]
    # The trail keeps its order among the other visits.
    number = np.zeros(len(trail.at) + 1, dtype=np.int64)
    number[row[walked]] = np.flatnonzero(walked) + 1
    redirected = how == How.REDIRECTED
    source = np.where(redirected, number[trail.origin[row]], 0)
    destination = np.zeros(len(at), dtype=np.int64)
    destination[source[redirected] - 1] = np.flatnonzero(redirected) + 1
    plain = walked & (how == How.LINK)
    failed = plain & (np.cumsum(plain) % _FAILED_EVERY == _FAILED_EVERY // 2)
    untitled = failed | (how == How.HOP)
    insert(
        connection,
        "history_visits",
        {
            "id": np.arange(1, len(at) + 1),
            "history_item": items[page],
            "visit_time": [_seconds(us) for us in at.tolist()],
            "title": [
                None if bare else world.titles[p] for p, bare in zip(page.tolist(), untitled, strict=True)
            ],
            "load_successful": (~failed).astype(np.int64),
            "http_non_get": (how == How.FORM).astype(np.int64),
            "redirect_source": _or_null(source),
            "redirect_destination": _or_null(destination),
            "origin": synced.astype(np.int64),
        },
        score=_SCORE,
    )


def _seconds(us: int) -> float:
    return (us - EPOCH_2001_US) / 1e6


def _or_null(ids: Ints) -> list[int | None]:
    return [number or None for number in ids.tolist()]


def _expansion(url: str) -> str | None:
    """What Safari completes a word to: the name in a host, such as `news` of `www.news.example`."""
    labels = url.partition("://")[2].partition("/")[0].split(".")
    return labels[-2] if len(labels) > 1 else None
