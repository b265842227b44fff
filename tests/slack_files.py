"""Small Slack exports for tests, written as Slack writes them."""

import json
import zipfile
from pathlib import Path
from typing import Any

USERS = [
    {"id": "U1", "name": "ida", "profile": {"display_name": "Ida", "real_name": "Ida Baker"}},
    {
        "id": "U2",
        "name": "omar",
        "real_name": "Omar Sailor",
        "profile": {"display_name": "", "real_name": ""},
    },
    {"id": "U3", "name": "gone", "deleted": True, "profile": {}},
    {"id": "U4", "name": "bot", "is_bot": True, "profile": {"real_name": "Build Bot"}},
]
CHANNELS = [
    {
        "id": "C1",
        "name": "bread",
        "created": 1_700_000_000,
        "is_archived": False,
        "members": ["U1", "U2"],
        "topic": {"value": "All about bread"},
        "purpose": {"value": ""},
    },
    {"id": "C2", "name": "sea", "members": ["U2"]},
]


def message(ts: str, text: str, user: str = "U1", **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": ts, **more}


def export(days: dict[str, Any], **lists: Any) -> dict[str, bytes]:
    """The files of an export by name. `days` maps names such as `bread/2026-03-01` to their messages."""
    named = {"channels": CHANNELS, "users": USERS, **lists}
    files = {f"{name}.json": content for name, content in named.items() if content is not None}
    files |= {f"{name}.json": content for name, content in days.items()}
    return {
        name: content if isinstance(content, bytes) else json.dumps(content).encode()
        for name, content in files.items()
    }


def as_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def as_folder(path: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path
