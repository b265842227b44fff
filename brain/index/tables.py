"""What is done to one LanceDB table: making, merging, copying, training."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from brain.index.faults import retry
from brain.index.pointer import Pointer
from brain.index.rows import USAGE, schema
from brain.index.view import partitions

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    from lancedb.expr import Expr

    from brain.embedding.protocol import ModelIdentity

# From this many vectors on, an IVF index is worth its training; below, a scan of all is exact and fast.
ANN_FROM = 50_000
# The vector index is trained anew when the vectors have grown this many times.
_RETRAIN_AT = 4
_SAMPLES_PER_PARTITION, _TRAINING_ROUNDS = 32, 10  # more took 4x the time for the same recall (measured)
_IDS_PER_FILTER = 2_000
_SCAN_FROM = 5_000  # documents; from here on reading four columns of the whole table beats a filter


def create(connection: Any, new: Pointer) -> Any:
    """An empty table with its keyword and id indexes, in place of any of that name."""
    from lancedb.index import FTS, BTree

    table = connection.create_table(new.table, schema=schema(new.dimension), mode="overwrite")
    # ICU finds words in every script and splits identifiers; stop words stay, so that a query of nothing
    # else works; positions let exact ids be matched as a phrase.
    table.create_index(
        "search_text",
        config=FTS(
            with_position=True,
            base_tokenizer="icu/split",
            stem=True,
            remove_stop_words=False,
            ascii_folding=True,
            max_token_length=64,
        ),
    )
    for column in ("id", "doc_id", "text_hash"):
        table.create_index(column, config=BTree())
    return table


def merge(table: Any, rows: "pl.DataFrame", dimension: int, *, insert: bool) -> None:
    """Update rows by id in the columns given; `insert` adds those that are not there and empties vectors."""
    if not rows.height:
        return
    data = arrow(rows, dimension, vector=insert)

    def run() -> None:
        builder = table.merge_insert("id").when_matched_update_all()
        # Rows without a vector look like bad ones to its check unless told that null is meant.
        (builder.when_not_matched_insert_all() if insert else builder).execute(data, on_bad_vectors="null")

    retry(run)


def copy_missing(source: Any, target: Any) -> int:
    """Bring `target` to the rows of `source`, without their vectors; returns how many changed."""
    import polars as pl

    names = [name for name in schema(1).names if name not in ("vector", "waiting")]
    rows = read(source, names)
    there = read(target, ["id", "row_hash", *USAGE])
    changed = rows.join(there, on=["id", "row_hash", *USAGE], how="anti", nulls_equal=True)
    gone = there.join(rows.select("id"), on="id", how="anti")["id"].to_list()
    dimension = target.schema.field("vector").type.list_size
    if changed.height:
        merge(target, changed.with_columns(waiting=pl.lit(True)), dimension, insert=True)
    delete(target, "id", gone)
    return changed.height + len(gone)


def train(table: Any, live: Pointer) -> Pointer:
    """Train the vector index if it is time to; returns the pointer that says so."""
    from lancedb.index import IvfFlat

    count = int(table.count_rows("NOT waiting"))
    if count < ANN_FROM or count < live.ann_rows * _RETRAIN_AT:
        return live
    config = IvfFlat(
        distance_type="cosine",
        num_partitions=partitions(count),
        sample_rate=_SAMPLES_PER_PARTITION,
        max_iterations=_TRAINING_ROUNDS,
    )
    retry(lambda: table.create_index("vector", config=config, replace=True))
    return replace(live, ann_rows=count)


def table_name(model: "ModelIdentity | None") -> str:
    """The name of the table with that model's vectors."""
    if model is None:
        return "chunks_keywords"
    text = f"{model.id}\n{model.revision}\n{model.dimension}\n{model.weights_sha256}\n{model.variant}"
    return f"chunks_{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def arrow(rows: "pl.DataFrame", dimension: int, *, vector: bool = True) -> "pa.Table":
    """Rows as Arrow in the table's types, with null vectors unless those are to stay as they are."""
    import pyarrow as pa

    full = schema(dimension)
    arrays = [
        pa.nulls(rows.height, field.type)
        if field.name == "vector"
        else rows[field.name].to_arrow().cast(field.type)
        for field in full
        if field.name in rows.columns or (vector and field.name == "vector")
    ]
    fields = [field for field in full if field.name in rows.columns or (vector and field.name == "vector")]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def with_vectors(rows: "pl.DataFrame", vectors: Any, dimension: int) -> "pa.Table":
    """Rows as Arrow in the table's types with these vectors, one each."""
    import pyarrow as pa

    plain = arrow(rows, dimension)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), dimension)
    place = plain.schema.get_field_index("vector")
    return plain.set_column(place, plain.schema.field(place), column)


def read(table: Any, columns: list[str], where: "Expr | str | None" = None) -> "pl.DataFrame":
    """These columns of all rows, or of those that a filter leaves."""
    import polars as pl

    query = table.search() if where is None else table.search().where(where)
    return pl.DataFrame(pl.from_arrow(query.select(columns).limit(None).to_arrow()))


def existing(table: Any, doc_ids: list[str]) -> "pl.DataFrame":
    """id, text_hash and row_hash of the rows of these documents."""
    import polars as pl
    from lancedb.expr import col

    columns = ["id", "doc_id", "text_hash", "row_hash"]
    if len(doc_ids) >= _SCAN_FROM:
        return read(table, columns).join(pl.DataFrame({"doc_id": doc_ids}), on="doc_id", how="semi")
    return pl.concat(read(table, columns, col("doc_id").isin(some)) for some in batches(doc_ids))


def delete(table: Any, column: str, values: list[str]) -> None:
    """Remove the rows whose `column` is one of `values`."""
    from lancedb.expr import col

    for some in batches(values):
        retry(lambda some=some: table.delete(col(column).isin(some)))  # type: ignore[misc]


def batches(values: list[str]) -> Iterator[list[str]]:
    """The values in lists short enough for one filter."""
    for start in range(0, len(values), _IDS_PER_FILTER):
        yield values[start : start + _IDS_PER_FILTER]
