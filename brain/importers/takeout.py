"""The history of a Google account as Takeout exports it: History.json, before 2024 BrowserHistory.json.

File and folder names are translated, so the file is known by its keys. `Browser History` holds visits in
microseconds since 1970, newest first; `Typed Url`, where present, URLs with visits in microseconds since 1601;
`Session` the tabs that were open, which are kept as such and never taken for visits. Newer files name the transition
`page_transition_qualifier`, older ones `page_transition`.

The account's devices are mixed: `client_id` is an opaque name that need not even tell them apart, so `origin` is
NULL. There are no durations and no links between visits.
"""

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from brain.errors import EmptySource, SourceError
from brain.importers._json_stream import CutOff, holds, members, shown, text_array, whole_number
from brain.importers._whole_file import head
from brain.models import EARLIEST_US, LATEST_US, NAVIGATIONS, Batch, Rejected, as_record_batch

NAME = "takeout"
SOURCE = "takeout"
BROWSER = "chrome"
VERSION = 1  # raised when the same bytes are read differently

EPOCH_1601_US = 11_644_473_600_000_000  # 1601-01-01 (of Windows FILETIME) to 1970-01-01
HISTORY, TYPED, SESSION = "Browser History", "Typed Url", "Session"
_ROWS = 61_440  # half a row group of the lake: smaller batches merge twice as slowly, larger ones take more memory
_PIECE = 1 << 22
_SIBLINGS = (HISTORY, TYPED, SESSION, "Saved Tab Group", "Shared Tab Group", "Tab Group")
_FIRST_KEY = re.compile(rb'\s*\{\s*"((?:[^"\\]|\\.){0,200})"\s*:')

_NAVIGATION = {
    "LINK": "link",
    "TYPED": "typed",
    "AUTO_BOOKMARK": "bookmark",
    "AUTO_SUBFRAME": "subframe",
    "MANUAL_SUBFRAME": "subframe",
    "GENERATED": "generated",
    "AUTO_TOPLEVEL": "start_page",
    "START_PAGE": "start_page",
    "FORM_SUBMIT": "form",
    "RELOAD": "reload",
    "KEYWORD": "keyword",
    "KEYWORD_GENERATED": "keyword",
    # Qualifiers that some files give in place of the transition. The page at the end of a redirect was seen.
    "CLIENT_REDIRECT": "redirect",
    "SERVER_REDIRECT": "redirect",
}
_QUALIFIERS = {"CLIENT_REDIRECT", "SERVER_REDIRECT"}
_UNSEEN = {"AUTO_SUBFRAME", "MANUAL_SUBFRAME", "KEYWORD_GENERATED"}
# The core of the browser's own transition code, as `Typed Url` gives it.
_CORES = (
    *("LINK", "TYPED", "AUTO_BOOKMARK", "AUTO_SUBFRAME", "MANUAL_SUBFRAME", "GENERATED", "AUTO_TOPLEVEL"),
    *("FORM_SUBMIT", "RELOAD", "KEYWORD", "KEYWORD_GENERATED"),
)


def detect(path: Path) -> bool:
    """Whether the file is an object of JSON that begins with, or holds, one of Chrome's arrays."""
    found = _FIRST_KEY.match(head(path).removeprefix(b"\xef\xbb\xbf"))
    if not found:
        return False
    first = found[1].decode("utf-8", "replace")
    if first == HISTORY:
        return True
    # Open tabs alone are a sign only where the file begins as these do.
    wanted = (HISTORY, TYPED, SESSION) if first in _SIBLINGS else (HISTORY, TYPED)
    return _names(path, wanted) and holds(path, wanted)


def read(path: Path) -> Generator[Batch | Rejected]:
    """Visits in batches, each after the URLs it names, and open tabs; in the order of the file.

    `native_id` counts the visits of the file. A visit that both arrays name, as the same URL at the same instant,
    stands here twice and is one visit in the lake. Raises SourceError when not one record can be read.
    """
    rows, places, refused = _Rows(), Counter[str](), 0
    damage: CutOff | None = None
    try:
        for key, items in members(path, _TAKE):
            faults = _TAKE[key](rows, places[key], items)
            refused += len(faults)
            yield from faults
            places[key] += len(items)
            if rows.waiting >= _ROWS:
                yield from rows.batches()
    except CutOff as error:
        damage = error
    yield from rows.batches()
    if damage and not rows.taken:
        raise SourceError(f"{path.name} is no whole JSON: {damage}") from damage
    if damage:
        where = next(reversed(places), HISTORY)
        yield Rejected(where, f"the rest cannot be read, {rows.taken:,} records came before: {damage}")
    elif not rows.taken and not refused:
        raise EmptySource(f"{path.name} holds no visits")


