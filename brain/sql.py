"""What every piece of SQL here needs: all-or-nothing blocks, results as polars frames, one-line reasons."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    import polars as pl

Connection = duckdb.DuckDBPyConnection


@contextmanager
def transaction(con: Connection) -> Iterator[None]:
    """All that the block writes is committed, or none of it."""
    con.execute("BEGIN")
    try:
        yield
    except BaseException:
        with suppress(duckdb.Error):
            con.execute("ROLLBACK")
        raise
    con.execute("COMMIT")


def frame(
    con: Connection, query: str, params: Sequence[Any] | dict[str, Any] | None = None
) -> "pl.DataFrame":
    """The result of one query as a polars frame, through Arrow; instants become Datetime('us', 'UTC')."""
    import polars as pl
    import polars.selectors as cs

    result = pl.from_arrow(con.sql(query, params=params).to_arrow_table())
    assert isinstance(result, pl.DataFrame)
    return result.with_columns(cs.datetime("us", "*").dt.replace_time_zone("UTC"))


def first_line(error: BaseException) -> str:
    """DuckDB's reason without its many-line sketch of the query."""
    return str(error).strip().split("\n", 1)[0]
