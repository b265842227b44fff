"""Where the lake lives and how it behaves, read once into a frozen :class:`Settings`.

Order for the home: an explicit path, else `$BRAIN_HOME`, else the platform's user data folder. Everything that
holds personal data lies under it (folders 0700, files 0600). `config.toml` there is optional:

    timezone = "Europe/Vienna"     # for "today", weeks and day buckets; default: the system's
    embedder = "minilm"            # or the name of a sentence-transformers model
    keep_raw = false               # keep copies of the original files, not only scrubbed Parquet
    deny = ["chase.com", "example.org/private"]
    allow = []                     # exceptions to deny
    keep_private = false           # take events from private windows
    slack_capture = ["C0123456789"]  # Slack channels, by id or name, whose messages become thoughts
"""

import json
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from brain.errors import UsageError


@dataclass(frozen=True, slots=True)
class Home:
    """The folders and files of one lake. Creating them is `ensure()`; paths alone touch nothing."""

    root: Path

    @property
    def lake(self) -> Path:
        return self.root / "lake.duckdb"

    @property
    def locks(self) -> Path:
        return self.root / "locks"

    @property
    def snapshots(self) -> Path:
        return self.root / "snapshots"

    @property
    def index(self) -> Path:
        return self.root / "index.lance"

    @property
    def raw(self) -> Path:
        return self.root / "raw"

    @property
    def inbox(self) -> Path:
        return self.root / "inbox"

    @property
    def plans(self) -> Path:
        """Folder of plans for tidying tabs, of the last two days."""
        return self.root / "plans"

    @property
    def prefect(self) -> Path:
        return self.root / "prefect"

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def config(self) -> Path:
        return self.root / "config.toml"

    @property
    def keys(self) -> Path:
        """Folder of secrets: the lake's hash key and, later, hashed access keys."""
        return self.root / "keys"

    def ensure(self) -> "Home":
        """Create the folders that are missing, private to the user.

        Raises UsageError when the home cannot be written.
        """
        try:
            for folder in (
                self.root,
                self.locks,
                self.snapshots,
                self.raw,
                self.inbox,
                self.cache,
                self.logs,
                self.keys,
            ):
                if not folder.is_dir():
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"the home {self.root} cannot be used: {error.strerror or error}") from error
        return self


@dataclass(frozen=True, slots=True)
class Settings:
    """One process's view of the configuration; nothing is read again after `load`."""

    home: Home
    timezone: str
    embedder: str = "minilm"
    keep_raw: bool = False
    keep_private: bool = False
    deny: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    slack_capture: tuple[str, ...] = ()
    fixed_now: datetime | None = None

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    def now(self) -> datetime:
        """The present instant in UTC, or the one `$BRAIN_NOW` fixes."""
        return self.fixed_now or datetime.now(UTC)


def default_home() -> Path:
    """`$BRAIN_HOME`, else the platform's user data folder."""
    if named := os.environ.get("BRAIN_HOME"):
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path("brainlake", appauthor=False)


def load(home: Path | str | None = None) -> Settings:
    """Read settings for the lake at `home` (see the module's order). Creates nothing.

    Raises UsageError for a broken config.toml, an unknown time zone or a `$BRAIN_NOW` that is no instant.
    """
    named = Path(home) if home else default_home()
    try:
        root = Home(named.expanduser().absolute())
    except RuntimeError as error:
        raise UsageError(f"there is no user {named.parts[0]} to put the home {named} at") from error
    if "?" in str(root.root):
        raise UsageError(
            f"DuckDB keeps no log in a folder with ? in its name; choose another home than {root.root}"
        )
    values = _read_config(root.config)
    zone = os.environ.get("BRAIN_TZ") or values.get("timezone") or _system_zone()
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(f"unknown time zone {zone!r}; use a name such as Europe/Vienna") from error
    return Settings(
        home=root,
        timezone=zone,
        embedder=values.get("embedder", "minilm"),
        keep_raw=values.get("keep_raw", False),
        keep_private=values.get("keep_private", False),
        deny=tuple(values.get("deny", ())),
        allow=tuple(values.get("allow", ())),
        slack_capture=tuple(values.get("slack_capture", ())),
        fixed_now=_fixed_now(),
    )


def change(home: Home, name: str, value: str) -> None:
    """Set one text setting in config.toml and leave every other line, comments too, as it is.

    Raises UsageError when the file is broken or written in a way that only a person should edit.
    """
    before = _read_config(home.config)
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    text = home.config.read_text("utf-8") if home.config.exists() else ""
    # All settings are top-level keys, so a new one goes first: after a table it would belong to that.
    changed, found = re.subn(
        rf"(?m)^[ \t]*{name}[ \t]*=[ \t]*(?:\"[^\"\n]*\"|'[^'\n]*')", lambda _: line, text, count=1
    )
    if not found:
        changed = f"{line}\n{text}"
    try:
        after = tomllib.loads(changed)
    except tomllib.TOMLDecodeError:
        after = {}
    if after != before | {name: value}:
        raise UsageError(f"{home.config} cannot be edited safely; write {line} into it yourself")
    draft = home.config.with_suffix(".draft")
    try:
        draft.write_text(changed, "utf-8")
        draft.chmod(0o600)
        draft.replace(home.config)
    except OSError as error:
        raise UsageError(f"{home.config} cannot be written: {error.strerror or error}") from error


_TYPES: dict[str, type] = {
    "timezone": str,
    "embedder": str,
    "keep_raw": bool,
    "keep_private": bool,
    "deny": list,
    "allow": list,
    "slack_capture": list,
}


def _read_config(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):  # a home under a file is told of when it is used
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error
    for name, value in values.items():
        if name not in _TYPES:
            raise UsageError(f"{path}: unknown setting {name!r}; known: {', '.join(_TYPES)}")
        if not isinstance(value, _TYPES[name]):
            raise UsageError(f"{path}: {name} must be a {_TYPES[name].__name__}")
    return values


def _fixed_now() -> datetime | None:
    text = os.environ.get("BRAIN_NOW")
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"BRAIN_NOW is not an instant: {text!r}; write it like 2026-11-30T12:00:00Z"
        ) from error


def _system_zone() -> str:
    """The system's IANA zone name: $TZ, the target of /etc/localtime or /etc/timezone; else UTC.

    What has no such name, such as TZ=CET-1CEST, is passed over: it was not written for us.
    """
    for name in _system_names():
        with suppress(KeyError, ValueError, OSError):
            return ZoneInfo(name.rpartition("/zoneinfo/")[2]).key
    return "UTC"


def _system_names() -> Iterator[str]:
    yield os.environ.get("TZ", "").lstrip(":")
    with suppress(OSError):
        yield Path("/etc/localtime").resolve().as_posix()
    with suppress(OSError, UnicodeDecodeError):
        yield Path("/etc/timezone").read_text("utf-8").strip()
