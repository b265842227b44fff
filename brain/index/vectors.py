"""Making the vectors that a table still lacks, in committed portions."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from brain.index import tables
from brain.index.faults import retry

if TYPE_CHECKING:
    import polars as pl

    from brain.embedding.protocol import Embedder

_PER_CALL = 1_024  # passages
_PER_COMMIT, _SECONDS_PER_COMMIT = 16_384, 5.0  # rows; every commit costs a look at the whole id column


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
    waiting = tables.read(table, ["id", "text_hash", "last_us"], "waiting")
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
    portions: list[pa.Table] = []
    committed = time.monotonic()
    for (_portion,), rows in waiting.group_by(pl.col("passage") // _PER_CALL, maintain_order=True):
        portions.append(_embed_rows(table, embedder, rows.select("id", "text_hash"), shared))
        now = time.monotonic()
        is_over = budget is not None and now - started >= budget
        held = sum(portion.num_rows for portion in portions)
        if held >= _PER_COMMIT or now - committed >= _SECONDS_PER_COMMIT or is_over:
            _commit(table, portions)
            done, portions, committed = done + held, [], now
        if progress:
            progress(done + sum(portion.num_rows for portion in portions), total)
        if is_over:
            break
    _commit(table, portions)
    return int(done + sum(portion.num_rows for portion in portions))


def _commit(table: Any, portions: list[pa.Table]) -> None:
    """Write vectors; a row whose text another process changed since keeps waiting, for they are not its own."""
    data = pa.concat_tables(portions) if portions else None
    if data is None or not data.num_rows:
        return
    # LanceDB 0.40 panics where a condition meets the index of the key; without it the id column is read whole.
    retry(
        lambda: (
            table.merge_insert("id")
            .when_matched_update_all(where="target.text_hash = source.text_hash")
            .use_index(False)
            .execute(data)
        )
    )


def _hashes_with_vectors(table: Any, wanted: "pl.Series") -> set[str]:
    """Which of these passages another row has a vector for already."""
    found = table.search().where("NOT waiting").select(["text_hash"]).limit(None).to_arrow()
    return set(found["text_hash"].to_pylist()) & set(wanted.to_list()) if found.num_rows else set()


def _embed_rows(table: Any, embedder: "Embedder", rows: "pl.DataFrame", shared: set[str]) -> pa.Table:
    """Vectors for rows (id, text_hash), ready to be written."""
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
    matrix = np.array([known[text_hash] for text_hash in rows["text_hash"]], np.float32)
    dimension = embedder.identity.dimension
    return pa.table(
        {
            "id": rows["id"].to_arrow().cast(pa.string()),
            "text_hash": rows["text_hash"].to_arrow().cast(pa.string()),
            "waiting": pa.array([False] * rows.height, pa.bool_()),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel(), pa.float32()), dimension),
        }
    )


def _read(table: Any, key: str, values: list[str], column: str) -> dict[str, Any]:
    """text_hash -> `column` of the rows where `key` is one of `values`."""
    from lancedb.expr import col

    found: dict[str, Any] = {}
    for some in tables.batches(values):
        part = table.search().where(col(key).isin(some)).select(["text_hash", column]).limit(None).to_arrow()
        pairs = zip(part["text_hash"].to_pylist(), part[column].to_pylist(), strict=True)
        found.update((text_hash, value) for text_hash, value in pairs if value is not None)
    return found
