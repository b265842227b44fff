"""Writes a trail as a Firefox `places.sqlite`: user_version 86, as Firefox 153 keeps it, in WAL mode, closed cleanly.

Facts read out of a file of that version: the page redirected to carries visit type 6 and names the redirecting
visit; the redirecting page is hidden; `url_hash` is computed as `url_hash` below (checked against stored values);
hosts are kept reversed with a dot at the end. Firefox keeps no time spent with the visit.
"""

import base64
import sqlite3
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from brain.sample import firefox_bookmarks
from brain.sample.pages import World
from brain.sample.sqlite_file import fresh, insert
from brain.sample.trail import How, Trail

USER_VERSION = 86
_VISIT_TYPES = {
    How.LINK: 1,
    How.TYPED: 2,
    How.BOOKMARK: 3,
    How.FRAME: 8,
    How.SEARCH: 1,
    How.FORM: 1,
    How.RELOAD: 9,
    How.BACK: 1,
    How.HOP: 1,
    How.REDIRECTED: 6,
}
_ROOTS = ("root", "menu", "toolbar", "tags", "unfiled", "mobile")


def write(path: Path, world: World, trail: Trail, rng: np.random.Generator) -> dict[str, int]:
    """Write the file and return its rows per table, and its bookmarks as `bookmarks`."""
    distinct, first = np.unique(trail.page, return_index=True)
    order = distinct[np.argsort(first)]
    place_id = np.zeros(len(world.urls), dtype=np.int64)
    place_id[order] = np.arange(1, len(order) + 1)
    with fresh(path, "firefox", 32_768) as connection:
        _roots(connection, int(trail.at[0]))
        _places(connection, world, trail, order.tolist(), rng)
        codes = np.array([_VISIT_TYPES[how] for how in How], dtype=np.int64)
        # Firefox names the visit that led here, whichever tab it was in.
        came_from = np.maximum(trail.origin, trail.opener) + 1
        insert(
            connection,
            "moz_historyvisits",
            {
                "id": np.arange(1, len(trail.at) + 1),
                "from_visit": came_from,
                "place_id": place_id[trail.page],
                "visit_date": trail.at,
                "visit_type": codes[trail.how],
            },
            session=0,
            source=0,
        )
        kept = firefox_bookmarks.write(connection, world, trail, order.tolist(), rng)
        connection.execute(f"PRAGMA user_version = {USER_VERSION}")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    return {"moz_places": len(order), "moz_historyvisits": len(trail.at), "bookmarks": kept}


def _places(
    connection: sqlite3.Connection, world: World, trail: Trail, order: list[int], rng: np.random.Generator
) -> None:
    pages = len(world.urls)
    last = np.zeros(pages, dtype=np.int64)
    np.maximum.at(last, trail.page, trail.at)
    aside = np.isin(trail.how, (How.HOP, How.FRAME))
    seen = np.bincount(trail.page[~aside], minlength=pages)
    counted = np.bincount(trail.page[trail.how != How.FRAME], minlength=pages)
    typed = np.bincount(trail.page[trail.how == How.TYPED], minlength=pages)
    urls = [world.urls[p] for p in order]
    origins: dict[tuple[str, str], int] = {}
    origin_of, reversed_hosts = [], []
    for url in urls:
        parts = urlsplit(url)
        prefix = f"{parts.scheme}://" if parts.netloc or parts.scheme == "file" else f"{parts.scheme}:"
        host = parts.netloc.rpartition("@")[2]
        origin_of.append(origins.setdefault((prefix, host), len(origins) + 1))
        reversed_hosts.append((parts.hostname or "")[::-1] + ".")
    insert(
        connection,
        "moz_origins",
        {
            "id": np.arange(1, len(origins) + 1),
            "prefix": [prefix for prefix, _ in origins],
            "host": [host for _, host in origins],
        },
        frecency=-1,
        recalc_frecency=1,
        recalc_alt_frecency=1,
    )
    guids = base64.urlsafe_b64encode(rng.bytes(9 * len(order))).decode("ascii")
    insert(
        connection,
        "moz_places",
        {
            "id": np.arange(1, len(order) + 1),
            "url": urls,
            "title": [world.titles[p] or None for p in order],
            "rev_host": reversed_hosts,
            "visit_count": counted[order],
            "hidden": (seen[order] == 0).astype(np.int64),
            "typed": (typed[order] > 0).astype(np.int64),
            "frecency": 20_900 + 30 * counted[order],
            "last_visit_date": last[order],
            "guid": [guids[at : at + 12] for at in range(0, 12 * len(order), 12)],
            "url_hash": np.array([url_hash(url) for url in urls], dtype=np.int64),
            "origin_id": np.array(origin_of, dtype=np.int64),
        },
        foreign_count=0,
        recalc_frecency=0,
        recalc_alt_frecency=1,
    )


def _roots(connection: sqlite3.Connection, at_us: int) -> None:
    """The folders that every profile has before anything is bookmarked."""
    for position, name in enumerate(_ROOTS):
        connection.execute(
            "INSERT INTO moz_bookmarks (type, parent, position, title, dateAdded, lastModified, guid, syncStatus)"
            " VALUES (2, ?, ?, ?, ?, ?, ?, 1)",
            (
                min(position, 1),
                max(position - 1, 0),
                name if position else "",
                at_us,
                at_us,
                name.ljust(12, "_"),
            ),
        )


def url_hash(url: str) -> int:
    """What Firefox stores in `moz_places.url_hash`: 16 bits of the scheme's hash before 32 bits of the URL's."""
    return ((_hash(url.partition(":")[0]) & 0xFFFF) << 32) + _hash(url)


def _hash(text: str) -> int:
    state = 0
    for byte in text.encode()[:1500]:
        state = 0x9E37_79B9 * (((state << 5 | state >> 27) & 0xFFFF_FFFF) ^ byte) & 0xFFFF_FFFF
    return state
