"""Chromium History into the lake: time and memory against a bare copy and against browserexport.

    python bench/import_history.py [--quick] [--scale 1m] [--rounds 3] [--peer-python PYTHON]

The bare copy is SQLite -> Arrow -> DuckDB of the same columns with no rule applied: what the disk and the two
libraries need at the least. browserexport merges the file in memory and stores nothing; give the interpreter of
an environment that has it with --peer-python. Every round runs each in turn, in a process of its own.
"""

import argparse
import json
import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

BARE = """
SELECT v.id, u.url, u.title, u.visit_count, u.typed_count, u.last_visit_time, u.hidden, v.visit_time, v.from_visit,
       v.transition, v.visit_duration, v.opener_visit, v.originator_cache_guid, c.total_foreground_duration, s.source
FROM visits v JOIN urls u ON u.id = v.url LEFT JOIN context_annotations c ON c.visit_id = v.id
LEFT JOIN visit_source s ON s.id = v.id"""


def bare_copy(history: Path, folder: Path) -> None:
    import duckdb
    from adbc_driver_sqlite import dbapi

    copy = folder / "History"
    shutil.copyfile(history, copy)
    with dbapi.connect(f"file:{copy}") as source, source.cursor() as cursor:
        cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": "100000"})
        cursor.execute(BARE)
        con = duckdb.connect(str(folder / "bare.duckdb"))
        con.register("rows", cursor.fetch_record_batch())
        con.execute("CREATE TABLE visits AS SELECT * FROM rows")
        con.close()


def ours(history: Path, folder: Path) -> None:
    from brain.services.import_files import ImportOptions, import_files
    from brain.workspace import open_workspace

    same_source = ImportOptions(browser="chrome", profile="Default")  # wherever the copy lies
    report = import_files(open_workspace(folder), [history], same_source)
    assert report.imports[0].status in {"imported", "unchanged"}, report.imports[0]


PEER = """
import json, resource, sys, time
from browserexport.merge import read_and_merge
started = time.perf_counter()
assert sum(1 for _ in read_and_merge([sys.argv[1]]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": time.perf_counter() - started, "mb": peak}))"""


def child(what: str, history: Path, folder: Path) -> None:
    """Run one job here and print its seconds and peak memory."""
    started = time.perf_counter()
    {"bare": bare_copy, "ours": ours}[what](history, folder)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "mb": peak}))


def run(what: str, history: Path, folder: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--child", what, str(history), str(folder)],
        capture_output=True, text=True, check=False, env=os.environ | {"BRAIN_TZ": "UTC"},
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def run_peer(python: str, history: Path) -> dict[str, float]:
    done = subprocess.run([python, "-c", PEER, str(history)], check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def newer(history: Path, target: Path, share: float = 0.01) -> None:
    """The same file with `share` more visits, as a week later."""
    shutil.copyfile(history, target)
    con = sqlite3.connect(target)
    (count,) = con.execute("SELECT count(*) FROM visits").fetchone()
    columns = [r[1] for r in con.execute("PRAGMA table_info(visits)") if r[1] not in ("id", "visit_time")]
    names = ", ".join(columns)
    con.execute(
        f"INSERT INTO visits (visit_time, {names}) SELECT visit_time + 604800000000, {names} FROM visits "
        f"ORDER BY id DESC LIMIT {int(count * share)}"
    )
    con.commit()
    con.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", default="1m")
    parser.add_argument("--quick", action="store_true", help="one round of a small file: does it run at all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer-python")
    parser.add_argument("--history", type=Path, help="use this file instead of a generated one")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.scale, options.rounds = "demo", 1
    if options.child:
        child(options.child[0], Path(options.child[1]), Path(options.child[2]))
        return
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        history = options.history
        if history is None:
            from brain.sample import generate

            generate(root / "sample", scale=options.scale, seed=1, end=date(2026, 11, 30))
            history = next((root / "sample").rglob("History"))
        later = root / "later" / "History"
        later.parent.mkdir()
        newer(history, later)
        results: dict[str, list[dict[str, float]]] = {}
        for round_no in range(options.rounds):
            folder = root / f"round-{round_no}"
            folder.mkdir()
            results.setdefault("bare copy", []).append(run("bare", history, folder))
            results.setdefault("import", []).append(run("ours", history, folder / "home"))
            results.setdefault("re-import, unchanged", []).append(run("ours", history, folder / "home"))
            results.setdefault("re-import, 1% newer", []).append(run("ours", later, folder / "home"))
            if options.peer_python:
                results.setdefault("browserexport", []).append(run_peer(options.peer_python, history))
            shutil.rmtree(folder)
        report(results, history)


def report(results: dict[str, list[dict[str, float]]], history: Path) -> None:
    def median(name: str, what: str = "seconds") -> float:
        return statistics.median(r[what] for r in results[name])

    first = median("import")
    goals = {
        "import": ("bare copy", "<= 2x", "<= 1.2x"),
        "re-import, unchanged": ("import", "<= 10%", "<= 2%"),
        "re-import, 1% newer": ("import", "<= 50%", "<= 20%"),
        "browserexport": ("import", ">= 1.2x", ">= 2.5x"),
    }
    (visits,) = sqlite3.connect(history).execute("SELECT count(*) FROM visits").fetchone()
    print(
        f"{visits:,} visits, {history.stat().st_size / 1e6:.0f} MB, {len(results['import'])} rounds, medians"
    )
    print(f"{'what':<22}{'s':>8}{'MB':>8}  {'ratio':<22}{'reach':<10}stretch")
    for name in results:
        ratio = reach = stretch = ""
        if name in goals:
            base, reach, stretch = goals[name]
            value = median(name) / (first if base == "import" else median(base))
            ratio = f"{value:.2f}x of {base}"
        print(f"{name:<22}{median(name):>8.2f}{median(name, 'mb'):>8.0f}  {ratio:<22}{reach:<10}{stretch}")


if __name__ == "__main__":
    main()
