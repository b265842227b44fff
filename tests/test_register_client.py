"""`brain mcp install`: one entry more in the client's own file, and nothing else of it touched."""

import json
import tomllib
from pathlib import Path

import pytest

from brain import jsonc
from brain.errors import UsageError
from brain.services.register_client import CLIENTS, register_client
from brain.workspace import Workspace

FILES = {
    ("claude-desktop", "linux"): ".config/Claude/claude_desktop_config.json",
    ("claude-desktop", "darwin"): "Library/Application Support/Claude/claude_desktop_config.json",
    ("claude-desktop", "win32"): "AppData/Roaming/Claude/claude_desktop_config.json",
    ("claude-code", "linux"): ".claude.json",
    ("cursor", "darwin"): ".cursor/mcp.json",
    ("vscode", "linux"): ".config/Code/User/mcp.json",
    ("vscode", "darwin"): "Library/Application Support/Code/User/mcp.json",
    ("codex", "linux"): ".codex/config.toml",
}


def read(path: Path) -> dict:
    text = path.read_text("utf-8-sig")
    return tomllib.loads(text) if path.suffix == ".toml" else jsonc.parse(text)


def entry(client: str, path: Path) -> dict:
    group = {"vscode": "servers", "codex": "mcp_servers"}.get(client, "mcpServers")
    return read(path)[group]["brainlake"]


@pytest.mark.parametrize(("client", "platform"), FILES)
def test_a_missing_file_is_made_with_absolute_paths(
    workspace: Workspace, tmp_path: Path, client: str, platform: str
) -> None:
    (done,) = register_client(workspace, client, person=tmp_path, platform=platform, env={})
    path = tmp_path / FILES[client, platform]
    assert (done.status, done.backup, Path(done.path)) == ("added", None, path)
    made = entry(client, path)
    assert Path(made["command"]).is_absolute()
    assert Path(made["command"]).exists()
    assert made["args"][-3:] == ["--home", str(workspace.home.root), "mcp"]


OTHERS = {
    "json": '{"mcpServers": {"other": {"command": "x"}}, "theme": "dark"}',
    "comments": '// mine\n{\n  /* all */ "mcpServers": {\n    "other": {"command": "x"}, // last\n  },\n}\n',
    "crlf": '{\r\n    "mcpServers": {\r\n        "other": {"command": "x"}\r\n    }\r\n}\r\n',
    "bom": '\ufeff{"mcpServers": {"other": {"command": "x"}}}',
    "no servers": '{"theme": "dark"}\n',
    "empty": "",
    "tabs": '{\n\t"mcpServers": {\n\t\t"other": {\n\t\t\t"command": "x"\n\t\t}\n\t}\n}',
}


@pytest.mark.parametrize("form", OTHERS)
def test_other_servers_comments_and_line_ends_stay_and_twice_changes_nothing(
    workspace: Workspace, tmp_path: Path, form: str
) -> None:
    path = tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_bytes(OTHERS[form].encode())
    before = read(path) if OTHERS[form] else {}
    (done,) = register_client(workspace, "cursor", person=tmp_path, env={})
    once = path.read_bytes()
    after = read(path)
    assert after["mcpServers"].pop("brainlake")["command"]
    assert after == {"mcpServers": {}} | before
    assert done.backup
    assert Path(done.backup).read_bytes() == OTHERS[form].encode()
    assert once.startswith(b"\xef\xbb\xbf") == (form == "bom")
    assert (b"\r\n" in once) == (form == "crlf")
    assert once.count(b"\n") == once.count(b"\r\n") or form != "crlf"
    for remark in (b"// mine", b"/* all */", b"// last"):
        assert (remark in once) == (form == "comments")
    (again,) = register_client(workspace, "cursor", person=tmp_path, env={})
    assert (again.status, again.backup) == ("unchanged", None)
    assert path.read_bytes() == once
    assert len(list(path.parent.iterdir())) == 2


def test_codex_comments_and_tables_stay(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    text = '# mine\nmodel = "x" # chosen\n\n[mcp_servers.other]\ncommand = "y"\n\n[profiles.a]\nb = 1\n'
    path.write_text(text)
    register_client(workspace, "codex", person=tmp_path, env={})
    once = path.read_text()
    assert "# mine" in once
    assert "# chosen" in once
    made = tomllib.loads(once)
    assert made["mcp_servers"].pop("brainlake")["args"][-1] == "mcp"
    assert made == tomllib.loads(text)
    assert register_client(workspace, "codex", person=tmp_path, env={})[0].status == "unchanged"
    assert path.read_text() == once


def test_what_the_person_added_to_our_entry_stays_when_it_is_renewed(
    workspace: Workspace, tmp_path: Path
) -> None:
    path = tmp_path / ".claude.json"
    path.write_text(
        json.dumps({"mcpServers": {"brainlake": {"command": "/old", "args": [], "env": {"BRAIN_TZ": "UTC"}}}})
    )
    (done,) = register_client(workspace, "claude-code", person=tmp_path, env={})
    assert done.status == "updated"
    assert entry("claude-code", path)["env"] == {"BRAIN_TZ": "UTC"}
    assert entry("claude-code", path)["command"] != "/old"


@pytest.mark.parametrize(
    "text", ["{", "[]", "not json", '{"mcpServers": 5}', "\xff\xfe", '{"mcpServers": []}']
)
def test_a_file_that_cannot_be_edited_safely_is_left_alone(
    workspace: Workspace, tmp_path: Path, text: str
) -> None:
    path = tmp_path / ".claude.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=r"\.claude\.json cannot be edited"):
        register_client(workspace, "claude-code", person=tmp_path, env={})
    assert path.read_bytes() == text.encode("latin-1")
    assert list(tmp_path.glob(".claude*")) == [path]


def test_a_link_stays_a_link_and_the_mode_stays(workspace: Workspace, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}")
    real.chmod(0o640)
    (tmp_path / ".claude.json").symlink_to(real)
    register_client(workspace, "claude-code", person=tmp_path, env={})
    assert (tmp_path / ".claude.json").is_symlink()
    assert "brainlake" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640


def test_hooks_join_those_that_are_there_once(workspace: Workspace, tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    theirs = {"hooks": [{"type": "command", "command": "date"}]}
    settings.write_text(json.dumps({"hooks": {"SessionStart": [theirs], "Stop": [theirs]}}))
    done = register_client(workspace, "claude-code", hooks=True, person=tmp_path, env={})
    assert [d.status for d in done] == ["added", "added"]
    made = read(settings)["hooks"]
    assert made["Stop"] == [theirs]
    assert made["SessionStart"][0] == theirs
    (start,) = made["SessionStart"][1]["hooks"]
    assert start["command"].endswith("mcp hook session-start")
    assert made["SessionEnd"][0]["hooks"][0]["command"].endswith("mcp hook session-end")
    again = register_client(workspace, "claude-code", hooks=True, person=tmp_path, env={})
    assert [d.status for d in again] == ["unchanged", "unchanged"]
    assert read(settings)["hooks"] == made


@pytest.mark.parametrize("client", [c for c in CLIENTS if c != "claude-code"])
def test_hooks_are_refused_where_a_client_has_none(workspace: Workspace, tmp_path: Path, client: str) -> None:
    with pytest.raises(UsageError, match="has no hooks"):
        register_client(workspace, client, hooks=True, person=tmp_path, env={})
    assert [path for path in tmp_path.rglob("*") if "claude" in path.name or path.name == "mcp.json"] == []


def test_an_unknown_client_is_named_with_the_known_ones(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="unknown client 'netscape'; choose claude-desktop, "):
        register_client(workspace, "netscape")