class _Rows:
    """Columns of the next batches."""

    def __init__(self) -> None:
        self.taken = 0
        self._refs = self._number = 0  # URLs and visits of earlier batches
        self._clear()

    def _clear(self) -> None:
        self.urls: list[str] = []
        self.titles: list[str | None] = []
        self.times: list[int] = []
        self.words: list[str | None] = []
        self.devices: list[str | None] = []
        self.typed: list[tuple[str, str | None, int | None]] = []
        self.tabs: list[tuple[str, str | None, str, int | None]] = []

    def visit(
        self, url: str, title: str | None, us: int, word: str | None, device: str | None = None
    ) -> None:
        self.urls.append(url)
        self.titles.append(title)
        self.times.append(us)
        self.words.append(word)
        self.devices.append(device)

    @property
    def waiting(self) -> int:
        """How many rows the next batches have."""
        return len(self.urls) + len(self.typed) + len(self.tabs)

    def batches(self) -> Iterator[Batch]:
        """What waits, as batches."""
        if self.urls or self.typed:
            urls, places = self._as_urls()
            yield Batch("urls", urls)
            if self.urls:
                yield Batch("visits", self._as_visits(places[: len(self.urls)]))
            self._refs += urls.num_rows
        if self.tabs:
            yield Batch("bookmarks", _as_tabs(*zip(*self.tabs, strict=True)))
        self.taken += self.waiting
        self._number += len(self.urls)
        self._clear()

    def _as_urls(self) -> tuple[pa.RecordBatch, npt.NDArray[np.int64]]:
        """The distinct URLs, each with its title at the newest visit that has one, and the reference of each row."""
        named = [url for url, _, _ in self.typed]
        coded = text_array(self.urls + named).dictionary_encode()
        places = coded.indices.to_numpy().astype(np.int64)
        titles = text_array(self.titles + [title for _, title, _ in self.typed])
        times = np.array(self.times + [0] * len(named), np.int64)
        newest = np.zeros(len(coded.dictionary), np.int64)
        np.maximum.at(newest, places, times)
        # Of rows in the order of their instants, those without a title first, the last one of each URL stays.
        order = np.lexsort((times, titles.is_valid().to_numpy(zero_copy_only=False)))
        last = np.zeros(len(newest), np.int64)
        last[places[order]] = order
        typed = np.full(len(newest), -1, np.int64)
        counts = [-1 if count is None else count for _, _, count in self.typed]
        np.maximum.at(typed, places[len(self.urls) :], np.array(counts, np.int64))
        columns = {
            "url_ref": np.arange(self._refs, self._refs + len(newest), dtype=np.int64),
            "url": coded.dictionary,
            "title": titles.take(pa.array(last)),
            "last_visit_us": pa.array(newest, mask=newest == 0),
            "typed_count": pa.array(typed, mask=typed < 0),
        }
        return as_record_batch("urls", columns), places + self._refs

    def _as_visits(self, refs: npt.NDArray[np.int64]) -> pa.RecordBatch:
        coded = pa.array(self.words, pa.string()).fill_null("").dictionary_encode()
        words, at = coded.dictionary.to_pylist(), coded.indices.to_numpy()
        navigations = [_NAVIGATION.get(word, "other") for word in words]
        codes = np.array([NAVIGATIONS.index(word) for word in navigations], np.int8)
        never = np.zeros(len(refs), np.bool_)
        columns = {
            "native_id": np.arange(self._number, self._number + len(refs), dtype=np.int64),
            "url_ref": refs,
            "visited_us": pa.array(self.times, pa.int64()),
            "navigation": pa.DictionaryArray.from_arrays(codes[at], pa.array(NAVIGATIONS)),
            "is_visible": np.array([word not in _UNSEEN for word in words])[at],
            "is_hop": never,
            "is_subframe": np.array([word == "subframe" for word in navigations])[at],
            "is_reload": np.array([word == "reload" for word in navigations])[at],
            "is_back_forward": never,
            "origin_device": text_array(self.devices),
        }
        return as_record_batch("visits", columns)


def _as_tabs(addresses: Any, titles: Any, folders: Any, used: Any) -> pa.RecordBatch:
    """Open tabs as bookmarks on a shelf of their own."""
    columns = {
        "url": text_array(list(addresses)),
        "title": text_array(list(titles)),
        "folder": pa.array([[folder] for folder in folders], pa.list_(pa.string())),
        "tags": pa.array([[]] * len(addresses), pa.list_(pa.string())),
        "last_used_us": pa.array(used, pa.int64()),
        "shelf": pa.array(["open_tabs"] * len(addresses)).dictionary_encode(),
    }
    return as_record_batch("bookmarks", columns)


def _take_visits(rows: _Rows, first: int, items: list[Any]) -> list[Rejected]:
    if _take_plain(rows, items):
        return []
    faults = []
    for place, item in enumerate(items, first):
        known = item if isinstance(item, dict) else {}
        url, us = known.get("url"), whole_number(known.get("time_usec"))
        if not isinstance(url, str) or not url or us is None or not EARLIEST_US <= us < LATEST_US:
            faults.append(Rejected(f"{HISTORY}[{place}]", _fault(item)))
        else:
            rows.visit(url, _text(known, "title"), us, _transition(known), _text(known, "client_id"))
    return faults


