"""What this person kept in other programs before: a vault of notes, thoughts, talks with assistants, merged visits.

The merged visits are the newest of the Chromium history over again, to the microsecond: importing them adds none.
"""

import gzip
import io
import json
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from brain.intervals import iso
from brain.sample.pages import World, data
from brain.sample.trail import How, Trail

VISITS = 40
_DAY_US = 86_400_000_000

Written = tuple[Path, str, str, dict[str, int]]


def write(folder: Path, world: World, trail: Trail, end_us: int) -> list[Written]:
    """Write the files and the vault; (path, kind, browser, rows by record) of each."""
    told = data("moved")
    exports = (
        ("browserexport/merged.jsonl.gz", "visits", "visits", _merged(world, trail)),
        ("open-brain/thoughts.json", "thoughts", "thoughts", [_thought(t, end_us) for t in told["thought"]]),
        (
            "chatgpt/conversations.json",
            "talks",
            "conversations",
            [_chatgpt(t, end_us) for t in told["chatgpt"]],
        ),
        ("claude/conversations.json", "talks", "conversations", [_claude(t, end_us) for t in told["claude"]]),
    )
    written: list[Written] = []
    for name, kind, record, rows in exports:
        path = folder / "moved" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_packed(rows) if name.endswith(".gz") else _as_json(rows))
        written.append((path, kind, "unknown", {record: len(rows)}))
    vault = folder / "moved" / "Notes"
    _write_bytes(vault / ".obsidian" / "app.json", b"{}\n")
    for note in told["note"]:
        _write_bytes(vault / note["path"], _note(note, end_us).encode())
    return [*written, (vault, "notes", "unknown", {"notes": len(told["note"])})]


def _write_bytes(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _as_json(rows: list[dict[str, Any]]) -> bytes:
    return json.dumps(rows, ensure_ascii=False, indent=1).encode()


def _packed(rows: list[dict[str, Any]]) -> bytes:
    """One object a line, gzipped without a name or time: the same rows make the same bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as file:
        file.writelines(f"{json.dumps(row)}\n".encode() for row in rows)
    return packed.getvalue()


def _merged(world: World, trail: Trail) -> list[dict[str, Any]]:
    seen = [
        row
        for row in np.flatnonzero(~np.isin(trail.how, (How.HOP, How.FRAME))).tolist()
        if world.urls[trail.page[row]].isascii() and "%" not in world.urls[trail.page[row]]
    ]
    return [
        {
            "url": world.urls[trail.page[row]],
            "dt": int(trail.at[row]) / 1e6,
            "metadata": {
                "title": world.titles[trail.page[row]],
                "description": None,
                "preview_image": None,
                "duration": int(trail.spent[row]) // 1_000_000,
            },
        }
        for row in seen[-VISITS:]
    ]


def _key(text: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"https://moved.example/{text}"))


def _thought(told: dict[str, Any], end_us: int) -> dict[str, Any]:
    at = iso(end_us - told["at"] * _DAY_US + 31_415_926)
    found = {name: told.get(name, []) for name in ("people", "topics", "action_items", "dates")}
    return {
        "id": _key(told["text"]),
        "content": told["text"],
        "embedding": None,
        "metadata": found | {"type": told["type"], "source": "mcp"},
        "created_at": at,
        "updated_at": at,
    }


def _chatgpt(told: dict[str, Any], end_us: int) -> dict[str, Any]:
    start = (end_us - told["at"] * _DAY_US) // 1_000_000
    key = _key(told["title"])
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    last = "root"
    for number, text in enumerate(told["turns"]):
        node = _key(f"{told['title']} {number}")
        message = {
            "id": node,
            "author": {"role": ("user", "assistant")[number % 2], "name": None, "metadata": {}},
            "create_time": start + 40.5 * number,
            "content": {"content_type": "text", "parts": [text]},
            "metadata": {},
            "recipient": "all",
        }
        mapping[last]["children"].append(node)
        mapping[node] = {"id": node, "message": message, "parent": last, "children": []}
        last = node
    return {
        "title": told["title"],
        "create_time": float(start),
        "update_time": start + 40.5 * len(told["turns"]),
        "mapping": mapping,
        "current_node": last,
        "conversation_id": key,
        "id": key,
    }


def _claude(told: dict[str, Any], end_us: int) -> dict[str, Any]:
    start = end_us - told["at"] * _DAY_US
    at = iso(start)
    messages = [
        {
            "uuid": _key(f"{told['title']} {number}"),
            "text": text,
            "content": [{"type": "text", "text": text}],
            "sender": ("human", "assistant")[number % 2],
            "created_at": iso(start + 40_500_000 * number),
            "attachments": [],
            "files": [],
        }
        for number, text in enumerate(told["turns"])
    ]
    return {
        "uuid": _key(told["title"]),
        "name": told["title"],
        "created_at": at,
        "updated_at": messages[-1]["created_at"],
        "chat_messages": messages,
    }


def _note(told: dict[str, Any], end_us: int) -> str:
    lines = [f"created: {iso(end_us - told['at'] * _DAY_US)}"]
    if told["tags"]:
        lines += ["tags:", *(f"  - {tag}" for tag in told["tags"])]
    if "source" in told:
        lines.append(f"source: {told['source']}")
    head = "\n".join(lines)
    return f"---\n{head}\n---\n\n{told['text'].strip()}\n"
