"""Damage the files of every source, for so many seconds each, and see that its importer never fails but by name.

    python tests/faults/fuzz_importers.py [--seconds 60] [--seed 1] [--only NAME ...]

Each importer runs in a process of its own over files of its format: bytes flipped, cut, repeated, zeroed or exchanged
for awkward ones, numbers and words of text exchanged, cells of databases exchanged. Every record must keep its schema,
every reject be one line, every failure be a SourceError; a file read for more than a minute counts as a hang. Prints
one line for each importer; exits 1 if any failed, and keeps the file that did it.
"""

import argparse
import faulthandler
import gzip
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from test_firefox_ios_legacy import a_file as a_firefox_ios_legacy
from test_firefox_phones import FENNEC, make
from test_moved import a_bravemcp
from test_session_buddy import a_session_buddy

from brain import importers
from brain.errors import SourceError
from brain.importers._sqlite import HEADER
from brain.models import EARLIEST_US, LATEST_US, SOURCE_SCHEMAS, Batch, Rejected
from brain.sample import generate

DATA = Path(__file__).parents[1] / "data"
HANG_SECONDS = 60
AWKWARD_BYTES = (
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\r",
    b'"',
    b"\\",
    b"[" * 300,
    b"]",
    b"{",
    b"}",
    b"<",
    b"--",
    b"\x1f\x8b",
)
AWKWARD_WORDS = (
    *(
        b"null",
        b"-1",
        b"0",
        b"1e999",
        b"NaN",
        b"9" * 30,
        b"9" * 5000,
        b"1.5",
        b'""',
        b"[]",
        b"{}",
        b"true",
        b'"\\ud800"',
    ),
    *(b'"\\u0000"', b"18446744073709551616", b'"http://["', b'"file:///"', b'"2026-02-30T25:61:00Z"'),
)
AWKWARD_CELLS = (
    *(
        None,
        0,
        -1,
        2**63 - 1,
        -(2**63),
        2**53 + 1,
        1e300,
        float("inf"),
        0.5,
        "",
        "1_000",
        " 5",
        "http://[",
        "\0",
        "a\nb",
    ),
    *(b"", b"\xff\xfe", b"\xed\xa0\x80", "x" * 70_000, "javascript:0", "http://ex\u202eample/"),
)
TOKEN = re.compile(rb"-?\d+(?:\.\d+)?|\"[^\"\n]{0,200}\"|\w+")


