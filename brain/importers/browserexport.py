"""What `browserexport merge --json` and `--stream` write: visits of any browsers, as a JSON array or one object a line.

Each is {url, dt, metadata: {title, description, preview_image, duration}}; `dt` is seconds since 1970 (with a
fraction) or ISO 8601, `duration` seconds. Plain or gzipped. The nearest microsecond of the double is taken: mostly
the browser's own, so that the visit is the same as in its file; where the program's arithmetic lost one, the two are
near repeats. The program also decodes the percent escapes of URLs; characters that no URL of a browser holds are
escaped again here, those that it may hold cannot be told.
"""

import gzip
import json
import re
import zlib
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from brain.errors import EmptySource, SourceError
from brain.importers._instants import from_iso, from_seconds
from brain.importers._json_stream import CutOff, items, shown, text_array, whole_number
from brain.models import NAVIGATIONS, Batch, Rejected, as_record_batch

NAME = "browserexport"
SOURCE = "import"
BROWSER = "unknown"
VERSION = 1  # raised when the same bytes are read differently

_ROWS = 61_440
_HEAD = 8_192
_GZIP = b"\x1f\x8b"
_FIRST = re.compile(rb'\s*\[?\s*\{\s*"url"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*"dt"\s*:')
_LONGEST_LINE = 5_000_000
_ASCII = "".join(map(chr, range(0x21, 0x7F)))
_Row = tuple[int, str, str | None, int, int | None]


def detect(path: Path) -> bool:
    """Whether the file, unpacked, begins with a visit as browserexport writes them."""
    return _FIRST.match(_head(path).removeprefix(b"\xef\xbb\xbf")) is not None


def read(path: Path) -> Generator[Batch | Rejected]:
    """Visits in batches, each after the URLs it names; `native_id` counts records. Raises SourceError, EmptySource."""
    taken, refused, rows = 0, 0, list[_Row]()
    try:
        for at, item in enumerate(_records(path)):
            made = _row(at, item)
            if isinstance(made, Rejected):
                refused += 1
                yield made
                continue
            rows.append(made)
            if len(rows) >= _ROWS:
                yield from _batches(rows)
                taken, rows = taken + len(rows), []
    except (CutOff, OSError, EOFError, zlib.error) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        if not rows and not taken:
            raise SourceError(f"{path.name} cannot be read: {said}") from error
        yield from _batches(rows)
        yield Rejected("records", f"the rest cannot be read: {said}")
        return
    yield from _batches(rows)
    if not taken and not rows and not refused:
        raise EmptySource(f"{path.name} holds no visits")


def _head(path: Path) -> bytes:
    head = b""
    with suppress(OSError, EOFError, zlib.error):
        with path.open("rb") as file:
            start = file.read(2)
        with gzip.open(path) if start == _GZIP else path.open("rb") as stream:
            while len(head) < _HEAD and (piece := stream.read1(_HEAD)):
                head += piece
    return head


def _records(path: Path) -> Iterator[Any]:
    is_array = _head(path).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["
    if is_array:
        yield from items(path)
        return
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    with gzip.open(path) if packed else path.open("rb") as stream:
        while line := stream.readline(_LONGEST_LINE):
            if line.strip():
                try:
                    yield json.loads(line.decode("utf-8-sig", "replace"))
                except (ValueError, RecursionError):
                    yield line[:60].decode("utf-8", "replace")


def _row(at: int, item: object) -> _Row | Rejected:
    where = f"record[{at}]"
    if not isinstance(item, dict):
        return Rejected(where, f"it is no object: {shown(item)}")
    url, dt = item.get("url"), item.get("dt")
    us = from_iso(dt) if isinstance(dt, str) else from_seconds(dt)
    if not isinstance(url, str) or not url:
        return Rejected(where, "it has no url")
    if us is None:
        return Rejected(where, f"dt {shown(dt)} is no plausible instant")
    found = item.get("metadata")
    more = found if isinstance(found, dict) else {}
    title = more.get("title")
    seconds = whole_number(more.get("duration")) or 0
    spent = seconds * 1_000_000 if 0 < seconds < 10**8 else None
    return at, _escaped(url), title if isinstance(title, str) and title else None, us, spent


def _escaped(url: str) -> str:
    return url if url.isascii() and " " not in url else quote(url, safe=_ASCII, errors="replace")


def _batches(rows: list[_Row]) -> Iterator[Batch]:
    if not rows:
        return
    places, addresses, titles, times, durations = (list(column) for column in zip(*rows, strict=True))
    columns: dict[str, Any] = {
        "url_ref": pa.array(places, pa.int64()),
        "url": text_array(addresses),
        "title": text_array(titles),
        "last_visit_us": pa.array(times, pa.int64()),
    }
    yield Batch("urls", as_record_batch("urls", columns))
    never = np.zeros(len(rows), np.bool_)
    codes = np.full(len(rows), NAVIGATIONS.index("other"), np.int8)
    visits: dict[str, Any] = {
        "native_id": pa.array(places, pa.int64()),
        "url_ref": pa.array(places, pa.int64()),
        "visited_us": pa.array(times, pa.int64()),
        "navigation": pa.DictionaryArray.from_arrays(codes, pa.array(NAVIGATIONS)),
        "is_visible": ~never,
        "duration_us": pa.array(durations, pa.int64()),
    }
    visits |= dict.fromkeys(("is_hop", "is_subframe", "is_reload", "is_back_forward"), never)
    yield Batch("visits", as_record_batch("visits", visits))
