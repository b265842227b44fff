"""What every piece of SQL here needs: all-or-nothing blocks and results as polars frames."""

import re
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

    result = pl.from_arrow(plain(con.sql(query, params=params)).to_arrow_table())
    assert isinstance(result, pl.DataFrame)
    return result.with_columns(cs.datetime("us", "*").dt.replace_time_zone("UTC"))


def records(result: Connection) -> list[dict[str, Any]]:
    """All rows of an executed statement by column name, for answers that are small."""
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


# Types that a polars frame cannot hold.
_ONLY_AS_TEXT = re.compile(r"INTERVAL|UNION|BIT\b|BIGNUM|UHUGEINT|VARIANT|GEOMETRY")


def plain(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The same columns, each under a name of its own and, where a frame could not hold it, as text."""
    columns, taken = [], set()
    for number, (name, kind) in enumerate(zip(relation.columns, relation.types, strict=True), 1):
        alias, again = name, 0
        while alias in taken:
            again += 1
            alias = f"{name}_{again}"
        taken.add(alias)
        value = f"CAST(#{number} AS VARCHAR)" if _ONLY_AS_TEXT.search(str(kind)) else f"#{number}"
        columns.append((value, alias, value != f"#{number}" or alias != name))
    if not any(changed for *_, changed in columns):
        return relation
    return relation.project(", ".join(f'{v} AS "{a.replace(chr(34), chr(34) * 2)}"' for v, a, _ in columns))
