"""A one-file bundle (.mcpb) that desktop clients install with a click.

Form: manifest version 0.4 of the MCP Bundles format with a `uv` server, so that the client brings Python and the
packages; the bundle holds Brainlake's own code.
"""

import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import brain
from brain.errors import UsageError
from brain.workspace import Workspace

_PACKAGES = ("brain", "pipelines")
# The earliest time a zip can tell: the same code makes the same bytes.
_TIME = (1980, 1, 1, 0, 0, 0)
_MAIN = """\
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
if not os.environ.get("BRAIN_HOME", "").strip():
    os.environ.pop("BRAIN_HOME", None)

from brain.cli import main

sys.exit(main(["mcp"]))
"""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was written."""

    path: str
    files: int
    bytes: int


def build_bundle(ws: Workspace, path: Path, tools: list[dict[str, str]]) -> Bundle:
    """Write the bundle to `path`; `tools` (name, description) are shown before it is installed.

    The lake's folder it proposes is this one. Raises UsageError when it cannot be written.
    """
    parts = {"manifest.json": _manifest(ws, tools), "pyproject.toml": _project(), "server/main.py": _MAIN}
    names = 0
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as bundle:
            for name, content in (*((n, t.encode()) for n, t in parts.items()), *_code()):
                info = zipfile.ZipInfo(name, _TIME)
                info.external_attr = 0o644 << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                bundle.writestr(info, content)
                names += 1
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
    return Bundle(str(path), names, path.stat().st_size)


def _manifest(ws: Workspace, tools: list[dict[str, str]]) -> str:
    about = metadata.metadata("brainlake")
    manifest: dict[str, Any] = {
        "manifest_version": "0.4",
        "name": "brainlake",
        "display_name": "Brainlake",
        "version": brain.__version__,
        "description": about["Summary"],
        "author": {"name": "Brainlake"},
        "license": "MIT",
        "server": {
            "type": "uv",
            "entry_point": "server/main.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server/main.py"],
                "env": {"BRAIN_HOME": "${user_config.home}"},
            },
        },
        "tools": tools,
        "tools_generated": True,
        "user_config": {
            "home": {
                "type": "directory",
                "title": "Folder of the lake",
                "description": "Where Brainlake keeps what it knows.",
                "required": False,
                "default": str(ws.home.root.absolute()),
            }
        },
        "compatibility": {
            "platforms": ["darwin", "win32", "linux"],
            "runtimes": {"python": about["Requires-Python"]},
        },
    }
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def _project() -> str:
    about = metadata.metadata("brainlake")
    needs = [need for need in about.get_all("Requires-Dist") or [] if not re.search(r";.*\bextra\b", need)]
    listed = "".join(f"    {json.dumps(need)},\n" for need in needs)
    return (
        f'[project]\nname = "brainlake-bundle"\nversion = "{brain.__version__}"\n'
        f'requires-python = "{about["Requires-Python"]}"\ndependencies = [\n{listed}]\n\n'
        "[tool.uv]\npackage = false\n"
    )


def _code() -> Iterator[tuple[str, bytes]]:
    top = Path(brain.__file__).parents[1]
    for package in _PACKAGES:
        for file in sorted((top / package).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                yield file.relative_to(top).as_posix(), file.read_bytes()
