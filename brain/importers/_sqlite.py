"""Reading a private copy of a browser's SQLite file into Arrow, fast where it is sound and exact where it is not.

A table is read in batches along its key. Each batch is one columnar read through ADBC, whose column types are
inferred from all its rows: when every column came out as the type asked for, the batch is taken as it is. When a
cell is of another type, or SQLite meets damage, that batch alone is read again row by row with :mod:`sqlite3`, so
that the odd cell or row is named in a :class:`Rejected` and everything else is kept. Text that is not UTF-8 has
the bad bytes replaced by U+FFFD.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from brain.errors import SourceError
from brain.importers._keys import Int64s, Keys
from brain.models import Rejected

CellType = Literal["int", "text", "real"]
BATCH_ROWS = 122_880
HEADER = b"SQLite format 3\x00"
_ARROW: dict[CellType, pa.DataType] = {"int": pa.int64(), "text": pa.string(), "real": pa.float64()}
# sqlite3 decodes its own messages strictly, and they quote the damaged file.
_DAMAGE = (sqlite3.Error, UnicodeDecodeError, OverflowError)
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Column:
    """A column wanted from a table; a row whose `required` cell is missing or wrong is rejected."""

    name: str
    type: CellType
    required: bool = False


def is_sqlite(path: Path) -> bool:
    """Whether the file begins as an SQLite database does; False for what cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(HEADER)) == HEADER
    except OSError:
        return False


def table_columns(path: Path) -> dict[str, frozenset[str]]:
    """The real tables of the database (no views, no virtual tables) with their columns.

    Raises SourceError when the file is no readable database: encrypted, truncated, of another kind.
    """
    with closing(_connect(path)) as con, _refusing(path):
        names = con.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0").fetchall()
        tables = {}
        for (name,) in names:
            info = con.execute(f"PRAGMA table_info({_quoted(_text(name))})")
            tables[_text(name)] = frozenset(_text(row[1]).lower() for row in info)
        return tables


def peek(path: Path) -> dict[str, frozenset[str]]:
    """The same to tell what the file is; empty for what is no readable database."""
    try:
        return table_columns(path) if is_sqlite(path) else {}
    except SourceError:
        return {}


