"""Session hooks: recall at the start, one thought of a session at its end, extracted and never made up."""

import io
import json
from pathlib import Path

import pytest

from brain.errors import UsageError
from brain.services.preferences import set_preference
from brain.services.session_hooks import session_end, session_start
from brain.services.thought_reads import list_thoughts
from brain.workspace import Workspace

TURNS = [
    {"type": "summary", "summary": "x"},
    {"type": "user", "message": {"role": "user", "content": "Fix the lease test, please"}},
    {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "name": "Bash"}, {"type": "text", "text": "Looking."}]},
    },
    {"type": "user", "message": {"content": [{"type": "tool_result", "content": "secret output"}]}},
    {"type": "user", "message": {"content": "<command-name>/clear</command-name>"}},
    {"type": "user", "message": {"content": [{"type": "text", "text": "And the docs?"}]}},
    {
        "type": "assistant",
        "message": {
            "content": [{"type": "text", "text": "Both are done: the turnstile was never released."}]
        },
    },
]


def hook(tmp_path: Path, turns: list[dict] = TURNS, **more: str) -> str:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(turn) + "\n" for turn in turns) + '{"type": "assis')
    return json.dumps(
        {"session_id": "s1", "transcript_path": str(path), "cwd": "/work/brain", "reason": "exit"} | more
    )


def test_a_session_is_kept_once_with_what_was_asked_and_how_it_ended(
    workspace: Workspace, tmp_path: Path
) -> None:
    made = session_end(workspace, hook(tmp_path))
    assert made is not None
    assert session_end(workspace, hook(tmp_path)) is not None
    (thought,) = list_thoughts(workspace).thoughts
    assert thought.content == (
        "Session in brain. Asked: Fix the lease test, please\n"
        "Ended with: Both are done: the turnstile was never released."
    )
    assert (thought.source, thought.client) == ("claude-code", "claude-code")


def test_a_session_of_one_turn_is_not_kept(workspace: Workspace, tmp_path: Path) -> None:
    assert session_end(workspace, hook(tmp_path, TURNS[:3])) is None
    assert list_thoughts(workspace).thoughts == []


@pytest.mark.parametrize(
    "given", ["", "[]", "{}", '{"session_id": "x", "transcript_path": "/none"}', "{" * 9999]
)
def test_a_hook_that_cannot_be_read_is_said_in_one_line(workspace: Workspace, given: str) -> None:
    with pytest.raises(UsageError) as error:
        session_end(workspace, given)
    assert "\n" not in str(error.value)


def test_a_session_begins_with_what_is_known(workspace: Workspace) -> None:
    assert session_start(workspace) == ""
    set_preference(workspace, "Tone", want="plain words")
    assert session_start(workspace).startswith("From the person's Brainlake:\n# Preferences\n")


def test_the_commands_do_the_same(
    brain, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("sys.stdin", io.StringIO(hook(tmp_path)))
    ran = brain("--home", workspace.home.root, "mcp", "hook", "session-end")
    assert (ran.code, ran.err) == (0, "")
    ran = brain("--home", workspace.home.root, "mcp", "hook", "session-start")
    assert "Themes of the last 7 days" in ran.out
    assert brain("--home", workspace.home.root, "mcp", "hook", "session-pause").code == 2
