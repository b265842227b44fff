"""Warm search, end to end without embedding the query, against LanceDB's own hybrid query on the same table.

    python bench/search_speed.py [--documents 100000] [--rounds 30]

Both take turns on the same queries, so that what else the machine does hits both; the ratio is that of the
medians. Titles are drawn from a fixed vocabulary with the frequencies of language (Zipf), vectors are
synthetic: points around random centres, 384 dimensions. Recall compares the vector index with a full scan.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brain.embedding import ModelIdentity
from brain.index import Index
from brain.search import search

_DIMENSION = 384
_CENTRES = 2_000
_VOCABULARY = 20_000
_SEED = 7


class Synthetic:
    """Gives each text a point near one of many centres; the same text always the same point."""

    def __init__(self) -> None:
        self.identity = ModelIdentity("synthetic", "1", _DIMENSION, "0" * 64)
        rng = np.random.default_rng(_SEED)
        self._centres = rng.normal(size=(_CENTRES, _DIMENSION)).astype(np.float32)
        self._noise = rng.normal(size=(1 << 16, _DIMENSION)).astype(np.float32)

    def embed(
        self, texts: list[str], *, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        at = np.array([hash_of(text) for text in texts])
        vectors = self._centres[at % _CENTRES] + 0.8 * self._noise[at % len(self._noise)]
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.asarray(self.embed([text])[0])


class Given(Synthetic):
    """Answers with query vectors made beforehand, so that making them is not timed."""

    def __init__(self, maker: Synthetic, queries: list[str]) -> None:
        self.identity = maker.identity
        self.made = dict(zip(queries, maker.embed(queries), strict=True))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.made[text]


def hash_of(text: str) -> int:
    import zlib

    return zlib.crc32(text.encode())


def titles(count: int, words: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    ranks = np.minimum(rng.zipf(1.3, (count, words)), _VOCABULARY)
    return [" ".join(f"w{rank}x" for rank in row) for row in ranks.tolist()]


def build(path: Path, count: int, embedder: Synthetic) -> Index:
    index = Index(path)
    index.prepare(embedder.identity)
    frame = pl.DataFrame(
        {
            "id": [f"p{n:016x}" for n in range(count)],
            "kind": ["page"] * count,
            "text": [""] * count,
            "title": titles(count, 9, _SEED),
            "url": [f"https://site{n % 500}.example/path/{n}" for n in range(count)],
            "source": ["chromium"] * count,
            "last_us": np.arange(count),
        }
    )
    started = time.perf_counter()
    index.upsert(frame, new=True)
    inserted = time.perf_counter()
    index.embed_pending(embedder)
    embedded = time.perf_counter()
    index.optimize()
    done = time.perf_counter()
    print(
        f"{count:,} documents: insert {inserted - started:.1f} s, write vectors {embedded - inserted:.1f} s, "
        f"indexes {done - embedded:.1f} s"
    )
    return index


def plain_hybrid(index: Index) -> Callable[[str, NDArray[np.float32]], object]:
    """LanceDB's own hybrid query, as its documentation shows it, for the columns a result shows."""
    import lancedb

    pointer = index.view().pointer
    table = lancedb.connect(index.path).open_table(pointer.table)
    columns = ["doc_id", "kind", "title", "url", "text", "origin", "last_us", "visit_count"]

    def run(text: str, vector: NDArray[np.float32]) -> object:
        query = table.search(query_type="hybrid", vector_column_name="vector", fts_columns="search_text")
        return query.vector(vector).text(text).distance_type("cosine").limit(10).select(columns).to_arrow()

    return run


def recall(index: Index, embedder: Synthetic, queries: list[str]) -> float:
    import lancedb

    view = index.view()
    table = lancedb.connect(index.path).open_table(view.pointer.table)
    shares = []
    for text in queries:
        vector = embedder.embed_query(text)
        found = set(view.nearest(vector, None, 10)["_rowid"].to_pylist())
        scan = table.search(vector, vector_column_name="vector").distance_type("cosine").bypass_vector_index()
        exact = scan.with_row_id(True).select(["doc_id", "_distance"]).limit(10).to_arrow()
        shares.append(len(found.intersection(exact["_rowid"].to_pylist())) / 10)
    return statistics.fmean(shares)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--quick", action="store_true", help="one round of a small table: does it run at all")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.documents, arguments.rounds = 2_000, 1
    maker = Synthetic()
    queries = titles(arguments.rounds, 3, _SEED + 1)
    given = Given(maker, queries)
    with tempfile.TemporaryDirectory(prefix="brain-bench-") as folder:
        index = build(Path(folder) / "index.lance", arguments.documents, maker)
        plain = plain_hybrid(index)
        ours: list[float] = []
        theirs: list[float] = []
        for text in queries[:3]:
            search(index, given, text)
            plain(text, given.made[text])
        for text in queries:
            started = time.perf_counter()
            search(index, given, text)
            between = time.perf_counter()
            plain(text, given.made[text])
            ours.append(between - started)
            theirs.append(time.perf_counter() - between)
        mine, other = statistics.median(ours) * 1e3, statistics.median(theirs) * 1e3
        print(f"search {mine:.1f} ms, LanceDB's hybrid {other:.1f} ms, ratio {mine / other:.2f}")
        if index.view().pointer.ann_rows:
            print(f"recall@10 of the vector index {recall(index, maker, queries):.3f}")


if __name__ == "__main__":
    main()
