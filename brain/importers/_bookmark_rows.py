"""What the readers of bookmarks share: dates as programs wrote them, checks, and batches of bounded size."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa

from brain.errors import EmptySource, SourceError
from brain.models import EARLIEST_US, LATEST_US, SHELVES, Batch, Rejected, as_record_batch

# 1601-01-01 (the epoch of Windows FILETIME) to 1970-01-01, in microseconds.
EPOCH_1601_US = 11_644_473_600_000_000
# Nothing a person keeps comes near these; a damaged file does.
LONGEST_URL = 65_536
LONGEST_TEXT = 1_000_000
DEEPEST_FOLDER = 256

_ROWS, _CHARACTERS, _NAMES = 4_096, 4_000_000, 262_144  # what a batch holds at most, the last record apart
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:.")
_SURROGATES = re.compile("[\ud800-\udfff]")
_SECONDS = re.compile(r"([0-9]{9,10})\.([0-9]{1,9})")
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9]{2}:?[0-9]{2})")

Dated = tuple[int | None, str | None]  # the instant, and the date as written where there is none to be told


@dataclass(slots=True)
class Bookmark:
    """One kept address as a reader found it; `where` names its place in the file."""

    where: str
    url: object
    title: str | None = None
    folder: tuple[str, ...] = ()
    tags: Sequence[str] = ()
    note: str | None = None
    added: Dated = (None, None)
    modified_us: int | None = None
    last_used_us: int | None = None
    shelf: str = "bookmarks"
    native_id: str | None = None


def batches(name: str, found: Iterable[Bookmark | Rejected]) -> Iterator[Batch | Rejected]:
    """The bookmarks of the file `name` in batches, and a reject for each that cannot be taken.

    Raises EmptySource when there is no bookmark at all, and SourceError when there are, and none could be taken.
    """
    rows, taken, refused = _Rows(), 0, 0
    for item in found:
        if isinstance(item, Bookmark):
            reason = _reason_against(item)
            if reason is None:
                taken += 1
                rows.add(item)
                if rows.full():
                    yield rows.take()
                continue
            item = Rejected(item.where, reason)
        refused += 1
        yield item
    if rows.bookmarks:
        yield rows.take()
    if not taken:
        if refused:
            raise SourceError(f"none of the {refused} links of {name} could be taken")
        raise EmptySource(f"{name} holds no links")


def written_date(text: object) -> Dated:
    """A date as bookmark files have it, told apart by its length, as microseconds since 1970.

    Up to 10 digits are seconds (a fraction may follow), 12 or 13 milliseconds, 15 or 16 microseconds, 17 that begin
    with 13 microseconds since 1601; ISO 8601 with a zone is understood too. Missing, zero and negative mean unknown.
    What is not understood, or lies outside the years of history, comes back as written.
    """
    if text is None or isinstance(text, bool):
        return None, None
    written = str(text).strip()
    if not written or written == "0" or written.startswith("-"):
        return None, None
    instant = _instant(written)
    if instant == 0:
        return None, None
    return (instant, None) if plausible(instant) else (None, whole_text(written[:200]))


def plausible(instant: int | None) -> bool:
    """Whether the instant lies in the years of history."""
    return instant is not None and EARLIEST_US <= instant < LATEST_US


def since_1601(value: object) -> Dated:
    """Microseconds since 1601, as Chromium writes them: digits in a text."""
    written = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not written or written.startswith("-") or not written.strip("0"):
        return None, None
    instant = int(written) - EPOCH_1601_US if _is_number(written) else None
    return (instant, None) if plausible(instant) else (None, whole_text(written[:200]))


def since_1970_ms(value: object) -> int | None:
    """Milliseconds since 1970, as programs in JavaScript write them; NULL where they are none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    if not 0 < value < LATEST_US // 1000:
        return None
    # A fraction of a millisecond is kept to the microsecond.
    instant = value * 1000 if isinstance(value, int) else round(value * 1000)
    return instant if plausible(instant) else None


