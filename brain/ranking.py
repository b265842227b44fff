"""Candidates from both legs of a search, corrected, scored in full and put in order."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from brain import fusion, querytext
from brain.intervals import iso
from brain.models import Hit
from brain.querytext import Query
from brain.snippets import snippet

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from lancedb.expr import Expr
    from lancedb.query import FullTextQuery
    from numpy.typing import NDArray

    from brain.index import View

_CANDIDATES = 100  # rows of each leg; 50 to 200 made no difference on the judged sets
RERANKED = 40  # documents compared at once; nor did 60 or all


@dataclass(slots=True)
class _Candidate:
    """The best row of one document, as the legs saw it."""

    row_id: int
    bm25: float
    cosine: float | None
    score: float


def rank(
    view: "View",
    query: Query,
    vector: "NDArray[np.float32] | None",
    where: "Expr | None",
    mode: str,
    start: int,
    stop: int,
    one_per_page: bool = True,
) -> tuple[list[Hit], bool]:
    """Hits number `start` to `stop`, best first, and whether there are more.

    With `one_per_page` a page that is visited and bookmarked is one hit, the better placed of both.
    Candidates are compared in blocks of RERANKED, so every page is cut from one and the same order.
    """
    depth = _CANDIDATES
    window = (stop // RERANKED + 1) * RERANKED
    by_words = vector is None or (mode == "hybrid" and bool(query.keywords))
    keyword, nearest = _legs(view, query, vector, where, depth, by_words)
    if by_words and query.unspaced:
        keyword = _with_contained(view, query, where, depth, keyword)
    terms = list(dict.fromkeys(view.terms(query.keywords))) if by_words else []
    candidates = _candidates(view, keyword, nearest)[:window]
    rows = _rows(view, candidates)
    if by_words and (close := _corrections(view, query, terms, rows)):
        extra = view.keyword(match(f"{query.keywords} {' '.join(close.values())}"), where, depth)
        candidates = _candidates(view, extra, nearest)[:window]
        rows = _rows(view, candidates)
        fixed = {term: view.terms(word)[0] for term, word in close.items()}
        terms = [fixed.get(term, term) for term in terms]
    if not candidates:
        return [], False
    order, relevance, by_meaning = _order(view, query, vector, terms, candidates, rows)
    if one_per_page:
        order = _without_twins(order, rows)
    hits = [
        _hit(rows[at], relevance[at], candidates[at].bm25 > 0, by_meaning[at], terms)
        for at in order[start:stop]
    ]
    return hits, len(order) > stop


def _without_twins(order: "list[int]", rows: "list[dict[str, Any]]") -> "list[int]":
    """The order without the page or bookmark whose twin stands before it: their ids share all digits."""
    seen: set[str] = set()
    kept = []
    for at in order:
        twin = rows[at]["doc_id"][1:] if rows[at]["kind"] in _TWINS else rows[at]["doc_id"]
        if twin not in seen:
            kept.append(at)
        seen.add(twin)
    return kept


_TWINS = ("page", "bookmark")


def _legs(
    view: "View",
    query: Query,
    vector: "NDArray[np.float32] | None",
    where: "Expr | None",
    depth: int,
    by_words: bool,
) -> "tuple[pa.Table | None, pa.Table | None]":
    """Both legs at once; each runs outside the interpreter's lock."""
    if vector is None:
        return view.keyword(_full_text(query), where, depth), None
    if not by_words:
        return None, view.nearest(vector, where, depth)
    words = _threads().submit(view.keyword, _full_text(query), where, depth)
    nearest = view.nearest(vector, where, depth)
    return words.result(), nearest


def _with_contained(
    view: "View", query: Query, where: "Expr | None", depth: int, keyword: "pa.Table | None"
) -> "pa.Table":
    """The keyword leg with rows that hold the query's unspaced runs; a run scores as one term of its rarity."""
    import math

    import pyarrow as pa

    scores: dict[int, float] = {}
    documents: dict[int, str] = {}
    if keyword is not None:
        ids = keyword["_rowid"].to_pylist()
        scores = dict(zip(ids, keyword["_score"].to_pylist(), strict=True))
        documents = dict(zip(ids, keyword["doc_id"].to_pylist(), strict=True))
    held: dict[int, float] = {}
    for run in query.unspaced:
        found = view.containing(run, where, 10 * depth)
        rarity = math.log((view.rows + 1.0) / (found.num_rows + 0.5))
        for row, document in zip(found["_rowid"].to_pylist(), found["doc_id"].to_pylist(), strict=True):
            held[row] = held.get(row, 0.0) + max(rarity, 0.1)
            documents[row] = document
    for row, score in held.items():
        scores[row] = max(scores.get(row, 0.0), score)
    best = sorted(scores, key=lambda row: -scores[row])[:depth]
    return pa.table(
        {
            "_rowid": pa.array(best, pa.uint64()),
            "doc_id": pa.array([documents[row] for row in best], pa.string()),
            "_score": pa.array([scores[row] for row in best], pa.float32()),
        }
    )


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(4, thread_name_prefix="search")


