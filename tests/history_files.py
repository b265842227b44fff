"""What the tests of history importers share: building a database, reading one, filling one with anything."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from brain.errors import SourceError
from brain.models import EARLIEST_US, LATEST_US, SOURCE_SCHEMAS, Batch, Rejected

Row = dict[str, Any]

FUZZ = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
CELLS = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    | st.binary(max_size=6)
    | st.sampled_from(
        ["1_000", "1e9", " 5", "5.5", b"\xff\xfe", 2**53 + 1, 700_000_000.123457, 1_600_000_000]
    )
)


def database(path: Path, schema: str, **rows: list[Row]) -> Path:
    """A new database at `path` with these rows by table, each a dict of its columns."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as con:
        con.executescript(schema)
        for table, of_table in rows.items():
            for row in of_table:
                marks = ", ".join("?" * len(row))
                con.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        con.commit()
    return path


def read(path: Path, importer: Any) -> tuple[list[Row], list[Row], list[tuple[str, str]]]:
    """URLs, visits (each with its `url`) and rejects, after checking that every batch keeps its schema."""
    urls: list[Row] = []
    visits: list[Row] = []
    rejects = []
    known: dict[int, str] = {}
    for item in importer.read(path):
        if isinstance(item, Rejected):
            assert "\n" not in item.where + item.reason
            rejects.append((item.where, item.reason))
            continue
        assert isinstance(item, Batch)
        assert item.rows.schema == SOURCE_SCHEMAS[item.record]
        item.rows.validate(full=True)
        rows = item.rows.to_pylist()
        if item.record == "urls":
            known |= {row["url_ref"]: row["url"] for row in rows}
            urls += rows
        else:
            visits += [row | {"url": known[row["url_ref"]]} for row in rows]
    assert len(known) == len(urls)
    return urls, visits, rejects


def takes_anything(path: Path, importer: Any) -> None:
    """Nothing comes of the file but batches, rejects or one line, twice the same."""
    assert importer.detect(path) in (True, False)
    results = []
    for _ in range(2):
        with suppress(SourceError):
            results.append(read(path, importer))
    assert len(results) in (0, 2)
    assert results[:1] == results[1:]
    for _, visits, _ in results:
        assert all(EARLIEST_US <= visit["visited_us"] < LATEST_US for visit in visits)
