"""One score from two legs, and what it says about relevance.

A hit's score is cosine + KEYWORD_WEIGHT * BM25 / ln(1 + rows) + bonuses, and then what it has in common with
the best answers (`feedback`). Magnitudes are kept: a rank does not say how good a match is. BM25 grows with the
rarity of a term, at most by ln(rows), so the division keeps one weight right for small and large tables.

nDCG@10 on Cranfield / on 3,000 passages whose queries use other words, whole texts, int8 MiniLM:

    keywords alone .375 / .367, without stop words .384 / .389     cosine alone .390 / .618
    reciprocal ranks 1:1 k=60 .426 / .545     1:2 k=10 .423 / .598
    BM25 / best BM25, weight .2 .430 / .628     this sum .428 / .633     with feedback .451 / .646

KEYWORD_WEIGHT .08-.17, feedback .3-1.0 and 5 or 8 answers are within noise (.01) of it. With all of them chosen
on one half of the queries, the other half had .456 / .627 on average over ten splits. As shipped, with texts in
chunks and a floor: .436 / .617; long texts cut in chunks cost both legs about .01.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEYWORD_WEIGHT = 0.12
FEEDBACK_WEIGHT = 0.5
FEEDBACK_FROM = 8
_FEEDBACK_TEMPERATURE = 0.03  # how fast an answer's say fades with its distance from the best
# An id, version or URL of the query found letter for letter; a query of nothing else goes first.
VERBATIM_BONUS, VERBATIM_ALONE_BONUS = 0.25, 1.0
# Every term of the query in one row.
ALL_TERMS_BONUS = 0.12
# Scores of relevant answers: 5% lie under .30 on queries in other words, 5% under .54 on Cranfield. Best scores
# of queries whose answer is in another collection: median .26 and .40.
FLOOR = 0.30
NEIGHBOUR_FLOOR = (
    0.20  # cosine of two titles on one subject; unlike a query, a title is not asked in other words
)
KEPT_COVERAGE = 0.6  # share of the query's terms from which words alone keep a hit
WORDS_SAY = 0.6  # how far words alone can bring relevance, where meaning says no
SEMANTIC_FLOOR = 0.25  # cosine from which a hit is called semantic
_HALF_RELEVANT, _RELEVANCE_SLOPE = 0.42, 0.08


def keyword_score(bm25: "NDArray[np.float64]", rows: int) -> "NDArray[np.float64]":
    """BM25 in units of the rarest possible term, weighted for the sum."""
    import numpy as np

    return np.asarray(KEYWORD_WEIGHT * bm25 / np.log(max(rows, 2) + 1.0))


def feedback(
    scores: "NDArray[np.float64]", vectors: "NDArray[np.float32]", first: int
) -> "NDArray[np.float64]":
    """What to add to `scores` for likeness to the best answers (Rocchio's feedback on unit vectors).

    The best are sought among the `first` rows. Rows without a vector hold NaN; they get the median of the
    others, so that a fresh document is not pushed down for want of a vector.
    """
    import numpy as np

    known = ~np.isnan(vectors[:, 0])
    best = known & (np.arange(len(scores)) < first)
    if best.sum() < 2:
        return np.zeros(len(scores))
    top = np.flatnonzero(best)[np.argsort(-scores[best], kind="stable")[:FEEDBACK_FROM]]
    say = np.exp((scores[top] - scores[top[0]]) / _FEEDBACK_TEMPERATURE)
    centre = (say / say.sum()) @ vectors[top]
    added = np.full(len(scores), np.nan)
    added[known] = FEEDBACK_WEIGHT * (vectors[known] @ centre)
    added[~known] = np.median(added[known])
    return added


def hybrid_relevance(scores: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Scores to 0..1; one half where relevant answers begin to outnumber the best of wrong ones."""
    import numpy as np

    return np.asarray(1.0 / (1.0 + np.exp((_HALF_RELEVANT - scores) / _RELEVANCE_SLOPE)))


def keyword_relevance(
    bm25: "NDArray[np.float64]", coverage: "NDArray[np.float64]", rows: int
) -> "NDArray[np.float64]":
    """0..1 without a model: mostly the share of the query's terms that a row has, then how rare they are."""
    import numpy as np

    strength = bm25 / np.log(max(rows, 2) + 1.0)
    return np.asarray(np.clip(coverage, 0, 1) * (0.6 + 0.4 * strength / (1.0 + strength)))


def falling(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """`values` raised where needed so that none is smaller than a later one."""
    import numpy as np

    return np.maximum.accumulate(values[::-1])[::-1]
