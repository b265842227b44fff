"""Readers, captures and a bulk import on one lake, each in its own process: who waits for whom, and how long.

    python bench/leases.py [--quick]

4 readers count all visits again and again, 2 writers insert one row at a time, and an import merges 1
million rows (`--quick`: 200,000) by anti-join, in leases paced by the time they take. A wait is from asking
for the lease to having closed it. The expected figures were taken with a DuckDB started per lease and
100,000 rows a lease.
"""

import argparse
import multiprocessing as mp
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path

from brain.config import Home
from brain.errors import BrainError, LakeBusy
from brain.leases import Leases, Pace

READERS, WRITERS = 4, 2
EXPECTED = {"reader": 0.29, "capture": 0.28, "import": 1.65}  # p95, p95, seconds for the whole import


@dataclass
class Report:
    kind: str
    waits: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    longest: float = 0.0
    seconds: float = 0.0


def ready(leases: Leases, start: Barrier) -> None:
    """Begin together, and not with the loading of DuckDB, which a running server has behind it."""
    with leases.read(timeout=60):
        pass
    start.wait()


def reader(root: Path, number: int, start: Barrier, stop: Event, out: "mp.Queue[Report]") -> None:
    leases, report = Leases(Home(root)), Report("reader")
    ready(leases, start)
    while not stop.is_set():
        began = time.perf_counter()
        try:
            with leases.read(what=f"reader {number}") as con:
                con.execute("SELECT count(*), max(us) FROM visits WHERE us > 0").fetchall()
        except BrainError as error:
            report.errors.append(str(error))
        report.waits.append(time.perf_counter() - began)
        time.sleep(0.02)
    out.put(report)


def capture(root: Path, number: int, start: Barrier, stop: Event, out: "mp.Queue[Report]") -> None:
    leases, report = Leases(Home(root)), Report("capture")
    ready(leases, start)
    while not stop.is_set():
        began = time.perf_counter()
        try:
            with leases.write(what=f"capture {number}") as con:
                con.execute(
                    "INSERT INTO thoughts VALUES (?, 'a thought')", [number * 1_000_000 + len(report.waits)]
                )
        except BrainError as error:
            report.errors.append(str(error))
        report.waits.append(time.perf_counter() - began)
        time.sleep(0.05)
    out.put(report)


def bulk_import(root: Path, rows: int, start: Barrier, stop: Event, out: "mp.Queue[Report]") -> None:
    import numpy as np
    import pyarrow as pa

    numbers = np.arange(rows)
    table = pa.table(
        {
            "k": np.random.default_rng(0).permutation(rows).astype("int64"),
            "us": numbers + 10**15,
            "url": [f"https://site{i % 5000}.example.com/path/{i}" for i in range(rows)],
            "title": [f"Title {i % 90000} about things" for i in range(rows)],
        }
    )
    leases, report, pace, at = Leases(Home(root)), Report("import"), Pace(), 0
    ready(leases, start)
    began = time.perf_counter()
    while at < rows:
        part = table.slice(at, pace.rows)
        asked = time.perf_counter()
        try:
            with leases.write(timeout=60, what="import", bulk=True) as con:
                got = time.perf_counter()
                con.register("part", part)
                con.execute("INSERT INTO visits SELECT p.* FROM part p ANTI JOIN visits v ON p.k = v.k")
        except BrainError as error:
            report.errors.append(str(error))
            break
        held = time.perf_counter() - got
        pace.took(part.num_rows, held)
        at += part.num_rows
        report.waits.append(time.perf_counter() - asked)
        report.longest = max(report.longest, held)
    report.seconds = time.perf_counter() - began
    time.sleep(0.3)
    stop.set()
    out.put(report)


def run(root: Path, rows: int, readers: int, writers: int) -> list[Report]:
    with Leases(Home(root)).write() as con:
        con.execute("CREATE OR REPLACE TABLE visits (k BIGINT, us BIGINT, url VARCHAR, title VARCHAR)")
        con.execute("CREATE OR REPLACE TABLE thoughts (id BIGINT, text VARCHAR)")
    context = mp.get_context("spawn")
    stop, out = context.Event(), context.Queue()
    jobs = (
        [(reader, i) for i in range(readers)] + [(capture, i) for i in range(writers)] + [(bulk_import, rows)]
    )
    start = context.Barrier(len(jobs))
    processes = [context.Process(target=work, args=(root, n, start, stop, out)) for work, n in jobs]
    for process in processes:
        process.start()
    reports = [out.get() for _ in processes]
    for process in processes:
        process.join()
    with Leases(Home(root)).read() as con:
        counts = con.execute(
            "SELECT (SELECT count(*) FROM visits), (SELECT count(*) FROM thoughts)"
        ).fetchall()
    expected = (rows, sum(len(r.waits) - len(r.errors) for r in reports if r.kind == "capture"))
    if counts[0] != expected:
        raise SystemExit(f"rows were lost or doubled: {counts[0]} in the lake, {expected} written")
    return reports


def hold(root: Path, held: Event, stop: Event) -> None:
    with Leases(Home(root)).write(what="import"):
        held.set()
        stop.wait()


def refusal(root: Path) -> str:
    """What a reader is told when its time is over while another process writes."""
    context = mp.get_context("spawn")
    held, stop = context.Event(), context.Event()
    process = context.Process(target=hold, args=(root, held, stop))
    process.start()
    held.wait()
    try:
        with Leases(Home(root)).read(timeout=0.3, what="stats"):
            return "NOT REFUSED"
    except LakeBusy as error:
        return str(error)
    finally:
        stop.set()
        process.join()


def main() -> None:
    from rich.console import Console
    from rich.table import Table

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="200,000 rows instead of 1 million")
    rows = 200_000 if parser.parse_args().quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "home"
        alone = run(root, rows, 0, 0)[0]
        reports = run(root, rows, READERS, WRITERS)
        told = refusal(root)
    bulk = next(r for r in reports if r.kind == "import")
    table = Table(title=f"{READERS} readers + {WRITERS} captures + an import of {rows:,} rows", min_width=100)
    for column in ("kind", "n", "p50 s", "p95 s", "max s", "errors", "expected p95 s"):
        table.add_column(column, justify="left" if column == "kind" else "right")
    for kind in ("reader", "capture", "import"):
        mine = [r for r in reports if r.kind == kind]
        waits = [w for r in mine for w in r.waits]
        cuts = statistics.quantiles(waits, n=20, method="inclusive")
        figures = [f"{value:.3f}" for value in (cuts[9], cuts[18], max(waits))]
        errors = sum(len(r.errors) for r in mine)
        expected = "" if kind == "import" else str(EXPECTED[kind])
        table.add_row(kind, str(len(waits)), *figures, str(errors), expected)
    table.caption = (
        f"import {bulk.seconds:.2f} s (expected {EXPECTED['import']} for a million; alone {alone.seconds:.2f} s), "
        f"longest import lease {bulk.longest:.3f} s\non timeout: {told}"
    )
    Console(width=120).print(table)
    for report in reports:
        for error in report.errors[:3]:
            print(report.kind, error)


if __name__ == "__main__":
    main()