def match(text: str, fuzziness: int = 0) -> "FullTextQuery":
    """Rows with any of the words of a text."""
    from lancedb.query import MatchQuery

    prefix = 1 if fuzziness else 0
    return MatchQuery(text, "search_text", fuzziness=fuzziness, prefix_length=prefix)  # type: ignore[call-arg]


def _phrase(text: str) -> "FullTextQuery":
    from lancedb.query import PhraseQuery

    return PhraseQuery(text, "search_text")  # type: ignore[call-arg]


def _full_text(query: Query) -> "FullTextQuery":
    """Any of the words; what is written like an id also as a phrase, so that common parts cannot drown it."""
    from lancedb.query import BooleanQuery, Occur

    phrases = [name for name in query.ids if len(querytext.words(name)) > 1]
    if not phrases:
        return match(query.keywords)
    parts = [(Occur.SHOULD, match(query.keywords))]
    parts += [(Occur.SHOULD, _phrase(name)) for name in phrases[:4]]
    return BooleanQuery(parts)


def _candidates(view: "View", keyword: "pa.Table | None", nearest: "pa.Table | None") -> list[_Candidate]:
    """The best row of each document by what the legs know, best first."""
    import numpy as np

    bm25: dict[int, float] = {}
    cosine: dict[int, float] = {}
    documents: dict[int, str] = {}
    if keyword is not None:
        ids = keyword["_rowid"].to_pylist()
        bm25 = dict(zip(ids, keyword["_score"].to_pylist(), strict=True))
        documents.update(zip(ids, keyword["doc_id"].to_pylist(), strict=True))
    if nearest is not None:
        ids = nearest["_rowid"].to_pylist()
        cosine = dict(zip(ids, (1.0 - np.asarray(nearest["_distance"])).tolist(), strict=True))
        documents.update(zip(ids, nearest["doc_id"].to_pylist(), strict=True))
    # A row that only its words found lies no nearer than the last one of the other leg.
    far = min(cosine.values(), default=0.0)
    words = fusion.keyword_score(np.array([bm25.get(row, 0.0) for row in documents]), view.rows)
    best: dict[str, _Candidate] = {}
    for (row, document), weighted in zip(documents.items(), words.tolist(), strict=True):
        found = _Candidate(row, bm25.get(row, 0.0), cosine.get(row), weighted + cosine.get(row, far))
        if document not in best or best[document].score < found.score:
            best[document] = found
    return sorted(best.values(), key=lambda found: (-found.score, found.row_id))


def _rows(view: "View", candidates: list[_Candidate]) -> list[dict[str, Any]]:
    """The candidates' rows, in their order; vectors stay out of Python lists."""
    import numpy as np

    if not candidates:
        return []
    table = view.take([found.row_id for found in candidates])
    column = table["vector"].combine_chunks()
    valid = np.asarray(column.is_valid())
    matrix = np.full((len(column), column.type.list_size), np.nan, np.float32)
    matrix[valid] = np.asarray(column.flatten()).reshape(-1, column.type.list_size)  # flatten() skips nulls
    rows = table.drop_columns(["vector"]).to_pylist()
    for at, row in enumerate(rows):
        row["vector"] = matrix[at]
        row["folded"] = querytext.searchable(row["text"] or "", row["url"])
    by_id = {row["_rowid"]: row for row in rows}
    return [by_id[found.row_id] for found in candidates]


def _corrections(view: "View", query: Query, terms: list[str], rows: list[dict[str, Any]]) -> dict[str, str]:
    """For terms that no candidate has: a word of the index one or two edits away, if there is one.

    Only plain words of four letters or more; the first letter must be right.
    """
    unknown = [
        term
        for term in terms
        if len(term) >= 4 and term.isascii() and term.isalpha() and not _any_has(rows, term)
    ]
    if not unknown:
        return {}
    typed = querytext.words(query.keywords)
    found: dict[str, str] = {}
    for term in unknown[:4]:
        word = next((word for word in typed if view.terms(word) == [term]), term)
        most = 1 if len(word) <= 7 else 2
        if close := _closest(view, word, term, most):
            found[term] = close
    return found


def _any_has(rows: list[dict[str, Any]], term: str) -> bool:
    return any(querytext.has_term(row["folded"], term) for row in rows)


