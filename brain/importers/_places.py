"""What the histories of all Firefoxes share: visit types, hidden places, the time pages were viewed.

The visit types are nsINavHistoryService's TRANSITION_ constants; the mobile browsers took them over.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from brain.importers import _sqlite
from brain.importers._keys import Int64s, Keys
from brain.importers._rows import dictionary, kept
from brain.models import NAVIGATIONS, ORIGINS, Batch, as_record_batch

REDIRECTS = (5, 6)
_SUBFRAMES = (4, 8)
_DOWNLOAD = 7
_RELOAD = 9
_NAVIGATION = {
    1: "link",
    2: "typed",
    3: "bookmark",
    4: "subframe",
    5: "redirect",
    6: "redirect",
    7: "download",
    8: "subframe",
    9: "reload",
}
Flags = npt.NDArray[np.bool_]


class Places:
    """Which places are known, and which of them are hidden; made from `urls` batches."""

    def __init__(self, batches: list[pa.RecordBatch]) -> None:
        refs = np.concatenate([np.empty(0, np.int64), *(b.column("url_ref").to_numpy() for b in batches)])
        flags = np.concatenate([np.empty(0, np.bool_), *(_true(b.column("hidden")) for b in batches)])
        refs, first = np.unique(refs, return_index=True)
        self.keys = Keys(refs)
        self._flags = flags[first]

    def hidden(self, refs: Int64s) -> Flags:
        found, flags = self.keys.pick(self._flags, refs)
        hidden: Flags = found & flags
        return hidden


def visits(rows: pa.RecordBatch, refs: Any, times: Int64s, hops: Flags, aside: Flags, **more: Any) -> Batch:
    """Visits as a batch. `rows` has their `id` and `visit_type`, `refs` and `times` their URLs and microseconds.

    `hops` led on to another page, `aside` was not seen for another reason; frames and downloads were not either.
    `more` are other columns of `brain.models.VISITS`.
    """
    kind = types(rows)
    is_subframe = np.isin(kind, _SUBFRAMES)
    known = rows.column("visit_type").is_valid()
    columns = {
        "native_id": rows.column("id"),
        "url_ref": refs,
        "visited_us": times,
        "transition": kept(kind & 0xFFFFFFFF, known),
        "navigation": dictionary(kind, _NAVIGATION, NAVIGATIONS, other="other"),
        "is_visible": ~hops & ~aside & ~is_subframe & (kind != _DOWNLOAD),
        "is_hop": hops & ~is_subframe,
        "is_subframe": is_subframe,
        "is_reload": kind == _RELOAD,
        "is_back_forward": np.zeros(len(kind), np.bool_),
    }
    return Batch("visits", as_record_batch("visits", columns | more))


def types(rows: pa.RecordBatch) -> Int64s:
    """The visit types, 0 where there is none."""
    numbers: Int64s = rows.column("visit_type").fill_null(0).to_numpy()
    return numbers


def origins(is_local: pa.Int64Array) -> pa.DictionaryArray:
    """`synced` for 0, `local` for 1, NULL for anything else."""
    return dictionary(is_local.fill_null(-1).to_numpy(), {0: "synced", 1: "local"}, ORIGINS, other=None)


def viewed(db: _sqlite.Reader, to_us: int) -> tuple[Keys, Int64s]:
    """Visits and how long each was viewed in microseconds; `visit_date` counts `to_us` microseconds.

    An interaction is one stay on a page: its place, when it began and how long the page was viewed, in
    milliseconds. It begins when the document is ready, so after its visit was recorded; coming back to a page
    through the history makes a new one without a visit. Either way the latest visit before it is the one meant.
    """
    places, began, spent = db.numbers(
        "moz_places_metadata",
        ("place_id", "created_at", "total_view_time"),
        "total_view_time BETWEEN 1 AND 100000000000 AND created_at BETWEEN 1 AND 10000000000000",
    )
    if not len(places):
        return Keys(places), spent
    of_place, dates, ids = db.numbers(
        "moz_historyvisits",
        ("place_id", "visit_date", "id"),
        f"place_id IN (SELECT place_id FROM moz_places_metadata) AND visit_date BETWEEN 1 AND {2**62 // to_us}",
    )
    count = len(ids)
    everything = np.concatenate([of_place, places])
    # The milliseconds were cut off: a visit within the same one came before.
    times = np.concatenate([dates * to_us, began * 1000 + 999])
    order = np.lexsort((np.arange(len(everything)), times, everything))
    at = np.arange(len(order))
    latest = np.maximum.accumulate(np.where(order < count, at, -1))
    stays = at[(order >= count) & (latest >= 0)]
    stays = stays[everything[order[stays]] == everything[order[latest[stays]]]]
    visited, which = np.unique(ids[order[latest[stays]]], return_inverse=True)
    total = np.zeros(len(visited), np.int64)
    np.add.at(total, which, spent[order[stays] - count] * 1000)
    return Keys(visited), total


def _true(flags: pa.BooleanArray) -> Flags:
    values: Flags = flags.fill_null(False).to_numpy(zero_copy_only=False)
    return values
