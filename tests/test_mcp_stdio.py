"""`brain mcp` as clients run it: pure protocol on stdout, both protocol eras, and gone when the client is."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def parameters(home: Path) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=["-m", "brain", "--home", str(home), "mcp"])


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_of_either_era_lists_and_calls(sample_home: Path, mode: str) -> None:
    async with Client(parameters(sample_home), mode=mode) as client:
        assert client.server_info is not None
        assert client.server_info.name == "brainlake"
        assert "search_memory" in {tool.name for tool in (await client.list_tools()).tools}
        answer = await client.call_tool("search_memory", {"query": "KX7Q2M", "limit": 1})
        assert answer.structured_content is not None
        (row,) = answer.structured_content["results"]
        assert row["title"] == "Booking KX7Q2M: Osaka to Naha, seat 14A - Wing & Wave"


@pytest.mark.anyio
async def test_only_the_tool_sets_asked_for_are_there(sample_home: Path) -> None:
    asked = parameters(sample_home)
    asked.args += ["--tools", "analytics"]
    async with Client(asked) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == ["browsing_stats", "timeline", "query_lake", "describe_lake"]


def test_an_unknown_tool_set_is_said_on_stderr(sample_home: Path) -> None:
    command = [sys.executable, "-m", "brain", "--home", str(sample_home), "mcp", "--tools", "everything"]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "error: unknown tool set everything; known: browser, memory, analytics, all\n"


SCRIPT = """
import sys
from pathlib import Path
from brain import open_workspace
from brain.mcp_server import stdio

def build():
    sys.path.insert(0, sys.argv[2])
    import talkative
    from brain.mcp_server import server
    made = server.build(open_workspace(sys.argv[1]))

    @made.tool()
    def crash() -> str:
        print("printed in a tool")
        import os
        os.write(1, b"written past Python\\n")
        raise RuntimeError("secret /path/of/the/server")
    return made

stdio.serve(build, lambda: print("printed while warming up"))
"""


def say(process: "subprocess.Popen[bytes]", method: str, number: int | None = None, **params: Any) -> None:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    assert process.stdin
    process.stdin.write(json.dumps(message | ({} if number is None else {"id": number})).encode() + b"\n")
    process.stdin.flush()


def handshake(process: "subprocess.Popen[bytes]") -> None:
    who = {"name": "t", "version": "0"}
    say(process, "initialize", 1, protocolVersion="2025-11-25", capabilities={}, clientInfo=who)
    say(process, "notifications/initialized")


def test_every_byte_on_stdout_is_protocol_whatever_prints_or_crashes(
    sample_home: Path, tmp_path: Path
) -> None:
    (tmp_path / "talkative.py").write_text(
        textwrap.dedent("""
        import os, subprocess, sys
        print("hello from an import")
        os.write(1, b"and past Python's streams\\n")
        subprocess.run([sys.executable, "-c", "print('and from a child')"])
        """)
    )
    command = [sys.executable, "-c", SCRIPT, str(sample_home), str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    handshake(process)
    say(process, "tools/call", 2, name="crash", arguments={})
    say(process, "tools/call", 3, name="query_lake", arguments={"sql": "SELECT 1 AS one"})
    assert process.stdout
    lines = [process.stdout.readline() for _ in range(3)]
    time.sleep(1.5)  # let the warm-up print too
    rest, err = process.communicate(timeout=30)
    messages = [json.loads(line) for line in [*lines, *rest.splitlines()]]
    assert all(message["jsonrpc"] == "2.0" for message in messages)
    by_id = {message["id"]: message["result"] for message in messages if "id" in message}
    assert by_id[2]["isError"]
    assert "secret" not in json.dumps(by_id[2])
    assert by_id[3]["structuredContent"]["rows"] == [[1]]
    for said in (
        b"hello from an import",
        b"past Python's streams",
        b"from a child",
        b"printed in a tool",
        b"warming up",
    ):
        assert said in err
    assert process.returncode == 0


def test_the_server_ends_when_its_input_does(sample_home: Path) -> None:
    command = [sys.executable, "-m", "brain", "--home", str(sample_home), "mcp"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    handshake(process)
    assert process.stdout
    assert json.loads(process.stdout.readline())["id"] == 1
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.skipif(os.name != "posix", reason="processes are adopted by init only there")
def test_the_server_ends_when_its_parent_is_killed_though_its_input_stays_open(sample_home: Path) -> None:
    reading, writing = os.pipe()
    answers, answering = os.pipe()
    starter = (
        "import subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-m', 'brain', '--home', sys.argv[1], 'mcp'], stdin=int(sys.argv[2]),"
        " stdout=int(sys.argv[3]))\n"
        "print(p.pid, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", starter, str(sample_home), str(reading), str(answering)],
        stdout=subprocess.PIPE,
        pass_fds=[reading, answering],
    )
    try:
        assert parent.stdout
        server = int(parent.stdout.readline())
        who = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "0"},
        }
        message = {"jsonrpc": "2.0", "method": "initialize", "id": 1, "params": who}
        os.write(writing, json.dumps(message).encode() + b"\n")
        assert os.read(answers, 1)  # now it has seen its parent
        parent.send_signal(signal.SIGKILL)
        parent.wait(10)
        for _ in range(600):
            if not is_running(server):
                break
            time.sleep(0.1)
        assert not is_running(server)
    finally:
        for end in (reading, writing, answers, answering):
            os.close(end)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_nothing_heavy_is_loaded_before_the_handshake_is_answered(sample_home: Path) -> None:
    code = (
        "import sys; from brain import open_workspace; from brain.mcp_server.server import build;"
        "build(open_workspace(sys.argv[1])); print(*sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(sample_home)], capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in ran.stdout.split()}
    assert (
        loaded & {"duckdb", "polars", "pyarrow", "numpy", "lancedb", "onnxruntime", "prefect", "torch"}
        == set()
    )
