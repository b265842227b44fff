"""The one retrieval function: keywords and meaning over everything in the index.

User text is words, never a query language. Filters apply before ranking. What could not be done (no model,
vectors still missing) is said in the answer, never hidden. Scores: `brain.fusion`.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from brain import querytext
from brain.errors import UsageError
from brain.models import Hit
from brain.querytext import Query
from brain.ranking import rank

if TYPE_CHECKING:
    import numpy as np
    from lancedb.expr import Expr
    from numpy.typing import NDArray

    from brain.embedding.protocol import Embedder
    from brain.index import Index, View

Mode = Literal["hybrid", "keyword", "semantic"]
MODES: tuple[str, ...] = ("hybrid", "keyword", "semantic")
DEEPEST = 100  # hits that paging can reach
_NEIGHBOURS = 150  # looked at for related items, since variants of the page itself are among them
_MAX_IDS = 1_000  # ids of documents in one part of a filter


@dataclass(frozen=True, slots=True)
class Filters:
    """What to look at; empty and None mean everything. `domain` is a registrable domain or a host.

    A document is inside [since_us, until_us) if any visible visit to it is. Its first and last visit decide
    that for most; `inside_ids` names (also) those whose visits lie on both sides and some of them inside.
    """

    kinds: Collection[str] = ()
    sources: Collection[str] = ()
    domain: str | None = None
    since_us: int | None = None
    until_us: int | None = None
    inside_ids: Callable[[], Collection[str]] | None = None


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits, best first; the cursor of the next page or None; what was degraded, in plain words."""

    hits: list[Hit]
    cursor: str | None = None
    degraded: list[str] = field(default_factory=list)


def search(
    index: "Index",
    embedder: "Embedder | None",
    query: str,
    filters: Filters | None = None,
    limit: int = 10,
    mode: str = "hybrid",
    cursor: str | None = None,
) -> SearchAnswer:
    """Find documents for `query`, best first, at most `limit` (1..100); pages end at the 100th hit.

    `relevance` falls with rank. A query that nothing answers gives few hits of low relevance, or none. Without
    a usable model keywords alone are searched and the answer says so.

    Raises UsageError for an empty query, an unknown mode, a limit out of range or a foreign cursor, and
    IndexUnavailable when there is no index to read.
    """
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}; one of: {', '.join(MODES)}")
    if not 1 <= limit <= 100:
        raise UsageError(f"limit must be 1 to 100, not {limit}")
    parsed = querytext.parse(query)
    if not parsed.text:
        raise UsageError("the query is empty; write what you are looking for")
    filters = filters or Filters()
    digest = _digest(parsed.text, filters, mode)
    offset = _offset(cursor, digest)
    view = index.view()
    degraded: list[str] = []
    vector = _query_vector(view, embedder, parsed.text, mode, degraded)
    where = where_of(view, filters, degraded)
    if vector is not None and (waiting := view.waiting):
        degraded.append(
            f"{waiting} document{'s' if waiting > 1 else ''} not yet embedded: found by keyword only"
        )
    stop = min(offset + limit, DEEPEST)
    hits, more = rank(view, parsed, vector, where, mode, offset, stop, one_per_page=not filters.kinds)
    return SearchAnswer(hits, _cursor(stop, digest) if more and stop < DEEPEST else None, degraded)


def related(index: "Index", doc_id: str, limit: int = 10, filters: Filters | None = None) -> SearchAnswer:
    """Documents nearest in meaning to one that is in the index, itself left out.

    Left out too: other addresses of the same page (same title on the same host). A document without a vector
    is compared by its words. Raises UsageError for an id that is not in the index, and IndexUnavailable.
    """
    if not 1 <= limit <= 100:
        raise UsageError(f"limit must be 1 to 100, not {limit}")
    import numpy as np

    view = index.view()
    own = view.of_document(doc_id).to_pylist()
    if not own:
        raise UsageError(f"no document {doc_id!r} in the index")
    degraded: list[str] = []
    where = where_of(view, filters or Filters(), degraded)
    vectors = [row["vector"] for row in own if row["vector"] is not None]
    if not vectors:
        degraded.append("keyword only: this document is not yet embedded")
        parsed = querytext.parse(str(own[0]["text"])[:300])
        hits = rank(view, parsed, None, where, "keyword", 0, _NEIGHBOURS)[0] if parsed.text else []
    else:
        centre = np.mean(np.asarray(vectors, np.float32), axis=0)
        centre /= max(float(np.linalg.norm(centre)), 1e-9)
        hits = rank(view, Query("", "", ()), centre, where, "semantic", 0, _NEIGHBOURS)[0]
    title, host = own[0]["title"], _host(own[0]["url"])
    kept = [
        hit
        for hit in hits
        if hit.id[1:] != doc_id[1:]
        and not (hit.url and host and hit.title == title and _host(hit.url) == host)
    ]
    return SearchAnswer(kept[:limit], None, degraded)


