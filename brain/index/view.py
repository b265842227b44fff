"""Reading one fixed version of the index table, so that what several queries find fits together."""

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from brain.index.faults import guarded

if TYPE_CHECKING:
    import numpy as np
    from lancedb.expr import Expr
    from lancedb.query import FullTextQuery
    from numpy.typing import NDArray

    from brain.index.pointer import Pointer

# What a result shows, and what re-ranking needs.
SHOWN = ("doc_id", "kind", "title", "url", "text", "origin", "last_us", "visit_count", "vector")
# Share of partitions that a nearest-neighbour query visits; see bench/search_speed.py for the recall.
_PROBED = 0.075
_PROBED_AT_LEAST = 24


class View:
    """One version of the table. Filters apply before ranking. Every method may raise IndexUnavailable."""

    def __init__(self, table: Any, pointer: "Pointer", rows: int) -> None:
        self._table, self.pointer, self.rows = table, pointer, rows

    def keyword(self, query: "FullTextQuery", where: "Expr | None", limit: int) -> pa.Table:
        """Columns _rowid, doc_id, _score (BM25): the best rows for a full-text query, also rows just added."""
        with guarded():
            found = self._table.search(query, query_type="fts").with_row_id(True).select(["doc_id", "_score"])
            if where is not None:
                found = found.where(where, prefilter=True)
            return found.limit(limit).to_arrow()

    def containing(self, text: str, where: "Expr | None", limit: int) -> pa.Table:
        """Columns _rowid, doc_id: rows whose searchable text holds `text` letter for letter."""
        from lancedb.expr import col, lit

        holds = col("search_text").contains(lit(text))
        with guarded():
            found = self._table.search().where(holds if where is None else holds.and_(where))
            return found.with_row_id(True).select(["doc_id"]).limit(limit).to_arrow()

    def nearest(self, vector: "NDArray[np.float32]", where: "Expr | None", limit: int) -> pa.Table:
        """Columns _rowid, doc_id, _distance (1 - cosine): the rows nearest to a unit vector."""
        with guarded():
            found = (
                self._table.search(vector, vector_column_name="vector")
                .distance_type("cosine")
                .with_row_id(True)
                .select(["doc_id", "_distance"])
            )
            if self.pointer.ann_rows:
                lists = partitions(self.pointer.ann_rows)
                probes = min(lists, max(_PROBED_AT_LEAST, math.ceil(lists * _PROBED)))
                found = found.nprobes(probes)
                if where is not None:  # up to all, should the filter leave too few rows in the nearest ones
                    found = found.maximum_nprobes(lists)
            if where is not None:
                found = found.where(where, prefilter=True)
            return found.limit(limit).to_arrow()

    def take(self, row_ids: list[int], columns: tuple[str, ...] = SHOWN) -> pa.Table:
        """Columns _rowid and `columns` of rows found in this view, in any order."""
        with guarded():
            return self._table.take_row_ids(row_ids).with_row_id().select(list(columns)).to_arrow()

    def of_document(self, doc_id: str, columns: tuple[str, ...] = SHOWN) -> pa.Table:
        """The rows of one document, in order of their chunks."""
        from lancedb.expr import col, lit

        with guarded():
            found = self._table.search().where(col("doc_id") == lit(doc_id)).select([*columns, "chunk_no"])
            return found.limit(10_000).to_arrow().sort_by("chunk_no")

    @cached_property
    def waiting(self) -> int:
        """How many documents wait for vectors."""
        with guarded():
            found = self._table.search().where("waiting").select(["doc_id"]).limit(None).to_arrow()
            return len(set(found["doc_id"].to_pylist()))

    def count(self, where: "Expr") -> int:
        """How many rows a filter leaves."""
        with guarded():
            return int(self._table.count_rows(where.to_sql()))

    def terms(self, text: str) -> list[str]:
        """The index's own terms of a text: folded, stemmed, in order; [] if it has none."""
        with guarded():
            return [token.text for token in self._table.tokenize(text, column="search_text")]


def partitions(vectors: int) -> int:
    """IVF partitions for that many vectors: their square root."""
    return max(1, math.isqrt(vectors))
