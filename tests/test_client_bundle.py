"""`brain mcp bundle`: one file that a desktop client installs, and that really serves the lake."""

import json
import os
import sys
import tomllib
import zipfile
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from mcp import Client, StdioServerParameters

from brain import __version__


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_the_unpacked_bundle_serves_the_lake_it_is_told(brain, sample_lake, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "brainlake.mcpb"
    assert (await anyio.to_thread.run_sync(brain, "mcp", "bundle", "-o", file)).code == 0
    with zipfile.ZipFile(file) as bundle:
        bundle.extractall(tmp_path / "installed")
    manifest = json.loads((tmp_path / "installed" / "manifest.json").read_text("utf-8"))
    assert manifest["manifest_version"] == "0.4"
    assert manifest["version"] == __version__
    assert manifest["user_config"]["home"]["default"] == str(sample_lake.home.root)
    project = tomllib.loads((tmp_path / "installed" / "pyproject.toml").read_text("utf-8"))
    assert any(need.startswith("duckdb") for need in project["project"]["dependencies"])
    assert not any("extra" in need for need in project["project"]["dependencies"])
    main = tmp_path / "installed" / manifest["server"]["entry_point"]
    env = {**os.environ, "BRAIN_HOME": str(sample_lake.home.root), "PYTHONSAFEPATH": "1"}
    async with Client(
        StdioServerParameters(command=sys.executable, args=[str(main)], env=env, cwd=tmp_path)
    ) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [tool["name"] for tool in manifest["tools"]]
        answer = await client.call_tool("query_lake", {"sql": "SELECT count(*) > 0 AS some FROM visits"})
        assert answer.structured_content["rows"] == [[True]]  # type: ignore[index]


def test_the_same_code_makes_the_same_bundle(brain, sample_lake, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    for name in ("a", "b"):
        assert brain("mcp", "bundle", "-o", tmp_path / name).code == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_place_that_cannot_be_written_is_said(brain, sample_lake, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    ran = brain("mcp", "bundle", "-o", tmp_path / "no" / "x.mcpb")
    assert ran.code == 2
    assert ran.err.startswith(f"error: {tmp_path / 'no' / 'x.mcpb'} cannot be written")
