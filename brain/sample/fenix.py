"""The same person's phone: `places.sqlite` of Firefox for Android, in the tables of Mozilla's application-services.

Visits made on the phone are its own; the newest of the desktop Firefox came to it by sync, cut off to milliseconds:
whoever imports both has them once. Desktops sync no hidden places, so neither hops nor frames are there.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from brain.sample.pages import World
from brain.sample.trail import How, Trail

SYNCED = 40
_DAY_MS = 86_400_000
_TYPES = {How.TYPED: 2, How.BOOKMARK: 3, How.RELOAD: 9, How.REDIRECTED: 6}
_TABLES = """
CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR NOT NULL, title LONGVARCHAR,
    visit_count_local INTEGER NOT NULL DEFAULT 0, visit_count_remote INTEGER NOT NULL DEFAULT 0,
    hidden INTEGER DEFAULT 0 NOT NULL, typed INTEGER DEFAULT 0 NOT NULL, frecency INTEGER DEFAULT -1 NOT NULL,
    last_visit_date_local INTEGER NOT NULL DEFAULT 0, last_visit_date_remote INTEGER NOT NULL DEFAULT 0,
    guid TEXT NOT NULL UNIQUE);
CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, is_local INTEGER NOT NULL, from_visit INTEGER,
    place_id INTEGER NOT NULL, visit_date INTEGER NOT NULL, visit_type INTEGER NOT NULL);
CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, fk INTEGER DEFAULT NULL, type INTEGER NOT NULL, parent INTEGER,
    position INTEGER NOT NULL, title TEXT, dateAdded INTEGER NOT NULL DEFAULT 0,
    lastModified INTEGER NOT NULL DEFAULT 0, guid TEXT NOT NULL UNIQUE);
CREATE TABLE moz_bookmarks_synced (id INTEGER PRIMARY KEY, guid TEXT UNIQUE NOT NULL);
CREATE TABLE moz_tags (id INTEGER PRIMARY KEY, tag TEXT UNIQUE NOT NULL, lastModified INTEGER NOT NULL);
CREATE TABLE moz_tags_relation (tag_id INTEGER NOT NULL, place_id INTEGER NOT NULL, PRIMARY KEY (tag_id, place_id))
    WITHOUT ROWID;
CREATE TABLE moz_places_metadata (id INTEGER PRIMARY KEY, guid TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL DEFAULT 0, updated_at INTEGER NOT NULL DEFAULT 0, place_id INTEGER NOT NULL,
    total_view_time INTEGER NOT NULL DEFAULT 0);
PRAGMA user_version = 15;
"""
_ROOTS = ("root", "menu", "toolbar", "unfiled", "mobile")
_SHORT = "https://qr.example/7f3"  # leads on to the first of these pages
# Pages that stand only here: (title, host and path).
_ON_THE_WAY = (
    ("Museum ship: audio guide, stop 12", "guide.museumship.example/stops/12"),
    ("Departures from Hafentor", "tram.example/stops/hafentor"),
    ("Locker 31: parcel waiting", "parcels.example/lockers/31"),
    ("Allergens of today's canteen", "canteen.example/allergens"),
    ("Which mushroom is this?", "forest.example/mushrooms/key"),
)

Written = tuple[Path, str, str, dict[str, int]]
Visit = tuple[int, int, int, int]  # is_local, place, milliseconds, type


def write(folder: Path, world: World, trail: Trail, end_us: int) -> list[Written]:
    """Write the file: (path, kind, browser, rows by table)."""
    path = folder / "fenix" / "places.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    seen = np.flatnonzero(~np.isin(trail.how, (How.HOP, How.FRAME)))[-SYNCED:].tolist()
    pages = list(dict.fromkeys(trail.page[seen].tolist()))
    places: list[tuple[str, str | None]] = [(_SHORT, None)]
    places += [(f"https://{place}", title) for title, place in _ON_THE_WAY]
    numbers = {page: len(places) + at for at, page in enumerate(pages, 1)}
    places += [(world.urls[page], world.titles[page] or None) for page in pages]
    visits = _made_here(end_us // 1_000)
    for row in seen:
        kind = _TYPES.get(How(int(trail.how[row])), 1)
        visits.append((0, numbers[int(trail.page[row])], int(trail.at[row]) // 1_000, kind))
    with closing(sqlite3.connect(path)) as con:
        con.executescript(_TABLES)
        _fill(con, places, visits)
        _keep(con, visits)
        con.commit()
    return [(path, "history", "fenix", {"moz_places": len(places), "moz_historyvisits": len(visits)})]


def _made_here(end: int) -> list[Visit]:
    """Three visits of each page on three days, the first page reached by way of a short address."""
    visits: list[Visit] = []
    for place in range(2, len(_ON_THE_WAY) + 2):
        for turn in range(3):
            at = end - (2 + 9 * turn + place) * _DAY_MS + place * 61_017
            if place == 2:
                visits.append((1, 1, at - 180, 6))
            visits.append((1, place, at, 2 if turn == 2 else 1))
    return sorted(visits, key=lambda visit: visit[2])


def _fill(con: sqlite3.Connection, places: list[tuple[str, str | None]], visits: list[Visit]) -> None:
    for number, (url, title) in enumerate(places, 1):
        of_place = [
            [at for local, place, at, _ in visits if place == number and local == here] for here in (1, 0)
        ]
        counts = [len(dates) for dates in of_place]
        last = [max(dates, default=0) for dates in of_place]
        con.execute(
            "INSERT INTO moz_places (id, url, title, visit_count_local, visit_count_remote, last_visit_date_local,"
            " last_visit_date_remote, hidden, guid) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (number, url, title, *counts, *last, int(url == _SHORT), f"place{number:07}"),
        )
    for number, visit in enumerate(visits, 1):
        con.execute("INSERT INTO moz_historyvisits VALUES (?, ?, NULL, ?, ?, ?)", (number, *visit))
        local, place, at, kind = visit
        if local and kind != _TYPES[How.REDIRECTED]:
            view = (number, f"view_{number:07}", at + 300, at + 90_000, place, 20_000 + 1_000 * number)
            con.execute("INSERT INTO moz_places_metadata VALUES (?, ?, ?, ?, ?, ?)", view)


def _keep(con: sqlite3.Connection, visits: list[Visit]) -> None:
    """Bookmarks of three of the phone's pages, two of them with a tag."""
    insert = "INSERT INTO moz_bookmarks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    begin = visits[0][2]
    for number, name in enumerate(_ROOTS, 1):
        parent = 1 if number > 1 else None
        guid = name.ljust(12, "_")
        con.execute(insert, (number, None, 2, parent, max(number - 2, 0), name, begin, begin, guid))
    con.execute("INSERT INTO moz_tags VALUES (1, 'outside', ?)", [begin])
    for position, place in enumerate((2, 3, 6)):
        at = begin + (position + 1) * _DAY_MS
        title, guid = _ON_THE_WAY[place - 2][0], f"mark_{place:07}"
        con.execute(insert, (10 + position, place, 1, len(_ROOTS), position, title, at, at, guid))
        if place != 3:
            con.execute("INSERT INTO moz_tags_relation VALUES (1, ?)", [place])
