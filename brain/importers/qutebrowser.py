"""history.sqlite of qutebrowser: `History` (one row a visit) and `CompletionHistory` (one row a URL, to be completed).

Times are seconds since 1970; the first versions with tables kept fractions of them. A row marked `redirect` is the page
asked for, a hop on the way to the next row's; the title it carries is the other page's and is not taken. There is no
link between visits, no duration, and ids are row ids. Every row is a visit: a step to an anchor of the same page stands
there as one too.

`History` keeps URLs fully encoded, `CompletionHistory` as they are shown: decoded, hosts in their own script.
"""

from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from brain.errors import SourceError
from brain.importers import _sqlite
from brain.importers._rows import dictionary, from_seconds, kept, null_where, reject_seconds
from brain.importers._sqlite import Column
from brain.models import NAVIGATIONS, ORIGINS, Batch, Rejected, as_record_batch

NAME = "qutebrowser"
SOURCE = "import"
BROWSER = "qutebrowser"
VERSION = 2  # raised when the same bytes are read differently

_VISITS = (
    Column("url", "text", required=True),
    Column("title", "text"),
    Column("atime", "real", required=True),
    Column("redirect", "int"),
)
_COMPLETION = (Column("url", "text", required=True), Column("title", "text"), Column("last_atime", "real"))


def detect(path: Path) -> bool:
    """Whether the file holds qutebrowser's table of visits."""
    columns = _sqlite.peek(path).get("History", frozenset())
    return {"url", "title", "atime"} <= columns


def read(path: Path) -> Generator[Batch | Rejected]:
    """Visits in batches, each after the URLs it names, then the URLs that are known for completion alone.

    The latter stand as they are shown, since their encoded form is nowhere in the file. Raises SourceError when the
    file cannot be read as a whole.
    """
    with _sqlite.reading(path) as db:
        if "History" not in db.tables:
            raise SourceError(f"{path.name} has no qutebrowser history: its table History is missing")
        refs = 0
        visited: list[pa.Array] = []
        for rows in db.batches("History", "rowid", _VISITS):
            if isinstance(rows, Rejected):
                yield rows
                continue
            for item in _visits(rows, refs):
                if isinstance(item, Batch) and item.record == "urls":
                    visited.append(pc.unique(item.rows.column("url")))
                    refs += item.rows.num_rows
                yield item
        if "CompletionHistory" not in db.tables:
            return
        known = _Visited(visited)
        for rows in db.batches("CompletionHistory", "rowid", _COMPLETION):
            if isinstance(rows, Rejected):
                yield rows
                continue
            rows = known.without(rows)
            if rows.num_rows:
                last = kept(*from_seconds(rows.column("last_atime"), 0))
                yield Batch("urls", _urls(rows, refs, rows.column("title"), last))
                refs += rows.num_rows


def _visits(rows: pa.RecordBatch, refs: int) -> Generator[Batch | Rejected]:
    rows, times, absurd = reject_seconds(rows, "atime", 0, "History", "rowid")
    yield from absurd
    if not rows.num_rows:
        return
    is_hop = rows.column("redirect").fill_null(0).to_numpy() != 0
    own = pc.if_else(pa.array(is_hop), pa.scalar(None, pa.string()), rows.column("title"))
    urls = _urls(rows, refs, own, pa.array(times))
    yield Batch("urls", urls)
    never = np.zeros(rows.num_rows, np.bool_)
    same = np.zeros(rows.num_rows, np.int64)
    yield Batch(
        "visits",
        as_record_batch(
            "visits",
            {
                "native_id": rows.column("rowid"),
                "url_ref": urls.column("url_ref"),
                "visited_us": times,
                "navigation": dictionary(same, {0: "other"}, NAVIGATIONS, other=None),
                "is_visible": ~is_hop,
                "is_hop": is_hop,
                "is_subframe": never,
                "is_reload": never,
                "is_back_forward": never,
                "origin": dictionary(same, {0: "local"}, ORIGINS, other=None),
                "title": urls.column("title"),
            },
        ),
    )


def _urls(rows: pa.RecordBatch, refs: int, title: pa.StringArray, last: pa.Int64Array) -> pa.RecordBatch:
    return as_record_batch(
        "urls",
        {
            "url_ref": np.arange(refs, refs + rows.num_rows),
            "url": rows.column("url"),
            "title": null_where(title, ""),
            "last_visit_us": last,
        },
    )


class _Visited:
    """The URLs of all visits, to tell those that are known for completion alone."""

    def __init__(self, urls: list[pa.Array]) -> None:
        self._urls = pa.chunked_array(urls, pa.string()).unique()
        self._shown: set[str] | None = None

    def without(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows whose URL was not visited, in whichever of its two forms."""
        rows = rows.filter(pc.invert(pc.is_in(rows.column("url"), value_set=self._urls)))
        if not rows.num_rows:
            return rows
        if self._shown is None:
            # Only these are written otherwise when they are shown.
            self._shown = {_shown(url) for url in self._urls.to_pylist() if "%" in url or "xn--" in url}
        return rows.filter(
            pa.array([_shown(url) not in self._shown for url in rows.column("url").to_pylist()])
        )


def _shown(url: str) -> str:
    """The URL with everything decoded: the same for the encoded and for the shown form."""
    before, slashes, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    if "xn--" in host:
        with suppress(UnicodeError):
            host = host.encode("ascii").decode("idna")
    return unquote(before + slashes + host + slash + path)
