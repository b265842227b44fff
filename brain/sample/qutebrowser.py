"""Writes a short trial of qutebrowser as its `history.sqlite`: user_version 4, in WAL mode, closed cleanly.

Facts read out of its code: times are whole seconds; the page asked for stands before the one it led to, with `redirect`
set and the other's title; URLs are encoded for visits, and decoded for completion, which keeps the newest of each.
"""

import sqlite3
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np

from brain.sample.apart import own_pages, stroll
from brain.sample.pages import World
from brain.sample.sessions import DAY, SECOND, Ints
from brain.sample.sqlite_file import fresh, insert
from brain.sample.trail import How

USER_VERSION = 4
_BEGAN_DAYS, _TRIED_DAYS = 54, 14
# Pages that stand only here, the first ones that were seen: (title, host and path).
_TRIED = (
    ("qutebrowser quickstart", "qutebrowser.example/doc/quickstart.html"),
    ("Key bindings cheat sheet", "qutebrowser.example/doc/keys.html"),
    ("Userscripts that read a page aloud", "qutebrowser.example/userscripts/aloud"),
)
_KEPT = "%/:=&?~#+!$,;'@()*[]"  # what may stand in a URL as it is

Written = tuple[Path, str, str, dict[str, int]]


def write(folder: Path, world: World, rng: np.random.Generator, visits: int, end_us: int) -> list[Written]:
    """Write the file with about `visits` visits of the world's pages: (path, kind, browser, rows by table)."""
    path = folder / "qutebrowser" / "history.sqlite"
    trail = stroll(rng, world, visits, _TRIED_DAYS, end_us - (_BEGAN_DAYS - _TRIED_DAYS) * DAY)
    own = own_pages(world, _TRIED)
    first = end_us - (_BEGAN_DAYS + 1) * DAY
    seconds = np.concatenate([(first + 90 * SECOND * np.arange(len(own))), trail.at]) // SECOND
    page = np.concatenate([own, trail.page])
    is_hop = np.concatenate([np.zeros(len(own), np.bool_), trail.how == How.HOP])
    urls = [quote(world.urls[p], safe=_KEPT) for p in page.tolist()]
    titled = page.copy()
    came_from = np.flatnonzero(trail.how == How.REDIRECTED)
    titled[len(own) + trail.origin[came_from]] = trail.page[came_from]
    titles = [world.titles[p] for p in titled.tolist()]
    with fresh(path, "qutebrowser", 4096) as connection:
        insert(
            connection,
            "History",
            {"url": urls, "title": titles, "atime": seconds, "redirect": is_hop.astype(np.int64)},
        )
        completed = _complete(connection, urls, titles, seconds, np.flatnonzero(~is_hop))
        connection.execute(
            "INSERT INTO CompletionMetaInfo VALUES ('excluded_patterns', ''), ('force_rebuild', 0)"
        )
        connection.execute(f"PRAGMA user_version = {USER_VERSION}")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    return [(path, "history", "qutebrowser", {"History": len(urls), "CompletionHistory": completed})]


def _complete(
    connection: sqlite3.Connection, urls: list[str], titles: list[str], seconds: Ints, rows: Ints
) -> int:
    """Write the newest visit of each URL, as it is shown; how many they are."""
    newest = {unquote(urls[row]): row for row in rows.tolist()}
    kept = list(newest.values())
    insert(
        connection,
        "CompletionHistory",
        {"url": list(newest), "title": [titles[row] for row in kept], "last_atime": seconds[kept]},
    )
    return len(kept)