class Reader:
    """One open database; made by :func:`reading`."""

    def __init__(
        self,
        path: Path,
        tables: Mapping[str, frozenset[str]],
        fast: Any,
        plain: sqlite3.Connection,
        errors: tuple[type[Exception], ...],
    ) -> None:
        self.tables = tables
        self._path = path
        self._fast = fast
        self._plain = plain
        self._errors = errors

    def batches(
        self, table: str, key: str, columns: tuple[Column, ...], rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch | Rejected]:
        """All rows of `table` in order of `key`, as batches of `key` and `columns`, each of its type.

        A column the table does not have is NULL throughout. `key` must be its INTEGER PRIMARY KEY or `rowid`;
        :meth:`key_of` says which. When the table is damaged, what comes before the damage is kept and one
        Rejected stands for the rest. Raises SourceError when not even the first row can be read.
        """
        wanted = (Column(key, "int", required=True), *columns)
        start = _LOWEST
        while True:
            query = self._query(table, wanted, key, start, rows)
            batch, rejects = self._columnar(query, wanted), list[Rejected]()
            damage = None
            if batch is None:
                batch, rejects, last, damage = self._row_by_row(table, query, wanted)
            else:
                last = batch.column(0)[-1].as_py() if batch.num_rows else None
            if batch.num_rows and not _increasing(batch.column(0), start):
                damage, batch = "its keys are out of order", None
            if damage and start == _LOWEST and (batch is None or not batch.num_rows):
                raise SourceError(
                    f"{self._path.name} is damaged: nothing of its table {table} can be read ({damage})"
                )
            yield from rejects
            if batch is not None and batch.num_rows:
                yield batch
            if damage:
                after = last if batch is not None and last is not None else start
                yield Rejected(f"{table}.{key}>{after}", f"the rest of the table cannot be read: {damage}")
                return
            if last is None or last <= start or last == _HIGHEST:
                return
            start = last

    def rows(self, table: str, columns: tuple[Column, ...]) -> Iterator[pa.RecordBatch | Rejected]:
        """All rows with their `id`, also where that is not the table's row id; see :meth:`batches`."""
        key = self.key_of(table)
        own = () if key == "id" else (Column("id", "int", required=True),)
        return self.batches(table, key, (*own, *columns))

    def key_of(self, table: str) -> str:
        """`id` where it is the table's row id, else `rowid`."""
        with _refusing(self._path):
            info = self._plain.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
        keys = [(row[1].lower(), row[2].upper()) for row in info if row[5]]
        return "id" if keys == [(b"id", b"INTEGER")] else "rowid"

    def numbers(self, table: str, columns: tuple[str, ...], where: str) -> tuple[Int64s, ...]:
        """Whole-number columns of the rows that satisfy `where`, for tables that only add to others.

        Rows without a whole number in each column are left out, and so is what cannot be read: columns and
        tables that are missing (the result is empty) or damaged.
        """
        if not set(columns) <= self.tables.get(table, frozenset()):
            return tuple(np.empty(0, np.int64) for _ in columns)
        query = f"SELECT {', '.join(map(_quoted, columns))} FROM {_quoted(table)} WHERE {where}"
        wanted = tuple(Column(name, "int", required=True) for name in columns)
        batch = self._columnar(query, wanted)
        if batch is None:
            batch = self._row_by_row(table, query, wanted)[0]
        return tuple(column.to_numpy() for column in batch.columns)

    def side(self, table: str, key: str, value: str, wanted: Int64s) -> tuple[npt.NDArray[np.bool_], Int64s]:
        """For each of the ids `wanted`: whether the side table has a value for it, and which; see :meth:`numbers`."""
        span = f"{_quoted(key)} BETWEEN {wanted.min()} AND {wanted.max()}"
        keys, values = self.numbers(table, (key, value), span)
        keys, first = np.unique(keys, return_index=True)
        return Keys(keys).pick(values[first], wanted)

    def _query(self, table: str, wanted: tuple[Column, ...], key: str, after: int, rows: int) -> str:
        have = self.tables[table]
        cells = ", ".join(
            _quoted(column.name) if column.name in have else "rowid" if column.name == "rowid" else "NULL"
            for column in wanted
        )
        bound = ">" if after > _LOWEST else ">="
        low = after if after > _LOWEST else f"({_LOWEST + 1} - 1)"
        return f"SELECT {cells} FROM {_quoted(table)} WHERE {key} {bound} {low} ORDER BY {key} LIMIT {rows}"

    def _columnar(self, query: str, wanted: tuple[Column, ...]) -> pa.RecordBatch | None:
        """The result in the types wanted, or None when it has to be read row by row."""
        try:
            with self._fast.cursor() as cursor:
                # One batch holds all rows, so that the types are inferred from all of them.
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(2**30)})
                cursor.execute(query)
                read = cursor.fetch_arrow_table().combine_chunks()
        except (*self._errors, pa.ArrowException, OSError, UnicodeDecodeError):
            return None
        arrays = []
        for column, values in zip(wanted, read.columns, strict=True):
            array = values.chunk(0) if values.num_chunks else pa.nulls(0, values.type)
            kind = _ARROW[column.type]
            if array.null_count == len(array):
                array = pa.nulls(len(array), kind)
            if column.type == "real" and pa.types.is_integer(array.type):
                # SQLite keeps whole numbers of a REAL column as integers here and there.
                array = array.cast(kind, safe=False)
            if array.type != kind or (column.required and array.null_count):
                return None
            arrays.append(_valid_text(array) if column.type == "text" else array)
        return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in wanted])

    def _row_by_row(
        self, table: str, query: str, wanted: tuple[Column, ...]
    ) -> tuple[pa.RecordBatch, list[Rejected], int | None, str | None]:
        """The same rows through sqlite3: the good ones, the rejects, the last key seen and the damage met."""
        good: list[tuple[int | str | float | None, ...]] = []
        rejects: list[Rejected] = []
        last, damage = None, None
        try:
            for row in self._plain.execute(query):
                last = row[0] if isinstance(row[0], int) else last
                where = f"{table}.{wanted[0].name}={_shown(row[0])}"
                cells = _cells(where, row, wanted, rejects)
                if cells is not None:
                    good.append(cells)
        except _DAMAGE as error:
            damage = one_line(error)
        columns = list(zip(*good, strict=True)) or [()] * len(wanted)
        arrays = [
            pa.array(values, _ARROW[column.type]) for column, values in zip(wanted, columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, names=[c.name for c in wanted]), rejects, last, damage


@contextmanager
def reading(path: Path) -> Iterator[Reader]:
    """Open the copy at `path`, replaying its write-ahead log or rollback journal, and close it at the end.

    Raises SourceError when it is no readable database.
    """
    import adbc_driver_sqlite.dbapi as adbc

    tables = table_columns(path)
    with closing(_connect(path)) as plain:
        try:
            fast = adbc.connect(path.absolute().as_uri())
        except adbc.Error as error:
            raise SourceError(f"{path.name} cannot be opened: {one_line(error)}") from error
        with closing(fast):
            yield Reader(path, tables, fast, plain, (adbc.Error,))


def _connect(path: Path) -> sqlite3.Connection:
    with _refusing(path):
        con = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
    try:
        with _refusing(path):
            con.text_factory = bytes
            con.execute("PRAGMA trusted_schema = OFF")
            con.execute("PRAGMA cell_size_check = ON")
            # Brings log and journal into the main file; private copies are ours to write.
            con.execute("PRAGMA journal_mode = DELETE").fetchone()
    except SourceError:
        con.close()
        raise
    return con


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Say in one line that the file as a whole is no readable database."""
    try:
        yield
    except _DAMAGE as error:
        raise SourceError(f"{path.name} cannot be read as an SQLite database: {one_line(error)}") from error


def _cells(
    where: str, row: tuple[Any, ...], wanted: tuple[Column, ...], rejects: list[Rejected]
) -> tuple[int | str | float | None, ...] | None:
    """The row in the types wanted, or None (and a reject) when a required cell is missing or wrong."""
    cells: list[int | str | float | None] = []
    for column, raw in zip(wanted, row, strict=True):
        try:
            cell = _READERS[column.type](raw)
        except ValueError:
            cell = None
            if not column.required:
                kept = f"{column.name} is not {_NAMED[column.type]}: {_shown(raw)}; the rest of the record was taken"
                rejects.append(Rejected(where, kept))
        if cell is None and column.required:
            said = "missing" if raw is None else f"not {_NAMED[column.type]}: {_shown(raw)}"
            rejects.append(Rejected(where, f"{column.name} is {said}"))
            return None
        cells.append(cell)
    return tuple(cells)


def _as_int(raw: Any) -> int | None:
    """A whole number however it is stored: 5, 5.0 or '5'. Raises ValueError for anything else."""
    if raw is None or isinstance(raw, int):
        return raw
    if isinstance(raw, float):
        if not raw.is_integer():
            raise ValueError
        number = int(raw)
    else:
        number = int(_number(raw))
    if not _LOWEST <= number <= _HIGHEST:
        raise ValueError
    return number


def _as_real(raw: Any) -> float | None:
    """A number however it is stored. Raises ValueError for anything else, infinity and NaN."""
    if raw is None:
        return None
    number = float(_number(raw) if isinstance(raw, bytes) else raw)
    if number - number != 0:
        raise ValueError
    return number


def _number(raw: bytes) -> str:
    """Text that may be a number to SQLite; Python would also take 1_000 for one. Raises ValueError."""
    if b"_" in raw:
        raise ValueError
    return raw.decode("ascii", "strict")


def _as_text(raw: Any) -> str | None:
    if raw is None:
        return None
    return _text(raw) if isinstance(raw, bytes) else str(raw)


_READERS: dict[CellType, Callable[[Any], int | str | float | None]] = {
    "int": _as_int,
    "text": _as_text,
    "real": _as_real,
}
_NAMED: dict[CellType, str] = {"int": "a whole number", "text": "text", "real": "a number"}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _valid_text(array: pa.StringArray) -> pa.StringArray:
    """The same text with bytes that are not UTF-8 replaced by U+FFFD; costs one vectorised check when all is well."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        texts = array.cast(pa.binary()).to_pylist()
        return pa.array([_as_text(text) for text in texts], pa.string())
    return array


def _increasing(keys: pa.Int64Array, after: int) -> bool:
    values = keys.to_numpy()
    return bool(values[0] > after or after == _LOWEST) and bool(np.all(values[1:] > values[:-1]))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _shown(raw: Any) -> str:
    """A raw cell for a message: short, one line."""
    text = repr(_text(raw) if isinstance(raw, bytes) else raw)
    return text if len(text) <= 60 else text[:57] + "..."


def one_line(error: BaseException) -> str:
    """What SQLite says, in one printable line."""
    if isinstance(error, UnicodeDecodeError):
        return "its schema is damaged"
    return " ".join("".join(c if c.isprintable() else " " for c in str(error)).split())[:200]
