"""Which page of the past a text is about as well: the nearest in meaning, else one that shares its rare words."""

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from brain.search import Filters, where_of

if TYPE_CHECKING:
    from brain.embedding.protocol import Embedder
    from brain.index import View

SHORTEST_TEXT = 200  # characters; less says too little to recognise anything by
_NEAR = 0.82  # cosine
_NEIGHBOURS = 30
_TERMS = 24  # of the page, the longest first: they are the rare ones
_RARE = 0.01  # share of the rows that a rare term is in, at most, but for small indexes ...
_RARE_AT_LEAST = 8  # ... in which so many rows are few
_SHARED, _OVERLAP = 3, 0.2


@dataclass(frozen=True, slots=True)
class Recognised:
    """A row of the index, and why: `similarity` (cosine) where it is near in meaning, else the `terms` shared."""

    row: dict[str, Any]
    similarity: float | None
    terms: tuple[str, ...]


def recognise(
    view: "View", embedder: "Embedder | None", title: str, text: str, before_us: int, own_url: frozenset[str]
) -> Recognised | None:
    """The best page or captured text that was last seen before an instant (UTC microseconds), or None.

    `own_url` are addresses of the page itself, which is never the answer. Raises IndexUnavailable.
    """
    passage = f"{title}\n{text}"
    where = where_of(view, Filters(kinds=("page", "capture")), [])
    if embedder is not None and view.pointer.model == embedder.identity:
        near = view.nearest(embedder.embed_query(passage[:2_000]), where, _NEIGHBOURS).to_pylist()
        near = [row for row in near if 1 - row["_distance"] >= _NEAR]
        for found in _rows(view, [row["_rowid"] for row in near]):
            if _is_earlier(found, before_us, own_url):
                distance = next(row["_distance"] for row in near if row["_rowid"] == found["_rowid"])
                return Recognised(found, 1 - distance, ())
    return _by_words(view, passage, before_us, own_url)


def _by_words(view: "View", passage: str, before_us: int, own_url: frozenset[str]) -> Recognised | None:
    from brain.ranking import match

    terms = sorted({term for term in view.terms(passage[:20_000]) if len(term) > 3}, key=len, reverse=True)
    most = max(_RARE_AT_LEAST, int(view.rows * _RARE))
    where = where_of(view, Filters(kinds=("page", "capture")), [])
    shared: dict[int, list[str]] = defaultdict(list)
    rare = 0
    for term in terms[:_TERMS]:
        rows = view.keyword(match(term), where, most + 1)["_rowid"].to_pylist()
        if 0 < len(rows) <= most:
            rare += 1
            for row in rows:
                shared[row].append(term)
    good = [row for row, held in shared.items() if len(held) >= _SHARED and len(held) >= _OVERLAP * rare]
    good.sort(key=lambda row: len(shared[row]), reverse=True)
    for found in _rows(view, good[:_NEIGHBOURS]):
        if _is_earlier(found, before_us, own_url):
            return Recognised(found, None, tuple(sorted(shared[found["_rowid"]])))
    return None


def _rows(view: "View", row_ids: list[int]) -> list[dict[str, Any]]:
    """The rows in the order of their ids as given."""
    if not row_ids:
        return []
    columns = ("doc_id", "kind", "title", "url", "last_us", "visit_count")
    rows = {row["_rowid"]: row for row in view.take(row_ids, columns).to_pylist()}
    return [rows[row_id] for row_id in row_ids if row_id in rows]


def _is_earlier(row: dict[str, Any], before_us: int, own_url: frozenset[str]) -> bool:
    return row["last_us"] is not None and row["last_us"] < before_us and row["url"] not in own_url
