"""Handmade Chromium histories: a few visits with known instants, in the columns that every version has."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

EPOCH_1601_US = 11_644_473_600_000_000
LINK = 0x30000000  # core link, start and end of its chain
SECOND = 1_000_000


@dataclass(frozen=True)
class Visit:
    """One visit; `at` is ISO 8601 with a zone. Ids count from 1 in the order given."""

    at: str
    url: str
    title: str | None = None
    foreground_us: int | None = None
    duration_us: int = 0
    from_visit: int = 0
    opener: int = 0
    transition: int = LINK


def us(at: str) -> int:
    """Microseconds since 1970."""
    moment = datetime.fromisoformat(at)
    return int(moment.timestamp()) * SECOND + moment.microsecond


def chromium(path: Path, visits: Iterable[Visit]) -> Path:
    """Write a History with these visits at `path`. A URL's title is that of its last visit given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    urls: dict[str, tuple[int, str | None, int]] = {}
    with closing(sqlite3.connect(path)) as con:
        con.executescript(
            "CREATE TABLE urls(id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, visit_count INTEGER,"
            " typed_count INTEGER, last_visit_time INTEGER, hidden INTEGER);"
            "CREATE TABLE visits(id INTEGER PRIMARY KEY, url INTEGER, visit_time INTEGER, from_visit INTEGER,"
            " transition INTEGER, visit_duration INTEGER, opener_visit INTEGER);"
            "CREATE TABLE context_annotations(visit_id INTEGER PRIMARY KEY, total_foreground_duration INTEGER);"
        )
        for number, v in enumerate(visits, 1):
            at = us(v.at) + EPOCH_1601_US
            known, title, last = urls.get(v.url, (len(urls) + 1, None, 0))
            urls[v.url] = (known, v.title if at >= last else title, max(last, at))
            con.execute(
                "INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?, ?)",
                [number, known, at, v.from_visit, v.transition, v.duration_us, v.opener],
            )
            if v.foreground_us is not None:
                con.execute("INSERT INTO context_annotations VALUES (?, ?)", [number, v.foreground_us])
        con.executemany(
            "INSERT INTO urls VALUES (?, ?, ?, 1, 0, ?, 0)",
            [(number, url, title, last) for url, (number, title, last) in urls.items()],
        )
        con.commit()
    return path
