"""Making the vectors that a table still lacks, in committed portions."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from brain.index.faults import retry

if TYPE_CHECKING:
    import polars as pl

    from brain.embedding.protocol import Embedder

_PER_COMMIT = 2_048
_IDS_PER_FILTER = 2_000


def embed_pending(
    table: Any,
    embedder: "Embedder",
    progress: Callable[[int, int], None] | None = None,
    budget: float | None = None,
) -> int:
    """Fill the null vectors of `table`, newest rows first; returns how many rows got one.

    Equal passages are embedded once, also when another row has had the vector for long.
    """
    import polars as pl

    started = time.monotonic()
    waiting = pl.DataFrame(
        pl.from_arrow(
            table.search()
            .where("vector IS NULL")
            .select(["id", "text_hash", "last_us"])
            .limit(None)
            .to_arrow()
        )
    )
    total = waiting.height
    if not total:
        return 0
    # Rows of one passage side by side, passages in the order of their newest row.
    order = waiting.group_by("text_hash").agg(pl.col("last_us").max().fill_null(0).alias("newest"))
    waiting = (
        waiting.join(order, on="text_hash")
        .sort(["newest", "text_hash"], descending=[True, False])
        .with_columns(pl.col("text_hash").rle_id().alias("passage"))
    )
    done = 0
    shared = _hashes_with_vectors(table, waiting["text_hash"].unique())
    for (_portion,), rows in waiting.group_by(pl.col("passage") // _PER_COMMIT, maintain_order=True):
        done += _embed_rows(table, embedder, rows.select("id", "text_hash"), shared)
        if progress:
            progress(done, total)
        if budget is not None and time.monotonic() - started >= budget:
            break
    return done


def _hashes_with_vectors(table: Any, wanted: "pl.Series") -> set[str]:
    """Which of these passages another row has a vector for already."""
    found = table.search().where("vector IS NOT NULL").select(["text_hash"]).limit(None).to_arrow()
    return set(found["text_hash"].to_pylist()) & set(wanted.to_list()) if found.num_rows else set()


def _embed_rows(table: Any, embedder: "Embedder", rows: "pl.DataFrame", shared: set[str]) -> int:
    """Vectors for rows (id, text_hash), written in one commit."""
    import numpy as np
    import polars as pl

    first = rows.unique("text_hash", keep="first", maintain_order=True)
    known: dict[str, Any] = {}
    if old := [text_hash for text_hash in first["text_hash"] if text_hash in shared]:
        known = _read(table, "text_hash", old, "vector")
    new = first.filter(~pl.col("text_hash").is_in(list(known)))
    texts = _read(table, "id", new["id"].to_list(), "text")
    if texts:
        # Read by id: a row that was reworded meanwhile answers with its new passage, under its new hash.
        known.update(zip(texts, embedder.embed([text or "" for text in texts.values()]), strict=True))
    rows = rows.filter(pl.col("text_hash").is_in(list(known)))
    if not rows.height:
        return 0
    matrix = np.stack([np.asarray(known[text_hash], np.float32) for text_hash in rows["text_hash"]])
    data = pa.table(
        {
            "id": rows["id"].to_arrow().cast(pa.string()),
            "text_hash": rows["text_hash"].to_arrow().cast(pa.string()),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1]),
        }
    )
    # A row whose text another process changed since keeps waiting: these vectors are not its own.
    retry(
        lambda: (
            table.merge_insert("id")
            .when_matched_update_all(where="target.text_hash = source.text_hash")
            .execute(data)
        )
    )
    return int(data.num_rows)


def _read(table: Any, key: str, values: list[str], column: str) -> dict[str, Any]:
    """text_hash -> `column` of the rows where `key` is one of `values`."""
    from lancedb.expr import col

    found: dict[str, Any] = {}
    for start in range(0, len(values), _IDS_PER_FILTER):
        some = values[start : start + _IDS_PER_FILTER]
        part = table.search().where(col(key).isin(some)).select(["text_hash", column]).limit(None).to_arrow()
        pairs = zip(part["text_hash"].to_pylist(), part[column].to_pylist(), strict=True)
        found.update((text_hash, value) for text_hash, value in pairs if value is not None)
    return found