def whole_text(text: str) -> str:
    """The text with a replacement character for each half of a character, which no Arrow text can hold."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def one_line(text: str) -> str:
    """The text with every run of white space as one space, none at its ends."""
    return " ".join(text.split())


def _instant(written: str) -> int | None:
    if _is_number(written):
        value, digits = int(written), len(written)
        if digits <= 10:
            return value * 1_000_000
        if digits == 17 and written.startswith("13"):
            return value - EPOCH_1601_US
        return {12: value * 1000, 13: value * 1000, 15: value, 16: value}.get(digits)
    if parts := _SECONDS.fullmatch(written):
        return int(parts[1]) * 1_000_000 + int(parts[2].ljust(6, "0")[:6])
    if _ISO.fullmatch(written):
        try:
            moment = datetime.fromisoformat(written) - datetime(1970, 1, 1, tzinfo=UTC)
        except (ValueError, OverflowError):
            return None
        return (moment.days * 86_400 + moment.seconds) * 1_000_000 + moment.microseconds
    return None


def _is_number(written: str) -> bool:
    return len(written) <= 20 and written.isascii() and written.isdigit()


def _reason_against(bookmark: Bookmark) -> str | None:
    url = bookmark.url
    if not isinstance(url, str) or not url:
        return "it has no address"
    if len(url) > LONGEST_URL:
        return f"its address has {len(url):,} characters, more than {LONGEST_URL:,}"
    if not _SCHEME.match(url):
        return f"{url[:60]!a} is no address"
    texts = (bookmark.title or "", bookmark.note or "", *bookmark.folder, *bookmark.tags)
    if sum(map(len, texts)) > LONGEST_TEXT:
        return f"its texts have more than {LONGEST_TEXT:,} characters"
    return None


@dataclass(slots=True)
class _Rows:
    """The bookmarks of the batch that is being filled."""

    bookmarks: list[Bookmark] = field(default_factory=list)
    characters: int = 0
    names: int = 0

    def add(self, bookmark: Bookmark) -> None:
        self.bookmarks.append(bookmark)
        self.characters += len(str(bookmark.url)) + len(bookmark.title or "") + len(bookmark.note or "")
        self.names += len(bookmark.folder) + len(bookmark.tags)

    def full(self) -> bool:
        return len(self.bookmarks) >= _ROWS or self.characters >= _CHARACTERS or self.names >= _NAMES

    def take(self) -> Batch:
        rows = self.bookmarks
        batch = as_record_batch(
            "bookmarks",
            {
                "native_id": pa.array([_or_null(row.native_id) for row in rows], pa.string()),
                "url": [whole_text(str(row.url)) for row in rows],
                "title": pa.array([_or_null(row.title) for row in rows], pa.string()),
                "folder": _lists([row.folder for row in rows]),
                "tags": _lists([row.tags for row in rows]),
                "note": pa.array([_or_null(row.note) for row in rows], pa.string()),
                "added_us": pa.array([row.added[0] for row in rows], pa.int64()),
                "added_raw": pa.array([row.added[1] for row in rows], pa.string()),
                "modified_us": pa.array([row.modified_us for row in rows], pa.int64()),
                "last_used_us": pa.array([row.last_used_us for row in rows], pa.int64()),
                "shelf": pa.DictionaryArray.from_arrays(
                    pa.array([SHELVES.index(row.shelf) for row in rows], pa.int8()),
                    pa.array(SHELVES, pa.string()),
                ),
            },
        )
        self.bookmarks, self.characters, self.names = [], 0, 0
        return Batch("bookmarks", batch)


def _or_null(text: str | None) -> str | None:
    return whole_text(text) if text else None


def _lists(values: list[Sequence[str]]) -> pa.ListArray:
    return pa.array([[whole_text(name) for name in names] for names in values], pa.list_(pa.string()))