def _take_plain(rows: _Rows, items: list[Any]) -> bool:
    """Take visits column by column where all are as they should be; else none of them."""
    if set(map(type, items)) != {dict}:
        return False
    urls, times = [item.get("url") for item in items], [item.get("time_usec") for item in items]
    words = [item.get("page_transition_qualifier") for item in items]
    if None in words:
        words = [_transition(item) for item in items]
    texts = [[item.get(name) or None for item in items] for name in ("title", "client_id")]
    if set(map(type, urls)) != {str} or "" in urls or set(map(type, times)) != {int}:
        return False
    if min(times) < EARLIEST_US or max(times) >= LATEST_US:
        return False
    if not set(map(type, texts[0] + texts[1] + words)) <= {str, type(None)}:
        return False
    rows.urls += urls
    rows.titles += texts[0]
    rows.times += times
    rows.words += words
    rows.devices += texts[1]
    return True


def _take_typed(rows: _Rows, first: int, items: list[Any]) -> list[Rejected]:
    faults = []
    for place, item in enumerate(items, first):
        known = item if isinstance(item, dict) else {}
        url, visits, codes = known.get("url"), known.get("visits"), known.get("visit_transitions")
        if not isinstance(url, str) or not url:
            faults.append(Rejected(f"{TYPED}[{place}]", _fault(item)))
            continue
        words = [_core(code) for code in codes] if isinstance(codes, list) else []
        title = _text(known, "title")
        rows.typed.append((url, title, words.count("TYPED") if words else None))
        for at, raw in enumerate(visits if isinstance(visits, list) else []):
            us = whole_number(raw)
            if us is None or not EARLIEST_US <= us - EPOCH_1601_US < LATEST_US:
                where = f"{TYPED}[{place}].visits[{at}]"
                faults.append(Rejected(where, f"{shown(raw)} is no plausible instant"))
            else:
                rows.visit(url, title, us - EPOCH_1601_US, words[at] if at < len(words) else None)
    return faults


def _take_tabs(rows: _Rows, first: int, items: list[Any]) -> list[Rejected]:
    """The pages that tabs show; what else a session holds is left out."""
    for item in items:
        tab = item.get("tab") if isinstance(item, dict) else None
        steps = tab.get("navigation") if isinstance(tab, dict) else None
        if not isinstance(tab, dict) or not isinstance(steps, list) or not steps:
            continue
        current = whole_number(tab.get("current_navigation_index"))
        step = steps[current] if current is not None and 0 <= current < len(steps) else steps[-1]
        url = step.get("virtual_url") if isinstance(step, dict) else None
        if isinstance(url, str) and url:
            ms = whole_number(step.get("timestamp_msec"))
            us = ms * 1_000 if ms is not None and EARLIEST_US <= ms * 1_000 < LATEST_US else None
            rows.tabs.append((url, _text(step, "title"), _text(item, "session_tag") or "Open tabs", us))
    return []


_TAKE: dict[str, Callable[[_Rows, int, list[Any]], list[Rejected]]] = {
    HISTORY: _take_visits,
    TYPED: _take_typed,
    SESSION: _take_tabs,
}


def _fault(item: object) -> str:
    if not isinstance(item, dict):
        return f"it is no object: {shown(item)}"
    url = item.get("url")
    if not isinstance(url, str) or not url:
        return "it has no url"
    return f"time_usec {shown(item.get('time_usec'))} is no plausible instant"


def _text(item: dict[str, Any], name: str) -> str | None:
    value = item.get(name)
    return value if isinstance(value, str) and value else None


def _transition(item: dict[str, Any]) -> str | None:
    """The transition by whichever key; a core type wins over a mere qualifier."""
    named = (item.get("page_transition"), item.get("page_transition_qualifier"))
    found = [word for word in named if isinstance(word, str) and word in _NAVIGATION]
    return next((word for word in found if word not in _QUALIFIERS), found[0] if found else None)


def _core(code: object) -> str:
    number = whole_number(code)
    core = number & 0xFF if number is not None else -1
    return _CORES[core] if 0 <= core < len(_CORES) else ""


def _names(path: Path, keys: Sequence[str]) -> bool:
    """Whether one of the keys is written anywhere in the file: a quick look that spares most files a slow one."""
    wanted = [f'"{key}"'.encode() for key in keys]
    try:
        with path.open("rb") as file:
            text = b""
            while piece := file.read(_PIECE):
                text = text[-32:] + piece  # a name may lie across two pieces
                if any(name in text for name in wanted):
                    return True
    except OSError:
        return False
    return False
