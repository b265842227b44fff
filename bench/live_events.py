"""Live events: how fast they are acknowledged and searchable, what an idle server costs, what kills lose.

    python bench/live_events.py [--quick]

A real `brain serve` and a paired browser. Then 8 processes drop 50 events each while drainers are killed with SIGKILL:
every event must be applied once, with its receipt.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from brain import open_workspace
from brain.services.find import search
from brain.services.pairing import make_code
from brain.workspace import Workspace

PORT = 37992
DROP = (
    "import sys; from brain import open_workspace; from brain.services.drain_inbox import inbox\n"
    "box = inbox(open_workspace(sys.argv[1]))\n"
    "for n in range(int(sys.argv[3])):\n"
    "    box.drop({'id': f'{sys.argv[2]}-{n}', 'kind': 'visit', 'source': 'extension',"
    " 'data': {'url': f'https://kill.example/{sys.argv[2]}/{n}'}})"
)


def post(path: str, body: Any, key: str | None = None) -> Any:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def visits(name: str, count: int) -> list[dict[str, Any]]:
    began = datetime.now(UTC) - timedelta(seconds=count)
    return [
        {
            "id": f"{name}-{n}",
            "kind": "visit",
            "at": (began + timedelta(seconds=n)).isoformat(),
            "data": {"url": f"https://{name}.example/{n}", "title": f"Page {n} on {name}"},
        }
        for n in range(count)
    ]


def memory_mb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) // 1024


def until(done: Any, timeout: float = 120) -> float:
    started = time.perf_counter()
    while not done():
        if time.perf_counter() - started > timeout:
            sys.exit("it took too long")
        time.sleep(0.05)
    return time.perf_counter() - started


def killed_drainers(home: Path, processes: int, count: int) -> tuple[int, int, int]:
    """Events applied, receipts, and drainers killed."""
    brain = [sys.executable, "-m", "brain", "--home", str(home)]
    droppers = [
        subprocess.Popen([sys.executable, "-c", DROP, str(home), str(n), str(count)])
        for n in range(processes)
    ]
    kills = 0
    rng = random.Random(1)
    while any(process.poll() is None for process in droppers):
        drainer = subprocess.Popen([*brain, "drain"], stdout=-3, stderr=-3)
        time.sleep(rng.uniform(0.3, 2.0))
        if drainer.poll() is None:
            drainer.send_signal(signal.SIGKILL)
            kills += 1
        drainer.wait()
    assert not any(process.returncode for process in droppers)
    subprocess.run([*brain, "drain"], check=True, stdout=-3)
    ws = open_workspace(home)
    applied = ws.lake.sql("SELECT count(*) FROM visits WHERE domain = 'kill.example'").item()
    receipts = ws.lake.sql("SELECT count(DISTINCT event_id) FROM store.events WHERE state = 'applied'").item()
    return applied, receipts, kills


def serve(home: Path, size: int) -> list[tuple[str, str]]:
    ws: Workspace = open_workspace(home)
    ws.home.ensure()
    command = [sys.executable, "-m", "brain", "--home", str(home), "serve", "--port", str(PORT)]
    server = subprocess.Popen(command, stdout=-3, stderr=-3)
    try:

        def answers() -> bool:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/api/status", timeout=5):
                    return True
            except OSError:
                return False

        until(answers)
        time.sleep(3)
        idle = memory_mb(server.pid)
        key = post("/api/pair", {"code": make_code(ws).text, "name": "bench", "browser": "chrome"})["key"]
        post("/api/events", {"events": visits("warm", 10)}, key)
        events = visits("bulk", size)
        started = time.perf_counter()
        for at in range(0, size, 1_000):
            post("/api/events", {"events": events[at : at + 1_000]}, key)
        acknowledged = time.perf_counter() - started
        until(lambda: not list((home / "inbox" / "new").glob("*.json")))
        applied = time.perf_counter() - started
        until(lambda: bool(search(ws, f"page {size - 1} on bulk", mode="keyword").results))
        searchable = time.perf_counter() - started
        singles = []
        for n in range(50):
            began = time.perf_counter()
            post("/api/events", {"events": visits(f"single{n}", 1)}, key)
            singles.append(time.perf_counter() - began)
        singles.sort()
        return [
            ("memory of an idle server", f"{idle} MB"),
            (f"{size:,} events, acknowledged", f"{size / acknowledged:,.0f}/s"),
            ("the same, in the lake", f"{size / applied:,.0f}/s"),
            ("the same, found by a search", f"{size / searchable:,.0f}/s"),
            ("one event, p50 / p95", f"{singles[25] * 1e3:.0f} / {singles[47] * 1e3:.0f} ms"),
        ]
    finally:
        server.terminate()
        server.wait(30)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="1,000 events; 2 processes of 10")
    quick = parser.parse_args().quick
    os.environ.setdefault("BRAIN_TZ", "UTC")
    with tempfile.TemporaryDirectory() as folder:
        rows = serve(Path(folder) / "home", 1_000 if quick else 10_000)
        processes, count = (2, 10) if quick else (8, 50)
        applied, receipts, kills = killed_drainers(Path(folder) / "killed", processes, count)
    wanted = processes * count
    rows.append(
        (f"{processes} x {count} events, {kills} drainers killed", f"{applied} applied, {receipts} receipts")
    )
    print("| what | value |\n|---|---|")
    for what, value in rows:
        print(f"| {what} | {value} |")
    if applied != wanted or receipts != wanted:
        sys.exit("an event was lost or doubled")


if __name__ == "__main__":
    main()
