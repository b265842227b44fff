"""SQL over the lake for people and models: one SELECT, on a snapshot, shut in and capped."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from brain.errors import QueryRefused, UsageError
from brain.sql import first_line
from brain.views import VIEWS
from brain.workspace import Workspace

if TYPE_CHECKING:
    import polars as pl

SECONDS = 30.0
ROWS = 10_000


@dataclass(frozen=True, slots=True)
class QueryResult:
    """`frame` holds at most the rows asked for; `truncated` says that there were more. Instants are UTC."""

    frame: "pl.DataFrame"
    truncated: bool


@dataclass(frozen=True, slots=True)
class ViewInfo:
    """A documented view: its columns as (name, type, meaning)."""

    name: str
    about: str
    columns: list[tuple[str, str, str]]


def query(ws: Workspace, sql: str, max_rows: int = ROWS, seconds: float = SECONDS) -> QueryResult:
    """Run one SELECT over the documented views, on a snapshot: a slow query never keeps a writer waiting.

    No files, no network, no settings; stopped after `seconds`; memory is bounded. Raises QueryRefused saying what is
    wrong, LakeError when there is no lake.
    """
    import polars as pl

    if ws.lake.exists:
        ws.lake.ensure()
    with ws.lake.snapshot() as con:
        _check(con, sql)
        try:
            with _stopped_after(con, seconds):
                reader = con.sql(sql).to_arrow_reader(10_000)
                batches, rows = [], 0
                for batch in reader:
                    batches.append(batch)
                    rows += batch.num_rows
                    if rows > max_rows:
                        break
                import pyarrow as pa

                table = pa.Table.from_batches(batches, schema=reader.schema)
        except duckdb.InterruptException as error:
            raise QueryRefused(f"the query ran for more than {seconds:g} s and was stopped") from error
        except duckdb.OutOfMemoryException as error:
            raise QueryRefused(
                "the query needs more memory than it may have; narrow it or add a LIMIT"
            ) from error
        except duckdb.Error as error:
            raise QueryRefused(_helpful(error)) from error
    frame = pl.DataFrame(pl.from_arrow(table.slice(0, max_rows)))
    return QueryResult(frame, rows > max_rows)


def describe(ws: Workspace, view: str | None = None) -> list[ViewInfo]:
    """The documented views with their columns, types and meanings; one of them when named.

    Raises UsageError for an unknown view, LakeError when there is no lake.
    """
    chosen = [v for v in VIEWS if view in (None, v.name)]
    if not chosen:
        raise UsageError(f"there is no view {view!r}; there are {', '.join(v.name for v in VIEWS)}")
    ws.lake.ensure()
    with ws.lake.read(what="schema") as con:
        return [
            ViewInfo(
                v.name,
                v.about,
                [
                    (name, kind, v.columns[name])
                    for name, kind, *_ in con.execute(f"DESCRIBE main.{v.name}").fetchall()
                ],
            )
            for v in chosen
        ]


def _check(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    try:
        statements = con.extract_statements(sql)
    except duckdb.Error as error:
        raise QueryRefused(_helpful(error)) from error
    if len(statements) != 1:
        raise QueryRefused(f"one SELECT at a time; this holds {len(statements)} statements")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise QueryRefused(f"only SELECT is allowed, not {statements[0].type.name.replace('_', ' ')}")


@contextmanager
def _stopped_after(con: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, con.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _helpful(error: duckdb.Error) -> str:
    text = first_line(error)
    if "file system operations are disabled" in text or "Permission Error" in text:
        return "queries may read the lake's views only, no files and no network"
    if "does not exist" in text and "Table" in text:
        return f"{text} There are the views {', '.join(v.name for v in VIEWS)}."
    return text
