"""Writes a trail as a Chromium `History` file: meta version 70, as Chromium 156 keeps it.

Facts read out of a file of that version: transitions are signed 32-bit numbers; a redirecting page keeps duration
0 and has no context annotation; the page redirected to carries the redirect flag and the end of the chain; a page
opened in a new tab has `opener_visit` and no `from_visit`; absent ids are 0 and absent texts ''.
"""

import sqlite3
from pathlib import Path

import numpy as np

from brain.sample.pages import World
from brain.sample.sessions import SECOND, Ints
from brain.sample.sqlite_file import fresh, insert
from brain.sample.trail import How, Trail

WINDOWS_EPOCH_US = 11_644_473_600_000_000  # 1601-01-01 to 1970-01-01
META = {"mmap_status": "-1", "version": "70", "last_compatible_version": "16"}
PHONE = "c2FtcGxlLXBob25lLWd1aWQ="  # made-up cache guid of the other device
UNKNOWN = -1_000_000  # how an unknown foreground time is written

_WHOLE = 0x3000_0000  # start and end of a redirect chain
_FROM_ADDRESS_BAR = 0x0200_0000
_FORWARD_BACK = 0x0100_0000
_TRANSITIONS = {
    How.LINK: _WHOLE,
    How.TYPED: 1 | _FROM_ADDRESS_BAR | _WHOLE,
    How.BOOKMARK: 2 | _WHOLE,
    How.FRAME: 3 | _WHOLE,
    How.SEARCH: 5 | _FROM_ADDRESS_BAR | _WHOLE,
    How.FORM: 7 | _WHOLE,
    How.RELOAD: 8 | _WHOLE,
    How.BACK: _FORWARD_BACK | _WHOLE,
    How.HOP: 0x1000_0000,
    How.REDIRECTED: 0x2000_0000 | 0x8000_0000,
}


def write(path: Path, world: World, trail: Trail) -> dict[str, int]:
    """Write the file and return its rows per table (urls, visits)."""
    order, url_id = _number_pages(trail, len(world.urls))
    expired = np.array(world.expired, dtype=np.int64)
    with fresh(path, "chromium", 4096) as connection:
        connection.executemany("INSERT INTO meta VALUES (?, ?)", META.items())
        _urls(connection, world, trail, order, url_id, expired)
        _search_terms(connection, world, url_id)
        _visits(connection, world, trail, url_id)
    return {"urls": len(order) + len(expired), "visits": len(trail.at)}


def forgotten(world: World, trail: Trail) -> list[tuple[int, int]]:
    """(page, instant) of the visits that the browser forgot, a year and more before the first it keeps."""
    first = int(trail.at[0])
    return [(page, first - (400 + n % 90) * 86_400 * SECOND) for n, page in enumerate(world.expired)]


def _number_pages(trail: Trail, pages: int) -> tuple[Ints, Ints]:
    """The visited pages by first visit, and each page's row id (0 where never visited)."""
    distinct, first = np.unique(trail.page, return_index=True)
    order = distinct[np.argsort(first)]
    url_id = np.zeros(pages, dtype=np.int64)
    url_id[order] = np.arange(1, len(order) + 1)
    return order, url_id


def _urls(
    connection: sqlite3.Connection, world: World, trail: Trail, order: Ints, url_id: Ints, expired: Ints
) -> None:
    pages = len(world.urls)
    last = np.zeros(pages, dtype=np.int64)
    np.maximum.at(last, trail.page, trail.at)
    frame = trail.how == How.FRAME
    counted = np.bincount(trail.page[~frame & (trail.how != How.RELOAD)], minlength=pages)
    typed = np.bincount(trail.page[trail.how == How.TYPED], minlength=pages)
    seen_outside_frames = np.bincount(trail.page[~frame], minlength=pages) > 0
    last[expired] = [at for _, at in forgotten(world, trail)]
    counted[expired] = 1
    everything = np.concatenate([order, expired])
    insert(
        connection,
        "urls",
        {
            "id": np.arange(1, len(everything) + 1),
            "url": [world.urls[p] for p in everything.tolist()],
            "title": [world.titles[p] for p in everything.tolist()],
            "visit_count": counted[everything],
            "typed_count": typed[everything],
            "last_visit_time": last[everything] + WINDOWS_EPOCH_US,
            "hidden": np.concatenate(
                [~seen_outside_frames[order], np.zeros(len(expired), dtype=np.bool_)]
            ).astype(np.int64),
        },
    )
    # One segment per page whose address was typed.
    starts = np.flatnonzero(typed > 0)
    insert(
        connection,
        "segments",
        {"id": url_id[starts], "name": [world.urls[p] for p in starts.tolist()], "url_id": url_id[starts]},
    )


def _search_terms(connection: sqlite3.Connection, world: World, url_id: Ints) -> None:
    found = [(int(url_id[page]), term) for page, term in world.terms.items() if url_id[page]]
    terms = [term for _, term in found]
    ids = np.array([at for at, _ in found], dtype=np.int64)
    insert(
        connection,
        "keyword_search_terms",
        {"url_id": ids, "term": terms, "normalized_term": terms},
        keyword_id=2,
    )


def _visits(connection: sqlite3.Connection, world: World, trail: Trail, url_id: Ints) -> None:
    ids = np.arange(1, len(trail.at) + 1)
    codes = np.array([_TRANSITIONS[how] for how in How], dtype=np.int64)
    transition = codes[trail.how].astype(np.uint32).view(np.int32).astype(np.int64)
    typed = trail.how == How.TYPED
    segment = np.where(typed, url_id[trail.page], 0)
    insert(
        connection,
        "visits",
        {
            "id": ids,
            "url": url_id[trail.page],
            "visit_time": trail.at + WINDOWS_EPOCH_US,
            "from_visit": trail.origin + 1,
            "transition": transition,
            "segment_id": segment,
            "visit_duration": trail.spent,
            "incremented_omnibox_typed_score": typed.astype(np.int64),
            "opener_visit": trail.opener + 1,
            "originator_visit_id": np.where(trail.synced, 50_000 + ids, 0),
            "is_known_to_sync": trail.synced.astype(np.int64),
            "consider_for_ntp_most_visited": (trail.how != How.FRAME).astype(np.int64),
        },
        external_referrer_url="",
        originator_cache_guid="",
        originator_from_visit=0,
        originator_opener_visit=0,
        visited_link_id=0,
        app_id="",
    )
    insert(connection, "visit_source", {"id": ids[trail.synced]}, source=0)
    connection.execute(
        "UPDATE visits SET originator_cache_guid = ? WHERE id IN (SELECT id FROM visit_source)", (PHONE,)
    )
    _annotations(connection, trail, ids)


def _annotations(connection: sqlite3.Connection, trail: Trail, ids: Ints) -> None:
    shown = ~np.isin(trail.how, (How.HOP, How.FRAME))
    insert(
        connection,
        "context_annotations",
        {
            "visit_id": ids[shown],
            "total_foreground_duration": np.where(trail.foreground < 0, UNKNOWN, trail.foreground)[shown],
            "tab_id": 1_041_273_837 + trail.page[shown] % 40,
        },
        context_annotation_flags=0,
        duration_since_last_visit=UNKNOWN,
        page_end_reason=4,
        browser_type=1,
        window_id=1_041_273_836,
        response_code=200,
    )
    # What a browser writes for a page it has not analysed.
    connection.execute(
        "INSERT INTO content_annotations SELECT visit_id, -1, NULL, '', -1, 0, '', '', '', '', '', '', 1, 0"
        " FROM context_annotations"
    )
