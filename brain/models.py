"""The records that flow through Brainlake: what an importer yields and what the lake keeps.

An importer yields :class:`Batch` (Arrow rows of one record type, one of :data:`SOURCE_SCHEMAS`) and
:class:`Rejected` (one record that could not be taken, with the reason). All instants are microseconds since
1970-01-01 UTC. Files from browsers keep URLs and visits in two tables, so the record types do too: a visit
names its URL by `url_ref`, any integer unique within the file, and every `url_ref` must have appeared in an
earlier `urls` batch. Bookmarks and texts carry their URL themselves.
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

# Where a kept address lies: among bookmarks, in a reading list, in a list of tabs saved for later, or among the
# tabs that were open when the file was written.
SHELVES = ("bookmarks", "reading_list", "saved_tabs", "open_tabs")

BOOKMARKS = pa.schema(
    [
        pa.field("native_id", pa.string()),  # the source's own id, where it has one
        pa.field("url", pa.string(), nullable=False),  # exact, never decoded
        pa.field("title", pa.string()),  # as the person or the page named it; '' becomes NULL
        pa.field("folder", pa.list_(pa.string()), nullable=False),  # names from the root down; [] at the root
        pa.field("tags", pa.list_(pa.string()), nullable=False),
        pa.field("note", pa.string()),
        pa.field("added_us", pa.int64()),  # NULL is unknown, never the moment of the import
        pa.field("added_raw", pa.string()),  # the date as written, only where it could not be understood
        pa.field("modified_us", pa.int64()),
        pa.field("last_used_us", pa.int64()),
        pa.field("shelf", pa.dictionary(pa.int8(), pa.string()), nullable=False),  # one of SHELVES
    ]
)

# Something a person wrote, marked or saved as text, taken over from another program.
TEXTS = pa.schema(
    [
        pa.field("native_id", pa.string(), nullable=False),  # stable in its source: the same text keeps it
        pa.field("kind", pa.dictionary(pa.int8(), pa.string()), nullable=False),  # one of TEXT_KINDS
        pa.field("url", pa.string()),
        pa.field("title", pa.string()),
        pa.field("text", pa.string(), nullable=False),
        pa.field("created_us", pa.int64()),
        pa.field("modified_us", pa.int64()),
        pa.field("tags", pa.list_(pa.string()), nullable=False),
        pa.field("details", pa.string()),  # what else the source says of it, as a JSON object
    ]
)
TEXT_KINDS = ("note", "highlight", "capture", "thought")

SLACK_USERS = pa.schema(
    [
        pa.field("user_id", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("is_bot", pa.bool_(), nullable=False),
        pa.field("is_deleted", pa.bool_(), nullable=False),
    ]
)

SLACK_CHANNELS = pa.schema(
    [
        pa.field("channel_id", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),  # public, private, dm or group_dm
        pa.field("topic", pa.string()),
        pa.field("purpose", pa.string()),
        pa.field("created_us", pa.int64()),
        pa.field("is_archived", pa.bool_(), nullable=False),
        pa.field("members", pa.list_(pa.string()), nullable=False),  # user ids
    ]
)

# A message with what hangs on it. `ts` identifies it within its channel, exactly as Slack writes it.
SLACK_MESSAGES = pa.schema(
    [
        pa.field("channel_id", pa.string(), nullable=False),
        pa.field("ts", pa.string(), nullable=False),
        pa.field("sent_us", pa.int64(), nullable=False),
        pa.field(
            "thread_ts", pa.string(), nullable=False
        ),  # that of the thread's first message, often its own
        pa.field("user_id", pa.string()),
        pa.field("author", pa.string(), nullable=False),
        pa.field("subtype", pa.string()),
        pa.field("is_system", pa.bool_(), nullable=False),  # written by Slack about the channel
        pa.field("is_deleted", pa.bool_(), nullable=False),
        pa.field("is_broadcast", pa.bool_(), nullable=False),  # a reply sent to the channel as well
        pa.field("text", pa.string(), nullable=False),
        pa.field("edited_ts", pa.string()),
        pa.field("reply_count", pa.int32(), nullable=False),
        pa.field("links", pa.list_(pa.struct({"url": pa.string(), "label": pa.string()})), nullable=False),
        pa.field(
            "reactions",
            pa.list_(pa.struct({"name": pa.string(), "count": pa.int32(), "users": pa.list_(pa.string())})),
            nullable=False,
        ),
        pa.field(
            "files",
            pa.list_(
                pa.struct(
                    {
                        **dict.fromkeys(("file_id", "name", "title", "mimetype"), pa.string()),
                        "bytes": pa.int64(),
                        "url": pa.string(),
                    }
                )
            ),
            nullable=False,
        ),
        pa.field("content_hash", pa.int64(), nullable=False),  # of everything that an edit can change
    ]
)

SOURCE_SCHEMAS: dict[str, pa.Schema] = {
    "urls": URLS,
    "visits": VISITS,
    "bookmarks": BOOKMARKS,
    "texts": TEXTS,
    "slack_users": SLACK_USERS,
    "slack_channels": SLACK_CHANNELS,
    "slack_messages": SLACK_MESSAGES,
}


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
