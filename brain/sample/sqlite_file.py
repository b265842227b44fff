"""Filling a SQLite file from columns, fast: no journal while it is written, indexes after the rows."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.int64] | list[str] | list[str | None] | list[int | None] | list[float] | list[bytes]
CHUNK = 100_000


@contextmanager
def fresh(path: Path, schema: str, page_size: int) -> Iterator[sqlite3.Connection]:
    """A connection to a new database at `path` with the tables of `<schema>.sql`; an old file is replaced.

    On leaving, the indexes are built and everything is committed; the journal mode is SQLite's default (rollback)
    unless the caller sets another one afterwards.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))):
        old.unlink(missing_ok=True)
    tables, indexes = _statements(schema)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute(f"PRAGMA page_size = {page_size}")
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -131072")
        connection.execute("BEGIN")
        for statement in tables:
            connection.execute(statement)
        yield connection
        for statement in indexes:
            connection.execute(statement)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = DELETE")
    finally:
        connection.close()


def insert(
    connection: sqlite3.Connection, table: str, columns: dict[str, Column], **constants: object
) -> None:
    """Add rows to `table`: `columns` are equally long, `constants` are the same in every row."""
    names = ", ".join([*columns, *constants])
    marks = ", ".join(["?"] * len(columns) + [_literal(value) for value in constants.values()])
    statement = f"INSERT INTO {table} ({names}) VALUES ({marks})"
    for start in range(0, len(next(iter(columns.values()))), CHUNK):
        parts: list[Iterable[object]] = []
        for column in columns.values():
            part = column[start : start + CHUNK]
            parts.append(part.tolist() if isinstance(part, np.ndarray) else part)
        connection.executemany(statement, zip(*parts, strict=True))


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def _statements(schema: str) -> tuple[list[str], list[str]]:
    """The CREATE statements of `<schema>.sql`: tables, then indexes, each exactly as the browser keeps it."""
    text = files("brain.sample").joinpath(f"{schema}.sql").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    statements = [s.strip() for s in lines.split(";") if s.strip()]
    tables = [s for s in statements if s.startswith("CREATE TABLE")]
    return tables, [s for s in statements if not s.startswith("CREATE TABLE")]
