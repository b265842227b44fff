"""Retrieval quality of the product's own search on judged sets, by mode.

    python bench/retrieval.py FILE... [--model minilm]

FILE is what `brain eval` takes. Prints nDCG@10 and recall@10 for keywords, meaning and both, and for each family
the difference of both to the better single one with a 95% bootstrap interval over the queries. With two or more
files also what queries without an answer get: each file's queries are asked of the next file's documents.
Each file's documents are embedded once.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from brain.embedding import Embedder, load
from brain.index import Index
from brain.models import Document
from brain.search import MODES, search
from brain.services.evaluate import Judged, read, score

_RESAMPLES = 2_000
_SHOWN_AS_GOOD = 0.5


@dataclass
class JudgedIndex:
    """A judged set, indexed."""

    name: str
    judged: Judged
    index: Index
    names: dict[str, str]

    def ask(self, embedder: Embedder, mode: str) -> dict[str, list[str]]:
        return {
            query: [self.names[hit.id] for hit in search(self.index, embedder, text, mode=mode).hits]
            for query, text in self.judged.queries.items()
        }


def build(file: Path, folder: Path, embedder: Embedder) -> JudgedIndex:
    judged = read(file)
    names = {f"d{at}": name for at, name in enumerate(judged.docs)}
    index = Index(folder / f"{file.stem}.lance")
    index.prepare(embedder.identity)
    index.upsert(
        [Document(id=own, kind="note", text=judged.docs[name]) for own, name in names.items()], new=True
    )
    index.embed_pending(embedder)
    index.optimize()
    return JudgedIndex(file.stem, judged, index, names)


def report(made: JudgedIndex, embedder: Embedder) -> None:
    rankings = {mode: made.ask(embedder, mode) for mode in MODES}
    families: dict[str, list[str]] = {"all": list(made.judged.queries)}
    for query in made.judged.queries:
        if query in made.judged.families:
            families.setdefault(made.judged.families[query], []).append(query)
    for family, members in families.items():
        single = {
            mode: np.array([_one(rankings[mode][query], made.judged, query) for query in members])
            for mode in MODES
        }
        better = max(("keyword", "semantic"), key=lambda mode: single[mode].mean())
        gain = single["hybrid"] - single[better]
        rng = np.random.default_rng(0)
        means = gain[rng.integers(0, len(gain), (_RESAMPLES, len(gain)))].mean(axis=1)
        low, high = np.percentile(means, [2.5, 97.5])
        cells = " ".join(f"{single[mode].mean():8.3f}" for mode in MODES)
        print(
            f"{made.name:14}{family:16}{len(members):5} {cells}  "
            f"{gain.mean():+.3f} [{low:+.3f}, {high:+.3f}] to {better}"
        )


def _one(ranking: list[str], judged: Judged, query: str) -> float:
    return score({query: ranking}, judged.relevant).ndcg


def report_no_answer(asked: JudgedIndex, of: JudgedIndex, embedder: Embedder) -> None:
    """Relevance shown for queries whose answer is elsewhere, against those whose answer is here."""
    for label, queries in (
        (f"{asked.name} queries", asked.judged.queries),
        ("own queries", of.judged.queries),
    ):
        for mode in ("hybrid", "keyword"):
            answers = [search(of.index, embedder, text, mode=mode).hits for text in queries.values()]
            best = np.array([hits[0].relevance if hits else 0.0 for hits in answers])
            good = np.mean([sum(hit.relevance >= _SHOWN_AS_GOOD for hit in hits) for hits in answers])
            empty = np.mean([not hits for hits in answers])
            print(
                f"{of.name:14}{label:20}{mode:9} best relevance median {np.median(best):.2f}, "
                f"hits of {_SHOWN_AS_GOOD} or more {good:4.1f}, without any hit {empty:4.0%}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--model", default="minilm")
    arguments = parser.parse_args()
    embedder = load(arguments.model)
    with tempfile.TemporaryDirectory(prefix="brain-bench-") as folder:
        made = [build(file, Path(folder), embedder) for file in arguments.files]
        header = " ".join(f"{mode:>8}" for mode in MODES)
        print(f"nDCG@10       family           n    {header}  both - better one")
        for one in made:
            report(one, embedder)
        if len(made) > 1:
            for at, one in enumerate(made):
                report_no_answer(made[at - 1], one, embedder)


if __name__ == "__main__":
    main()
