"""The records that flow through Brainlake: what an importer yields and what the lake keeps.

An importer yields :class:`Batch` (Arrow rows of one record type, one of :data:`SOURCE_SCHEMAS`) and
:class:`Rejected` (one record that could not be taken, with the reason). All instants are microseconds since
1970-01-01 UTC. Files from browsers keep URLs and visits in two tables, so the record types do too: a visit
names its URL by `url_ref`, any integer unique within the file, and every `url_ref` must have appeared in an
earlier `urls` batch.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import pyarrow as pa

Kind = Literal["page", "bookmark", "highlight", "note", "thought", "slack_thread", "capture"]
Source = Literal[
    "chromium", "firefox", "safari", "takeout", "bookmarks", "extension", "slack", "mcp", "cli", "import"
]
Browser = Literal[
    "chrome",
    "chromium",
    "brave",
    "edge",
    "vivaldi",
    "opera",
    "arc",
    "firefox",
    "librewolf",
    "waterfox",
    "palemoon",
    "floorp",
    "fenix",
    "safari",
    "qutebrowser",
    "unknown",
]
KINDS: tuple[str, ...] = get_args(Kind)
SOURCES: tuple[str, ...] = get_args(Source)
BROWSERS: tuple[str, ...] = get_args(Browser)

# Instants outside these years are taken for damage, not for history: 1990-01-01 and 2100-01-01 UTC.
EARLIEST_US = 631_152_000_000_000
LATEST_US = 4_102_444_800_000_000

# How a visit came about, one vocabulary for all browsers.
NAVIGATIONS = (
    "link",
    "typed",
    "bookmark",
    "subframe",
    "generated",
    "start_page",
    "form",
    "reload",
    "keyword",
    "redirect",
    "download",
    "other",
)
# Where a visit was made: on this profile, on another device of the account, or taken over from another browser.
ORIGINS = ("local", "synced", "imported", "extension")

URLS = pa.schema(
    [
        pa.field("url_ref", pa.int64(), nullable=False),
        pa.field("url", pa.string(), nullable=False),  # exact, never decoded
        pa.field("title", pa.string()),  # the last title known to the source; '' becomes NULL
        pa.field("visit_count", pa.int64()),  # the source's own count, also of expired visits
        pa.field("typed_count", pa.int64()),
        pa.field("last_visit_us", pa.int64()),
        pa.field("hidden", pa.bool_()),
    ]
)

VISITS = pa.schema(
    [
        pa.field("native_id", pa.int64(), nullable=False),
        pa.field("url_ref", pa.int64(), nullable=False),
        pa.field("visited_us", pa.int64(), nullable=False),
        pa.field("from_native_id", pa.int64()),  # the visit that led here, within this file
        pa.field("opener_native_id", pa.int64()),  # the visit in the tab that opened this one
        pa.field("transition", pa.int64()),  # the source's own code, unsigned
        pa.field("navigation", pa.dictionary(pa.int8(), pa.string())),  # one of NAVIGATIONS
        pa.field("is_visible", pa.bool_(), nullable=False),  # a person saw this page
        pa.field("is_hop", pa.bool_(), nullable=False),  # a redirect on the way to another page
        pa.field("is_subframe", pa.bool_(), nullable=False),
        pa.field("is_reload", pa.bool_(), nullable=False),
        pa.field("is_back_forward", pa.bool_(), nullable=False),
        pa.field("duration_us", pa.int64()),  # until the next navigation; NULL is unknown, never 0
        pa.field("foreground_us", pa.int64()),  # in front of the person; NULL is unknown
        pa.field("origin", pa.dictionary(pa.int8(), pa.string())),  # one of ORIGINS
        pa.field("origin_device", pa.string()),  # opaque id of the other device
        pa.field("title", pa.string()),  # only where the source keeps a title per visit
    ]
)

SOURCE_SCHEMAS: dict[str, pa.Schema] = {"urls": URLS, "visits": VISITS}


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one record type, in the schema `SOURCE_SCHEMAS[record]`."""

    record: str
    rows: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Rejected:
    """One record that was not taken: where it stands in the file (such as `visits.id=17`) and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Document:
    """One searchable item: a page, note, thought, thread ... `text` is what is embedded, `title` what is shown."""

    id: str
    kind: str
    text: str
    title: str | None = None
    url: str | None = None
    domain: str | None = None
    source: str = "import"
    origin: str | None = None  # browser/profile, channel, client: shown with the hit
    first_us: int | None = None
    last_us: int | None = None
    visit_count: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result. `relevance` is 0..1; `match` is keyword, semantic or both."""

    id: str
    kind: str
    title: str | None
    url: str | None
    snippet: str
    relevance: float
    match: str
    last_visited: str | None  # ISO 8601 UTC, six digits, Z
    visit_count: int
    origin: str | None


def as_record_batch(record: str, columns: dict[str, Any]) -> pa.RecordBatch:
    """Build a batch of `record`'s schema from columns; absent nullable columns become NULL.

    Raises ValueError when a column is unknown or a required one is missing.
    """
    schema = SOURCE_SCHEMAS[record]
    if unknown := set(columns) - set(schema.names):
        raise ValueError(f"columns not in {record}: {sorted(unknown)}")
    length = len(next(iter(columns.values()))) if columns else 0
    arrays = []
    for field in schema:
        values = columns.get(field.name)
        if values is None:
            if not field.nullable:
                raise ValueError(f"{record}.{field.name} is required")
            arrays.append(pa.nulls(length, field.type))
            continue
        array = values if isinstance(values, pa.Array) else pa.array(values)
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        arrays.append(array if array.type == field.type else array.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
