"""A Takeout history into the lake: time and memory, flat whatever the size, beside reading the file as a whole.

    python bench/import_takeout.py [--quick] [--records 1000000]

Writes exports of a quarter and of all records, imports each in a process of its own (without indexing) and reads the
larger with json.load in another.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = (
    *("bread", "harbour", "lease", "index", "river", "paper", "timetable", "glass"),
    *("notes", "winter", "query", "garden", "signal", "border", "copper"),
)


def write(path: Path, records: int) -> None:
    """An export of this many visits, three to a page, newest first."""
    rng = random.Random(1)
    newest = 1_760_000_000_000_000
    with path.open("w", encoding="utf-8") as file:
        file.write('{\n  "Browser History": [\n')
        for number in range(records):
            page = rng.randrange(max(1, records // 3))
            title = " ".join(rng.choices(WORDS, k=5)) + f" {page}"
            entry = {
                "favicon_url": f"https://site{page % 5_000}.example/favicon.ico",
                "page_transition_qualifier": rng.choice(("LINK", "LINK", "TYPED", "RELOAD", "FORM_SUBMIT")),
                "title": title,
                "url": f"https://site{page % 5_000}.example/articles/{page}?page={page % 7}",
                "time_usec": newest - number * 31_000_017,
                "client_id": "Q2xpZW50SWQ+abcdefghij==",
            }
            file.write(("," if number else "") + json.dumps(entry) + "\n")
        file.write("]}\n")


def child(mode: str, path: Path) -> None:
    started = time.perf_counter()
    if mode == "whole":
        assert json.loads(path.read_bytes())["Browser History"]
    else:
        from brain.services.import_files import import_files
        from brain.workspace import open_workspace

        with tempfile.TemporaryDirectory() as folder:
            (outcome,) = import_files(open_workspace(folder), [path]).imports
            assert outcome.status == "imported", outcome
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024
    sys.stdout.write(json.dumps({"seconds": time.perf_counter() - started, "peak": peak}))


def run(mode: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", mode, "--file", str(path)]
    made: dict[str, float] = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    return made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="20,000 records")
    parser.add_argument("--child", choices=("ours", "whole"), help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        child(asked.child, asked.file)
        return
    records = 20_000 if asked.quick else asked.records
    print("| what | records | file | seconds | records/s | peak memory |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for mode, count in (("ours", records // 4), ("ours", records), ("whole", records)):
            path = Path(folder) / f"History-{count}.json"
            if not path.exists():
                write(path, count)
            made = run(mode, path)
            name = "into the lake" if mode == "ours" else "json.loads alone"
            size = path.stat().st_size / 1e6
            rate = count / made["seconds"]
            print(
                f"| {name} | {count:,} | {size:.0f} MB | {made['seconds']:.1f} | {rate:,.0f} | {made['peak']:.0f} MB |"
            )


if __name__ == "__main__":
    main()