# --- what is asked


def _query_vector(
    view: "View", embedder: "Embedder | None", text: str, mode: str, degraded: list[str]
) -> "NDArray[np.float32] | None":
    if mode == "keyword":
        return None
    if embedder is None:
        degraded.append("keyword only: no embedding model")
    elif view.pointer.model is None:
        degraded.append("keyword only: nothing is embedded yet")
    elif view.pointer.model != embedder.identity:
        degraded.append(
            f"keyword only: the index holds vectors of {view.pointer.model.id}, not of {embedder.identity.id}"
        )
    else:
        return embedder.embed_query(text)
    return None


def where_of(view: "View", filters: Filters, degraded: list[str]) -> "Expr | None":
    """The filters as one typed expression; no text of the user's is ever read as SQL."""
    from lancedb.expr import col, lit

    parts: list[Expr] = []
    if filters.kinds:
        parts.append(col("kind").isin(list(filters.kinds)))
    if filters.sources:
        parts.append(col("source").isin(list(filters.sources)))
    if filters.domain:
        name = filters.domain.strip().lower().rstrip(".")
        parts.append(
            (col("domain") == lit(name)) | (col("host") == lit(name)) | (col("host") == lit(f"www.{name}"))
        )
    since, until = filters.since_us, filters.until_us
    if since is not None and until is not None:
        spanning = (col("first_us") < lit(since)) & (col("last_us") >= lit(until))
        inside = ((col("last_us") >= lit(since)) & (col("last_us") < lit(until))) | (
            (col("first_us") >= lit(since)) & (col("first_us") < lit(until))
        )
        if view.count(_all([*parts, spanning]) or spanning):
            if filters.inside_ids is None:
                degraded.append("items seen both before and after the interval are left out")
            else:
                names = list(filters.inside_ids())
                for start in range(0, len(names), _MAX_IDS):
                    inside = inside | (spanning & col("doc_id").isin(names[start : start + _MAX_IDS]))
        parts.append(inside)
    elif since is not None:
        parts.append(col("last_us") >= lit(since))
    elif until is not None:
        parts.append(col("first_us") < lit(until))
    return _all(parts)


def _all(parts: "list[Expr]") -> "Expr | None":
    if not parts:
        return None
    joined = parts[0]
    for part in parts[1:]:
        joined = joined & part
    return joined


# --- paging


def _digest(text: str, filters: Filters, mode: str) -> str:
    asked: list[object] = [text, mode, sorted(filters.kinds), sorted(filters.sources), filters.domain]
    asked += [filters.since_us, filters.until_us]
    return hashlib.blake2b(json.dumps(asked).encode(), digest_size=6).hexdigest()


def _cursor(offset: int, digest: str) -> str:
    return base64.urlsafe_b64encode(f"{offset}:{digest}".encode()).decode().rstrip("=")


def _offset(cursor: str | None, digest: str) -> int:
    if not cursor:
        return 0
    try:
        offset, asked = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().split(":")
        value = int(offset)
    except (ValueError, binascii.Error, UnicodeError) as error:
        raise UsageError("the cursor is not one of ours; leave it out to start at the first hit") from error
    if asked != digest or not 0 < value < DEEPEST:
        raise UsageError("the cursor belongs to another query; leave it out to start at the first hit")
    return value


def _host(url: str | None) -> str:
    return url.split("://", 1)[-1].split("/", 1)[0].lower() if url else ""
