"""Google's My Activity as Takeout exports it in JSON: a second, coarser record of pages visited and searches made.

An array of {header, title, titleUrl, time, products, ...}. Titles are sentences in the account's language ("Visited
X"), and addresses are often wrapped as google.com/url?q=..., so the sentence is cut off where its words are known and
the address unwrapped. Its clock is not the browser's: visits match those of a history within two seconds. What has
no web address (an app opened, a search by voice) is left out. The HTML form holds dates only as translated text; it
is refused with a word about JSON.
"""

import re
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pyarrow as pa

from brain.errors import EmptySource, SourceError
from brain.importers._json_stream import CutOff, items, shown, text_array
from brain.importers._whole_file import head
from brain.models import EARLIEST_US, LATEST_US, NAVIGATIONS, Batch, Rejected, as_record_batch

NAME = "my_activity"
SOURCE = "takeout"
BROWSER = "unknown"
VERSION = 1  # raised when the same bytes are read differently
CLOCK_US = 2_000_000

_ROWS = 20_000
_FIRST = re.compile(rb'\s*\[\s*\{\s*"(?:header|title|titleUrl|time|products|activityControls|subtitles)"\s*:')
_HTML = re.compile(rb"<title>[^<]{0,100}</title>.{0,20000}?outer-cell mdl-cell", re.DOTALL)
# "Visited X" in the languages of large accounts; an unknown sentence stays whole.
_VISITED = re.compile(
    r"(?:Visited|Viewed|Besucht:|Visitaste|Has visitado|Visitou|Vous avez consult\u00e9|Consult\u00e9|Hai visitato|"
    r"Bezocht:?|Bes\u00f6kte|Odwiedzono|\u041f\u043e\u0441\u0435\u0449\u0435\u043d:?)\s+|(?P<used>Used)\s+"
)
_SEARCHED = re.compile(
    r"Searched for|Gesucht nach|Has buscado|Buscaste|Pesquisou|Vous avez recherch\u00e9|Hai cercato"
)
_GOOGLE = re.compile(r"(?:www\.)?google\.[a-z.]{2,6}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def detect(path: Path) -> bool:
    """Whether the file is an array of activities; the HTML form is known too, to say what to do about it."""
    start = head(path).removeprefix(b"\xef\xbb\xbf")
    if _FIRST.match(start):
        return b'"header"' in start and b'"time"' in start
    return start.lstrip()[:1] == b"<" and _HTML.search(start) is not None


def read(path: Path) -> Generator[Batch | Rejected]:
    """Visits in batches, each after the URLs it names; `native_id` is the place in the array.

    Raises SourceError for the HTML form and where not one record can be read.
    """
    if head(path).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<":
        raise SourceError(
            f"{path.name} is My Activity as HTML, whose dates are translated text; export it again as JSON"
        )
    taken, refused, first = 0, 0, 0
    rows: list[tuple[int, str, str | None, int, str]] = []
    try:
        for at, item in enumerate(items(path)):
            made = _record(at, item)
            if isinstance(made, Rejected):
                refused += 1
                yield made
            elif made:
                rows.append(made)
            if len(rows) >= _ROWS:
                yield from _batches(rows, first)
                taken, first, rows = taken + len(rows), first + len(rows), []
    except CutOff as error:
        if not rows and not taken:
            raise SourceError(f"{path.name} is no whole JSON: {error}") from error
        yield from _batches(rows, first)
        yield Rejected("activities", f"the rest cannot be read: {error}")
        return
    yield from _batches(rows, first)
    if not rows and not taken and not refused:
        raise EmptySource(f"{path.name} holds no visit to a web page")


def _record(at: int, item: object) -> tuple[int, str, str | None, int, str] | Rejected | None:
    """(place, url, title, instant, navigation), a reject, or None for what is no visit to a page."""
    if not isinstance(item, dict):
        return Rejected(f"activity[{at}]", f"it is no object: {shown(item)}")
    url = item.get("titleUrl")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return None
    title = item.get("title")
    title = title if isinstance(title, str) else ""
    us = _instant(item.get("time"))
    if us is None:
        return Rejected(f"activity[{at}]", f"time {shown(item.get('time'))} is no plausible instant")
    named = _VISITED.sub("", title, count=1) if _VISITED.match(title) else title
    navigation = "generated" if _SEARCHED.match(title) else "other"
    plain = _unwrapped(url)
    return at, plain, None if named in ("", url, plain) else named, us, navigation


def _instant(text: object) -> int | None:
    """Microseconds since 1970 of an ISO 8601 instant with a zone."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return None
        span = moment - _EPOCH
    except (ValueError, OverflowError):
        return None
    us = (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds
    return us if EARLIEST_US <= us < LATEST_US else None


def _unwrapped(url: str) -> str:
    """The address that google.com/url?q=... leads to; any other as it is."""
    try:
        parts = urlsplit(url)
        if parts.path == "/url" and parts.hostname and _GOOGLE.fullmatch(parts.hostname):
            query = parse_qs(parts.query)
            for name in ("q", "url"):
                if (found := query.get(name, [""])[0]).startswith(("http://", "https://")):
                    return found
    except ValueError:
        pass
    return url


def _batches(rows: list[tuple[int, str, str | None, int, str]], first: int) -> Iterator[Batch]:
    if not rows:
        return
    places, addresses, titles, times, navigations = (list(column) for column in zip(*rows, strict=True))
    refs = np.arange(first, first + len(rows), dtype=np.int64)
    urls: dict[str, Any] = {
        "url_ref": refs,
        "url": text_array(addresses),
        "title": text_array(titles),
        "last_visit_us": pa.array(times, pa.int64()),
    }
    yield Batch("urls", as_record_batch("urls", urls))
    codes = np.array([NAVIGATIONS.index(word) for word in navigations], np.int8)
    never = np.zeros(len(rows), np.bool_)
    visits: dict[str, Any] = {
        "native_id": pa.array(places, pa.int64()),
        "url_ref": refs,
        "visited_us": pa.array(times, pa.int64()),
        "navigation": pa.DictionaryArray.from_arrays(codes, pa.array(NAVIGATIONS)),
        "is_visible": ~never,
    }
    visits |= dict.fromkeys(("is_hop", "is_subframe", "is_reload", "is_back_forward"), never)
    yield Batch("visits", as_record_batch("visits", visits))
