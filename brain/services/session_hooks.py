"""What a client's session hooks do: recall at the start, keep a thought of the session at its end.

A client hands a hook one JSON object on stdin. At the end of a session that names its transcript, a file of JSON lines
with `type` user or assistant and `message.content`, as Claude Code writes it. What is kept is extracted, never made
up: what the person asked first, and how the assistant ended.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brain.errors import UsageError
from brain.plaintext import clean, clean_lines
from brain.services.thoughts import ThoughtReceipt, capture_thought
from brain.services.wake_up import wake_up
from brain.workspace import Workspace

_BUDGET = 800
_ASKED, _ENDED = 400, 1_200
_LEAST = 2  # turns of the person: less is no session worth keeping
_LARGEST_LINE = 5_000_000


def session_start(ws: Workspace) -> str:
    """What the session should know; empty when nothing is known."""
    pack = wake_up(ws, _BUDGET)
    return f"From the person's Brainlake:\n{pack.text}" if pack.text else ""


def session_end(ws: Workspace, hook: str, client: str = "claude-code") -> ThoughtReceipt | None:
    """Keep a thought of the session; None when there was little of it. The same session is kept once.

    Raises UsageError when the hook's input or its transcript cannot be read.
    """
    given = _object(hook)
    transcript, session = given.get("transcript_path"), given.get("session_id")
    if not isinstance(transcript, str) or not isinstance(session, str):
        raise UsageError("the hook's input names no session_id and transcript_path")
    asked: list[str] = []
    ended = ""
    try:
        with Path(transcript).expanduser().open(encoding="utf-8", errors="replace") as file:
            for role, text in _turns(file):
                if role == "user":
                    asked.append(text)
                else:
                    ended = text
    except OSError as error:
        raise UsageError(f"{transcript} cannot be read: {error.strerror or error}") from error
    if len(asked) < _LEAST or not ended:
        return None
    where = clean(Path(str(given.get("cwd") or "")).name)
    head = f"Session in {where}" if where else "Session"
    content = f"{head}. Asked: {_short(asked[0], _ASKED)}\nEnded with: {_short(ended, _ENDED)}"
    return capture_thought(
        ws, content, source=client, channel="mcp", idempotency_key=f"session {session}", client=client
    )


def _turns(lines: Any) -> Iterator[tuple[str, str]]:
    """Who said what: turns of text, without tools and their results."""
    for line in lines:
        if len(line) > _LARGEST_LINE:
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue  # the last line may be cut off
        if (
            not isinstance(entry, dict)
            or entry.get("type") not in ("user", "assistant")
            or entry.get("isMeta")
        ):
            continue
        message = entry.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            parts = [p.get("text") for p in content if isinstance(p, dict) and p.get("type") == "text"]
            content = "\n".join(part for part in parts if isinstance(part, str))
        if isinstance(content, str) and content.strip() and not content.lstrip().startswith("<"):
            yield entry["type"], clean_lines(content).strip()


def _object(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError("the hook's input is no JSON") from error
    if not isinstance(given, dict):
        raise UsageError("the hook's input is no JSON object")
    return given


def _short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