def _closest(view: "View", word: str, term: str, most: int) -> str | None:
    # Fuzzy matching compares with stems as they are in the index, so the stem is what to ask for.
    reach = min(2, most + 1)
    near = view.keyword(match(term, fuzziness=reach), None, 20)
    if not near.num_rows:
        return None
    texts = view.take(near["_rowid"].to_pylist(), ("search_text",))["search_text"].to_pylist()
    options = {other for text in texts for other in querytext.words(text) if other[0] == word[0]}
    scored = sorted((querytext.distance(word, other, most), other) for other in options)
    return scored[0][1] if scored and scored[0][0] <= most else None


def _order(
    view: "View",
    query: Query,
    vector: "NDArray[np.float32] | None",
    terms: list[str],
    candidates: list[_Candidate],
    rows: list[dict[str, Any]],
) -> tuple[list[int], list[float], list[bool]]:
    """Positions of the hits, best first, those under the floor left out; relevance and nearness by position."""
    import numpy as np

    bm25 = np.array([found.bm25 for found in candidates])
    has = np.array([[querytext.has_term(row["folded"], term) for term in terms] for row in rows], float)
    coverage = has.mean(axis=1) if terms else np.zeros(len(rows))
    exact = np.array(
        [[querytext.has_verbatim(row["folded"], name) for name in query.ids] for row in rows], float
    )
    verbatim = exact.mean(axis=1) if query.ids else np.zeros(len(rows))
    bonus = (fusion.VERBATIM_ALONE_BONUS if query.is_id else fusion.VERBATIM_BONUS) * verbatim
    bonus += fusion.ALL_TERMS_BONUS * ((coverage >= 1.0) & (bm25 > 0))
    words = fusion.keyword_score(bm25, view.rows)
    if vector is None:
        scores = words + bonus
        relevance = np.maximum(fusion.keyword_relevance(bm25, coverage, view.rows), 0.99 * verbatim)
        keep = relevance > 0
        cosine = np.full(len(rows), np.nan)
    else:
        vectors = np.stack([row["vector"] for row in rows])
        trust = _trust(view, query)
        cosine = (vectors @ vector).astype(float) * trust
        known = ~np.isnan(cosine)
        # A row still without a vector counts as near as the median of what its words compete with.
        near = cosine[known & (bm25 > 0)] if (known & (bm25 > 0)).any() else cosine[known]
        meaning = np.where(known, cosine, np.median(near) if len(near) else fusion.FLOOR)
        own = words + meaning + bonus
        # A row that has most of the words is never hidden for what the model thinks of it.
        keep = (own >= fusion.FLOOR) | ((coverage >= fusion.KEPT_COVERAGE) & (bm25 > 0)) | (verbatim > 0)
        if not query.text:  # neighbours of an item: whatever is nearer than chance
            keep = known & (cosine >= fusion.NEIGHBOUR_FLOOR)
        by_words = fusion.keyword_relevance(bm25, coverage, view.rows)
        relevance = np.maximum(
            fusion.hybrid_relevance(own), by_words * (fusion.WORDS_SAY if trust == 1.0 else 1.0)
        )
        scores = own + fusion.feedback(own, vectors, RERANKED)
    blocks = np.arange(len(rows)) // RERANKED
    order = [at for at in np.lexsort((-scores, blocks)).tolist() if keep[at]]
    relevance[order] = fusion.falling(relevance[order])
    return order, relevance.tolist(), (cosine >= fusion.SEMANTIC_FLOOR).tolist()


def _trust(view: "View", query: Query) -> float:
    """How much of the cosine counts: to an English model all texts of another script look alike.

    So much less that meaning alone, even at cosine 1, stays below the floor, and can only order what words found.
    """
    from brain.embedding.installed import IDENTITY

    english_only = view.pointer.model is not None and view.pointer.model.id == IDENTITY.id
    return 0.25 if english_only and query.text and not query.is_latin else 1.0


def _hit(row: dict[str, Any], relevance: float, by_words: bool, by_meaning: bool, terms: list[str]) -> Hit:
    match = "both" if by_words and by_meaning else "keyword" if by_words else "semantic"
    return Hit(
        id=row["doc_id"],
        kind=row["kind"],
        title=querytext.clean(row["title"]) if row["title"] else None,
        url=row["url"],
        snippet=snippet(row["text"] or "", row["title"], terms if by_words else ()),
        relevance=round(min(max(relevance, 0.0), 1.0), 4),
        match=match,
        last_visited=iso(row["last_us"]),
        visit_count=row["visit_count"] or 0,
        origin=row["origin"],
    )
