"""SQL over the lake for people and models: one SELECT, on a snapshot, shut in and capped."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from brain.errors import QueryRefused, UsageError, first_line
from brain.sql import plain
from brain.views import VIEWS
from brain.workspace import Workspace

if TYPE_CHECKING:
    import polars as pl

SECONDS = 30.0
ROWS = 10_000
_FIRST_DAY, _LAST_DAY = (
    -719_162,
    2_932_896,
)  # 0001-01-01 and 9999-12-31 in days since 1970: what Python can name


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
    if ws.lake.exists:
        ws.lake.ensure()
    with ws.lake.snapshot() as con:
        _check(con, sql)
        with _stopped_after(con, seconds) as stopped:
            try:
                return _run(con, sql, max_rows)
            except (duckdb.Error, OSError, MemoryError) as error:  # Arrow hands on DuckDB's errors as OSError
                if stopped.is_set():
                    raise QueryRefused(
                        f"the query ran for more than {seconds:g} s and was stopped"
                    ) from error
                raise QueryRefused(_helpful(error)) from error


def _run(con: duckdb.DuckDBPyConnection, sql: str, max_rows: int) -> QueryResult:
    import polars as pl
    import polars.selectors as cs
    import pyarrow as pa

    reader = plain(con.sql(sql)).to_arrow_reader(2_048)
    batches, rows = [], 0
    for batch in reader:
        batches.append(batch)
        rows += batch.num_rows
        if rows > max_rows:
            break
    table = pa.Table.from_batches(batches, schema=reader.schema)
    frame = pl.DataFrame(pl.from_arrow(table.slice(0, max_rows)))
    for column in frame.select(cs.date() | cs.datetime()):
        per_day = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
        days = column.to_physical() // per_day.get(getattr(column.dtype, "time_unit", ""), 1)
        if not days.is_between(_FIRST_DAY, _LAST_DAY).all():
            raise QueryRefused(f"{column.name} holds a time outside the years 1 to 9999; cast it to VARCHAR")
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
def _stopped_after(con: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[threading.Event]:
    """Interrupt the block's queries once `seconds` are over; the event says whether that happened.

    Again and again, since an interrupt between two statements of DuckDB's own is lost.
    """
    done, stopped = threading.Event(), threading.Event()

    def watch() -> None:
        pause = seconds
        while not done.wait(pause):
            stopped.set()
            con.interrupt()
            pause = 0.1

    watcher = threading.Thread(target=watch, name="query limit", daemon=True)
    watcher.start()
    try:
        yield stopped
    finally:
        done.set()
        watcher.join()


def _helpful(error: BaseException) -> str:
    text = first_line(error)
    if "file system operations are disabled" in text or "Permission Error" in text:
        return "queries may read the lake's views only, no files and no network"
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError) or "Out of Memory" in text:
        return "the query needs more memory than it may have; narrow it or add a LIMIT"
    if "does not exist" in text and "Table" in text:
        return f"{text} There are the views {', '.join(v.name for v in VIEWS)}."
    for line in str(error).splitlines()[1:]:
        if line.startswith(("Candidate bindings", "Did you mean")):
            return f"{text} {line}"
    return text
