"""Captures of thoughts with real embeddings: one client, then many processes at once, while others read and import.

    python bench/captures.py [--quick] [--processes 8] [--captures 50]

Each process is a stdio MCP server driven by the official client; beside them run an HTTP server, one import and one
reader that queries in a loop. Every capture must be there once at the end, and be found by every other process within
two seconds.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

SUBJECTS = ("bread", "harbour", "lease", "index", "river", "paper", "timetable", "glass", "winter", "garden")


def server(home: Path) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=["-m", "brain", "--home", str(home), "mcp"])


async def capture(client: Client, text: str) -> tuple[float, str]:
    started = time.perf_counter()
    answer = await client.call_tool("capture_thought", {"content": text})
    if answer.is_error:
        sys.exit(f"a capture failed: {answer.content}")
    assert answer.structured_content is not None
    return time.perf_counter() - started, str(answer.structured_content["id"])


async def one_client(home: Path, count: int) -> list[float]:
    async with Client(server(home)) as client:
        for number in range(5):
            await capture(client, f"warm-up {number}")
        return [
            (await capture(client, f"Idea {n}: {SUBJECTS[n % 10]} in the {n} o'clock train"))[0]
            for n in range(count)
        ]


async def worker(home: Path, name: int, count: int, ready: asyncio.Barrier) -> list[tuple[float, str]]:
    async with Client(server(home)) as client:
        await capture(client, f"warm-up of {name}")
        await ready.wait()
        return [
            await capture(client, f"Note {n} of {name}: {SUBJECTS[n % 10]} and {SUBJECTS[name % 10]}")
            for n in range(count)
        ]


async def visible(home: Path, readers: int) -> float:
    """How long until a capture of one process is found by all others, in seconds."""
    async with AsyncExitStack() as stack:
        writer = await stack.enter_async_context(Client(server(home)))
        others = [await stack.enter_async_context(Client(server(home))) for _ in range(readers)]
        for other in others:
            await other.call_tool("search_thoughts", {"query": "warm"})
        _, thought = await capture(writer, "The zebrafinch sang at noon")
        started = time.perf_counter()
        return max([await found_by(other, thought, started) for other in others])


async def found_by(client: Client, thought: str, started: float) -> float:
    while True:
        answer = await client.call_tool("search_thoughts", {"query": "zebrafinch", "limit": 1})
        rows: list[dict[str, Any]] = (answer.structured_content or {}).get("thoughts", [])
        if any(row["id"] == thought for row in rows):
            return time.perf_counter() - started
        assert time.perf_counter() - started < 30


async def alone_together(home: Path, processes: int, count: int) -> tuple[float, list[float]]:
    """Clients that write at once while nothing else runs."""
    ready = asyncio.Barrier(processes + 1)
    work = [asyncio.create_task(worker(home, 100 + n, count, ready)) for n in range(processes)]
    await ready.wait()
    started = time.perf_counter()
    made = [pair for made in await asyncio.gather(*work) for pair in made]
    return time.perf_counter() - started, sorted(took for took, _ in made)


async def many(
    home: Path, processes: int, count: int, history: Path
) -> tuple[float, list[float], list[str], int]:
    """The same while a history is imported, a server runs and queries follow one another."""
    ready = asyncio.Barrier(processes + 1)
    work = [asyncio.create_task(worker(home, n, count, ready)) for n in range(processes)]
    brain = [sys.executable, "-m", "brain", "--home", str(home)]
    await ready.wait()
    beside = [
        subprocess.Popen([*brain, "import", str(history), "--no-index"], stdout=subprocess.DEVNULL),
        subprocess.Popen([*brain, "serve", "--port", "37991"], stderr=subprocess.DEVNULL),
    ]
    started = time.perf_counter()
    reads = 0
    while not all(task.done() for task in work):
        done = await asyncio.create_subprocess_exec(
            *brain, "sql", "SELECT count(*) FROM thoughts", stdout=-3, stderr=-3
        )
        assert await done.wait() == 0
        reads += 1
    seconds = time.perf_counter() - started
    made = [pair for task in work for pair in task.result()]
    beside[1].terminate()
    assert beside[0].wait(300) == 0
    return seconds, [took for took, _ in made], [thought for _, thought in made], reads


def spread(seconds: list[float]) -> str:
    """Median and 95th percentile of sorted times, in milliseconds."""
    return f"{1e3 * statistics.median(seconds):.0f} / {1e3 * seconds[int(0.95 * len(seconds))]:.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--captures", type=int, default=50)
    parser.add_argument("--quick", action="store_true", help="2 processes, 5 captures")
    asked = parser.parse_args()
    processes, count = (2, 5) if asked.quick else (asked.processes, asked.captures)
    with tempfile.TemporaryDirectory() as folder:
        home, sample = Path(folder) / "home", Path(folder) / "sample"
        scale = "small" if asked.quick else "demo"
        subprocess.run(
            [sys.executable, "-m", "brain", "sample", str(sample), "--scale", scale], check=True, stdout=-3
        )
        alone = sorted(asyncio.run(one_client(home, count)))
        quiet, quiet_took = asyncio.run(alone_together(home, processes, count))
        history = sample / "chrome" / "Default" / "History"
        seconds, took, ids, reads = asyncio.run(many(home, processes, count, history))
        took.sort()
        seen = asyncio.run(visible(home, min(processes, 4)))
        sql = (
            "SELECT count(*) AS n FROM thoughts WHERE regexp_matches(content, '^Note [0-9]+ of [0-9]{1,2}:')"
        )
        command = [sys.executable, "-m", "brain", "--home", str(home), "sql", sql, "--json"]
        there = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[0]["n"]
    wanted = processes * count
    print("| what | value |\n|---|---|")
    print(f"| one client, p50 / p95 | {spread(alone)} |")
    print(f"| {processes} clients at once, captures/s | {wanted / quiet:.1f} |")
    print(f"| the same, p50 / p95 | {spread(quiet_took)} |")
    print(
        f"| {processes} clients beside an import, a server and a reader, captures/s | {wanted / seconds:.1f} |"
    )
    print(f"| the same, p50 / p95 | {spread(took)} |")
    print(f"| captured, distinct, in the lake | {len(took)}, {len(set(ids))}, {there} of {wanted} |")
    print(f"| queries answered meanwhile | {reads} |")
    print(f"| found by every other process after | {seen:.2f} s |")


if __name__ == "__main__":
    main()
