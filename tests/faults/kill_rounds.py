"""Kill imports and indexing with SIGKILL at random moments and see that a re-run completes the work.

    python tests/faults/kill_rounds.py [--rounds 20] [--visits-scale large]

Each round takes a fresh home, starts `brain import` (or `brain index`) in a process of its own, kills it after a random
time within what an undisturbed run takes, runs it again, and compares every table's rows with the undisturbed lake.
Prints one line per round and a summary; exits 1 on the first difference.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

# Rows that must be equal, independent of ids given in order of arrival.
TABLES = {
    "urls": "SELECT url_id, page_id, url, title FROM store.urls ORDER BY ALL",
    "visits": "SELECT visit_key, url_id, visited_at, from_key, opener_key, is_visible FROM store.visits ORDER BY ALL",
    "observations": "SELECT visit_key, native_id FROM store.observations ORDER BY ALL",
    "documents": "SELECT doc_id, title, url, visit_count, last_at FROM store.documents ORDER BY ALL",
}


def brain(home: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "brain", "--home", str(home), "--json", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"BRAIN_TZ": "UTC"},
        start_new_session=True,
    )


def run(home: Path, *words: str) -> float:
    started = time.monotonic()
    process = brain(home, *words)
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(f"{' '.join(words)} failed with {process.returncode}: {errors.decode()[-2000:]}")
    return time.monotonic() - started


def kill_at(home: Path, seconds: float, *words: str) -> bool:
    """Start the command, kill its process group after `seconds`; False when it had ended by then."""
    process = brain(home, *words)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return True
    return False


def digest(home: Path) -> dict[str, int]:
    from brain.workspace import open_workspace

    ws = open_workspace(home)
    with ws.lake.snapshot() as con:
        rows = {name: con.execute(sql).fetchall() for name, sql in TABLES.items()}
    rows["index"] = [ws.index.count_documents()] if rows["documents"] else [0]
    return {name: hash(tuple(found)) for name, found in rows.items()}


def faults(home: Path) -> list[str]:
    """What `brain doctor` finds."""
    process = brain(home, "doctor")
    out, _ = process.communicate()
    return [f"{check['name']}: {check['detail']}" for check in json.loads(out)["checks"] if not check["ok"]]


def fresh(home: Path, key: Path) -> Path:
    """A home that has nothing but the one key, so that ids can be compared."""
    home.mkdir(mode=0o700)
    shutil.copytree(key, home / "keys")
    return home


def rounds(what: str, count: int, history: Path, root: Path, seed: int) -> int:
    """Kill `count` runs of `import` or `index`; returns how many were really hit."""
    chance = random.Random(seed)
    key = root / "key"
    clean = fresh(root / f"{what}-clean", key)
    seconds = run(clean, "import", "--no-index", str(history))
    if what == "index":
        seconds = run(clean, "index")
    wanted = digest(clean)
    hit = 0
    for number in range(count):
        home = fresh(root / f"{what}-{number}", key)
        command = ("import", "--no-index", str(history)) if what == "import" else ("index",)
        if what == "index":
            run(home, "import", "--no-index", str(history))
        moment = chance.uniform(0.1, 1.0) * seconds
        killed = kill_at(home, moment, *command)
        hit += killed
        run(home, *command)
        same = digest(home)
        if same != wanted:
            differing = [name for name in wanted if same[name] != wanted[name]]
            sys.exit(f"{what} round {number}, killed at {moment:.2f} s: differs in {differing}")
        if found := faults(home):
            sys.exit(f"{what} round {number}, killed at {moment:.2f} s: doctor finds {found}")
        print(
            f"{what} round {number}: {'killed' if killed else 'ended first'} at {moment:.2f} s; equal",
            flush=True,
        )
        shutil.rmtree(home)
    return hit


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--scale", default="large")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("import", "index"))
    options = parser.parse_args()
    from brain.config import Home
    from brain.sample import generate
    from brain.urls import load_or_create_key

    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        load_or_create_key(Home(root / "first").ensure())
        shutil.copytree(root / "first" / "keys", root / "key")
        generate(root / "sample", scale=options.scale, seed=1, end=date(2026, 11, 30))
        history = next((root / "sample").rglob("History"))
        for what in (options.only,) if options.only else ("import", "index"):
            hit = rounds(what, options.rounds, history, root, options.seed)
            print(f"{what}: {options.rounds} rounds, {hit} killed, every re-run equal to an undisturbed run")


if __name__ == "__main__":
    main()
