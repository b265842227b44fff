"""Telling an AI client of this machine about the lake: one entry in its own settings file, everything else as it was.

Files and forms are those the clients document: `mcpServers` in claude_desktop_config.json, ~/.claude.json and
~/.cursor/mcp.json; `servers` in VS Code's mcp.json; `mcp_servers` in ~/.codex/config.toml.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from brain import jsonc, private_files
from brain.errors import UsageError, first_line
from brain.workspace import Workspace

Client = Literal["claude-desktop", "claude-code", "cursor", "vscode", "codex"]
CLIENTS: tuple[str, ...] = get_args(Client)
_NAME = "brainlake"
_START, _END = "SessionStart", "SessionEnd"
_LARGEST = 50_000_000


@dataclass(frozen=True, slots=True)
class Registered:
    """What became of one settings file: `status` is added, updated or unchanged; `backup` the copy of the old one."""

    client: str
    path: str
    status: str
    backup: str | None


def register_client(
    ws: Workspace,
    client: str,
    *,
    hooks: bool = False,
    tools: str = "all",
    person: Path | None = None,
    platform: str | None = None,
    env: Mapping[str, str] | None = None,
) -> list[Registered]:
    """Add or renew this lake's entry; a file that says it already is left alone.

    The entry names this installation and this home by absolute paths. With `hooks` the client also gets what the lake
    remembers when a session begins, and keeps a thought of it when it ends. `person`, `platform` and `env` stand for
    the user's home folder, `sys.platform` and the environment. Raises UsageError for an unknown client, for hooks
    where the client has none, and for a file that cannot be edited safely; it is then untouched.
    """
    if client not in CLIENTS:
        raise UsageError(f"unknown client {client!r}; choose {', '.join(CLIENTS)}")
    if hooks and client != "claude-code":
        raise UsageError(f"{client} has no hooks for the start and end of a session; claude-code has")
    person, platform = person or Path.home(), platform or sys.platform
    command = launch(ws)
    arguments = [*command[1:], "mcp", *([] if tools == "all" else ["--tools", tools])]
    entry: dict[str, Any] = {"command": command[0], "args": arguments}
    path = _settings_file(client, person, platform, os.environ if env is None else env)
    if client == "codex":
        done = [_edit(client, path, lambda text: _with_table(text, entry))]
    else:
        if client == "vscode":
            entry = {"type": "stdio"} | entry
        group = "servers" if client == "vscode" else "mcpServers"
        done = [_edit(client, path, lambda text: _with_json(text, (group, _NAME), entry))]
    if hooks:
        done.append(
            _edit(client, person / ".claude" / "settings.json", lambda text: _with_hooks(text, command))
        )
    return done


def launch(ws: Workspace) -> list[str]:
    """The command that runs this installation on this home, by absolute paths."""
    beside = Path(sys.executable).with_name("brain.exe" if os.name == "nt" else "brain")
    program = [str(beside)] if beside.exists() else [sys.executable, "-m", "brain"]
    return [*program, "--home", str(ws.home.root.absolute())]


def _settings_file(client: str, person: Path, platform: str, env: Mapping[str, str]) -> Path:
    if client == "claude-code":
        return person / ".claude.json"
    if client == "cursor":
        return person / ".cursor" / "mcp.json"
    if client == "codex":
        return Path(env.get("CODEX_HOME") or person / ".codex") / "config.toml"
    if platform == "darwin":
        base = person / "Library" / "Application Support"
    elif platform == "win32":
        base = Path(env.get("APPDATA") or person / "AppData" / "Roaming")
    else:
        base = Path(env.get("XDG_CONFIG_HOME") or person / ".config")
    if client == "vscode":
        return base / "Code" / "User" / "mcp.json"
    return base / "Claude" / "claude_desktop_config.json"


def _edit(client: str, path: Path, change: Callable[[str], str]) -> Registered:
    target = Path(os.path.realpath(path))  # settings are often links into a folder of dotfiles
    by_hand = "; edit it yourself: `brain mcp install --help` shows the entry"
    try:
        old = _read(target)
        text = (old or b"").decode("utf-8-sig")
        new = change(text).encode()
        if old is not None and old.startswith(b"\xef\xbb\xbf"):
            new = b"\xef\xbb\xbf" + new
        if new == old:
            return Registered(client, str(path), "unchanged", None)
        backup = _back_up(target) if old is not None else None
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if old is not None else 0o600
        private_files.replace(target, new, mode)
    except OSError as error:
        raise UsageError(f"{path} cannot be edited: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path} cannot be edited safely: {first_line(error)}{by_hand}") from error
    status = "updated" if _NAME in text else "added"
    return Registered(client, str(path), status, str(backup) if backup else None)


def _read(path: Path) -> bytes | None:
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError("it is larger than settings are")
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _back_up(path: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    backup = path.with_name(f"{path.name}.before-{_NAME}-{stamp}")
    shutil.copy2(path, backup)
    return backup


def _with_json(text: str, path: tuple[str, ...], value: Any) -> str:
    old = jsonc.parse(text) if text.strip() else {}
    if not isinstance(old, dict):
        raise ValueError("it holds no JSON object")
    present: Any = old
    for name in path:
        present = present.get(name) if isinstance(present, dict) else None
    if present == value:
        return text
    if path[-1] == _NAME and isinstance(present, dict):
        value = present | value  # what the person added to our entry, such as env, stays
    made = jsonc.with_member(text, path, value)
    if jsonc.parse(made) != jsonc.merged(old, path, value):
        raise ValueError("its form is too unusual")
    return made


def _with_hooks(text: str, command: list[str]) -> str:
    old = jsonc.parse(text) if text.strip() else {}
    for event, word in ((_START, "session-start"), (_END, "session-end")):
        groups = old.get("hooks", {}).get(event, []) if isinstance(old.get("hooks", {}), dict) else []
        line = _shell([*command, "mcp", "hook", word])
        ours = {"hooks": [{"type": "command", "command": line, "timeout": 30}]}
        others = [group for group in groups if f"mcp hook {word}" not in str(group)]
        text = _with_json(text, ("hooks", event), [*others, ours])
    return text


def _shell(words: list[str]) -> str:
    """The command as a line of the shell that the client hands it to."""
    if os.name == "nt":
        import subprocess

        return subprocess.list2cmdline(words)
    import shlex

    return shlex.join(words)


def _with_table(text: str, entry: dict[str, Any]) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        servers = document.setdefault("mcp_servers", tomlkit.table(is_super_table=True))
        ours = servers.get(_NAME)
        if ours is not None and {name: ours.get(name) for name in entry} == entry:
            return text
        if ours is None:
            servers[_NAME] = ours = tomlkit.table()
        for name, value in entry.items():
            ours[name] = value
        return tomlkit.dumps(document)
    except (TOMLKitError, AttributeError, TypeError) as error:
        raise ValueError(str(error)) from error