def seeds(folder: Path) -> dict[str, list[bytes]]:
    """Sound files of every format, by importer: the generated sample's, real ones, and built ones of what it lacks."""
    files = [file.path for file in generate(folder / "sample", "small").files]
    files += [path for path in DATA.glob("*.json*") if path.name != "thoughts_labelled.json"]
    files.append(DATA / "chromium-156-History")
    files += [
        make(folder / "fennec", FENNEC, *FENNEC_ROWS),
        a_firefox_ios_legacy(folder / "ios"),
        a_bravemcp(folder / "brave"),
        *(a_session_buddy(folder / f"buddy-{version}", version) for version in (3, 4)),
    ]
    files += [note for path in files if path.is_dir() for note in sorted(path.rglob("*.md"))[:4]]
    for archive in [path for path in files if path.suffix == ".zip"]:
        with zipfile.ZipFile(archive) as opened:
            files += [Path(opened.extract(name, folder / "zips")) for name in opened.namelist()]
    for path in [path for path in files if path.suffix == ".gz"]:
        (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
        files.append(folder / path.stem)
    found: dict[str, list[bytes]] = {importer.NAME: [] for importer in importers.IMPORTERS}
    for path in files:
        if path.is_file() and path.suffix != ".zip":
            copy = folder / f"sound{path.suffix}"  # looking at a database may change it
            copy.write_bytes(path.read_bytes())
            found[importers.pick(copy).NAME].append(path.read_bytes())
    return found


FENNEC_ROWS = [
    f"INSERT INTO visits VALUES ({n + 1}, 'g7', {n % 9}, {1_600_000_000_123_456 + n}, {n % 2})"
    for n in range(30)
]


def damage(rng: random.Random, content: bytes, path: Path) -> None:
    """Write a damaged form of `content` to `path`."""
    if content.startswith(HEADER) and rng.random() < 0.5:
        path.write_bytes(content)
        with suppress(sqlite3.Error):
            exchange_cells(rng, path)
        if rng.random() < 0.5:
            return
        content = path.read_bytes()
    text = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at, size = rng.randrange(len(text) + 1), rng.choice((1, 2, 8, 100, 4096))
        match rng.randrange(7):
            case 0:
                text[at : at + size] = rng.randbytes(min(size, 8))
            case 1:
                text[at : at + 1] = rng.choice(AWKWARD_BYTES)
            case 2:
                del text[at : at + size]
            case 3:
                text[at:at] = text[max(0, at - size) : at]
            case 4:
                text[at : at + size] = bytes(min(size, len(text) - at))
            case 5:
                if token := TOKEN.search(text, at, min(len(text), at + 4096)):
                    text[token.start() : token.end()] = rng.choice(AWKWARD_WORDS)
            case 6 if rng.random() < 0.3:
                del text[at:]
    path.write_bytes(text)


def exchange_cells(rng: random.Random, path: Path) -> None:
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA writable_schema = 1")
        tables = [name for (name,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for _ in range(rng.choice((1, 3, 10))):
            table = rng.choice(tables)
            columns = [row[1] for row in con.execute(f'PRAGMA table_info("{table}")')]
            column = rng.choice(columns or [""])
            value, some = rng.choice(AWKWARD_CELLS), rng.choice(("1", "rowid % 7 = 3", "rowid = 1"))
            with suppress(sqlite3.Error):
                con.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE {some}', [value])
            with suppress(sqlite3.Error):
                if rng.random() < 0.05:
                    con.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
        con.commit()


def fuzz(name: str, seconds: float, seed: int) -> str:
    """Run one importer; what came of it, in words. Raises what the importer raises beyond SourceError."""
    rng = random.Random(f"{seed} {name}")
    (importer,) = (one for one in importers.IMPORTERS if name == one.NAME)
    counts = {"files": 0, "records": 0, "rejects": 0, "refused": 0}
    slowest = 0.0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        contents = seeds(folder)[name]
        assert contents, f"no file of {name}"
        kept = Path(tempfile.gettempdir()) / f"fuzz-{name}"
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            path = folder / "damaged.md"
            path.unlink(missing_ok=True)
            damage(rng, rng.choice(contents), path)
            kept.write_bytes(path.read_bytes())
            faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
            began = time.monotonic()
            importer.detect(path)
            for one in (importer,) if rng.random() < 0.95 else importers.IMPORTERS:
                one.detect(path)
            try:
                for what, count in read_all(path, importer):
                    counts[what] += count
            except SourceError as error:
                counts["refused"] += 1
                if "\n" in str(error):
                    raise
            faulthandler.cancel_dump_traceback_later()
            slowest = max(slowest, time.monotonic() - began)
            counts["files"] += 1
        kept.unlink()
    return ", ".join(f"{count:,} {what}" for what, count in counts.items()) + f"; slowest {slowest:.2f} s"


def read_all(path: Path, importer: importers.Importer) -> Iterator[tuple[str, int]]:
    """How many records or rejects come at a time, after checking what every batch promises."""
    known: set[int] = set()
    for item in importer.read(path):
        if isinstance(item, Rejected):
            assert "\n" not in item.where + item.reason
            yield "rejects", 1
            continue
        assert isinstance(item, Batch)
        assert item.rows.schema == SOURCE_SCHEMAS[item.record]
        item.rows.validate(full=True)
        rows = item.rows.to_pylist()
        if item.record == "urls":
            known |= {row["url_ref"] for row in rows}  # a damaged database may repeat itself
        if item.record == "visits":
            assert {row["url_ref"] for row in rows} <= known
            assert all(EARLIEST_US <= row["visited_us"] < LATEST_US for row in rows)
        yield "records", len(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[importer.NAME for importer in importers.IMPORTERS])
    parser.add_argument("--here", action="store_true", help="in this process")
    args = parser.parse_args()
    if args.here:
        for name in args.only:
            print(fuzz(name, args.seconds, args.seed))
        return 0
    failed = 0
    for name in args.only:
        own = ["--seconds", str(args.seconds), "--seed", str(args.seed), "--here", "--only", name]
        run = subprocess.run([sys.executable, __file__, *own], capture_output=True, text=True, check=False)
        said = (
            run.stdout.strip() if run.returncode == 0 else f"FAILED ({run.returncode})\n{run.stderr[-3000:]}"
        )
        print(f"{name:22} {said}", flush=True)
        failed += run.returncode != 0
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
