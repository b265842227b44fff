"""Docs that list things list all of them."""

import re
from pathlib import Path

import anyio

from brain import importers
from brain.mcp_server.server import TOOLSETS, build
from brain.workspace import Workspace

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def test_every_importer_is_in_the_table_of_sources_with_what_it_was_tested_on() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \|(.+)\|(.+)\|(.+)\|$", (DOCS / "sources.md").read_text("utf-8"), re.MULTILINE
    )
    assert [name for name, *_ in rows] == sorted(
        (importer.NAME for importer in importers.IMPORTERS), key=[row[0] for row in rows].index
    )
    assert len(rows) == len(importers.IMPORTERS)
    for name, product, read, tested in rows:
        assert product.strip(), name
        assert read.strip(), name
        assert re.match(r"real|built", tested.strip()), name


def test_every_importer_has_a_test_of_its_own() -> None:
    tests = "\n".join(
        path.read_text("utf-8") for path in (ROOT / "tests").glob("test_*.py") if path != Path(__file__)
    )
    for importer in importers.IMPORTERS:
        module = importer.__name__.rsplit(".", 1)[-1]  # type: ignore[attr-defined]
        assert re.search(rf"\b{module}\b", tests), module


def test_every_tool_is_in_the_table_of_its_set(workspace: Workspace) -> None:
    text = (DOCS / "clients.md").read_text("utf-8")
    for name in TOOLSETS:
        (listed,) = re.findall(rf"^\| {name} \| (.+) \|$", text, re.MULTILINE)
        tools = anyio.run(build(workspace, [name]).list_tools)
        assert set(listed.split(", ")) == {tool.name for tool in tools}
