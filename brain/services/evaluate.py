"""Judge the product's own search by a set of queries with known answers."""

import json
import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain import search as retrieval
from brain.errors import UsageError
from brain.index import Index
from brain.models import Document
from brain.progress import Progress, silent

if TYPE_CHECKING:
    from brain.embedding.protocol import Embedder

_DEPTH = 10


@dataclass(frozen=True, slots=True)
class Scores:
    """Means over queries, each 0..1."""

    ndcg: float
    recall_5: float
    recall_10: float
    mrr: float
    queries: int

    def as_dict(self) -> dict[str, float]:
        return {
            "ndcg@10": self.ndcg,
            "recall@5": self.recall_5,
            "recall@10": self.recall_10,
            "mrr": self.mrr,
        }


@dataclass(frozen=True, slots=True)
class EvalReport:
    """Scores over all judged queries and by family; `degraded` as in a search's answer."""

    overall: Scores
    families: dict[str, Scores]
    queries: int
    degraded: list[str]

    def as_dict(self) -> dict[str, Any]:
        """The shape of `brain eval --json`."""
        families = {
            name: {**scores.as_dict(), "queries": scores.queries} for name, scores in self.families.items()
        }
        return {"overall": self.overall.as_dict(), "families": families, "queries": self.queries}


@dataclass(frozen=True, slots=True)
class Judged:
    """Documents, queries, and for each query the grades of its right answers."""

    docs: dict[str, str]
    queries: dict[str, str]
    relevant: dict[str, dict[str, float]]
    families: dict[str, str]


def evaluate(
    file: Path,
    mode: str = "hybrid",
    embedder: "Embedder | None" = None,
    progress: Progress | None = None,
) -> EvalReport:
    """Index the documents of FILE in a temporary folder, ask its queries and score the answers.

    FILE is JSON `{docs:{id:text}, qs:{id:text}, rel:{qid:{docid:grade}} [,fam:{qid:name}]}`; texts may be empty.
    Queries without a right answer are left out. nDCG@10 has the grade as gain and log2(rank + 1) as discount
    (Järvelin and Kekäläinen 2002); recall@k counts answers of positive grade; MRR looks at the first 10.

    Raises UsageError for a file that is not of that form or an unknown mode.
    """
    if mode not in retrieval.MODES:
        raise UsageError(f"unknown mode {mode!r}; one of: {', '.join(retrieval.MODES)}")
    judged = read(file)
    say = progress or silent
    with tempfile.TemporaryDirectory(prefix="brain-eval-") as folder:
        index = Index(Path(folder) / "index.lance")
        index.prepare(embedder.identity if embedder else None)
        # Ids of the file may be any text, the index's are its own.
        names = {f"d{at}": name for at, name in enumerate(judged.docs)}
        index.upsert(
            (Document(id=own, kind="note", text=judged.docs[name]) for own, name in names.items()), new=True
        )
        if embedder and mode != "keyword":
            index.embed_pending(embedder, lambda done, total: say("embedding", done, total))
        index.optimize()
        rankings: dict[str, list[str]] = {}
        degraded: list[str] = []
        for at, (query, text) in enumerate(judged.queries.items(), 1):
            rankings[query] = []
            if text.strip():
                answer = retrieval.search(index, embedder, text, limit=_DEPTH, mode=mode)
                rankings[query] = [names[hit.id] for hit in answer.hits]
                degraded += [text for text in answer.degraded if text not in degraded]
            say("queries", at, len(judged.queries))
    families: dict[str, list[str]] = {}
    for query in judged.queries:
        if query in judged.families:
            families.setdefault(judged.families[query], []).append(query)
    return EvalReport(
        score(rankings, judged.relevant),
        {
            name: score({query: rankings[query] for query in members}, judged.relevant)
            for name, members in sorted(families.items())
        },
        len(judged.queries),
        degraded,
    )


def score(rankings: Mapping[str, list[str]], relevant: Mapping[str, Mapping[str, float]]) -> Scores:
    """Mean scores of rankings (document ids, best first) against grades."""
    rows = [_score(ranking, relevant[query]) for query, ranking in rankings.items()]
    if not rows:
        return Scores(0.0, 0.0, 0.0, 0.0, 0)
    ndcg, recall_5, recall_10, mrr = (round(sum(column) / len(rows), 4) for column in zip(*rows, strict=True))
    return Scores(ndcg, recall_5, recall_10, mrr, len(rows))


def _score(ranking: list[str], grades: Mapping[str, float]) -> tuple[float, float, float, float]:
    right = {name for name, grade in grades.items() if grade > 0}
    gains = [grades.get(name, 0.0) for name in ranking[:_DEPTH]]
    ideal = sorted(grades.values(), reverse=True)[:_DEPTH]
    first = next((at for at, name in enumerate(ranking[:_DEPTH], 1) if name in right), None)
    return (
        _discounted(gains) / _discounted(ideal),
        len(right.intersection(ranking[:5])) / len(right),
        len(right.intersection(ranking[:10])) / len(right),
        1 / first if first else 0.0,
    )


def _discounted(gains: list[float]) -> float:
    return sum(gain / math.log2(at + 1) for at, gain in enumerate(gains, 1))


def read(file: Path) -> Judged:
    """Read and check a judged set. Raises UsageError, saying what is wrong."""
    try:
        values = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{file} is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise UsageError(f"{file} must be an object with docs, qs and rel")
    docs, queries, relevant = (_mapping(file, values, name) for name in ("docs", "qs", "rel"))
    families = _mapping(file, values, "fam") if "fam" in values else {}
    for name, texts in (("docs", docs), ("qs", queries), ("fam", families)):
        if bad := next((key for key, text in texts.items() if not isinstance(text, str)), None):
            raise UsageError(f"{file}: {name}[{bad!r}] must be text")
    for query, grades in relevant.items():
        if not isinstance(grades, dict) or not all(_is_grade(grade) for grade in grades.values()):
            raise UsageError(f"{file}: rel[{query!r}] must map document ids to grades of 0 or more")
        if missing := next((name for name in grades if name not in docs), None):
            raise UsageError(f"{file}: rel[{query!r}] names the unknown document {missing!r}")
    answered = {query: text for query, text in queries.items() if any(relevant.get(query, {}).values())}
    if not answered:
        raise UsageError(f"{file} holds no query with a right answer")
    return Judged(docs, answered, relevant, families)


def _mapping(file: Path, values: dict[str, Any], name: str) -> dict[str, Any]:
    found = values.get(name)
    if not isinstance(found, dict):
        raise UsageError(f"{file}: {name} is missing or no object")
    return found


def _is_grade(value: object) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    )
