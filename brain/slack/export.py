"""Slack's own export and slackdump's copy of it, as a zip or a folder: who, where, and day by day what was said.

    channels.json groups.json dms.json mpims.json users.json | org_users.json
    <channel>/2026-03-01.json ...

A member is read by itself and never unpacked to disk; no more than one day of one channel is in memory. All but one of
the lists may be missing. Layouts: Slack's help pages on exports; slackdump's documentation.
"""

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from brain.archive_members import DAMAGE, LIMITS, Member, TooMuch, is_zip, members
from brain.models import Rejected

_DAY = re.compile(r"(?:(?P<folder>[^/]+)/)(?P<day>\d{4}-\d{2}-\d{2})\.json")
# The lists of channels, and of what kind the channels in each are.
CHANNEL_LISTS = {
    "channels.json": "public",
    "groups.json": "private",
    "dms.json": "dm",
    "mpims.json": "group_dm",
}
USER_LISTS = ("users.json", "org_users.json")
_LARGEST = 200_000_000  # bytes of one list or day
_MOST_FILES = 1_000_000


@dataclass(slots=True)
class Channel:
    """A channel as a list tells it, with the folder that holds its days."""

    id: str
    name: str
    kind: str
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Listing:
    """What an export says besides its messages."""

    users: dict[str, dict[str, Any]] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)  # by id
    folders: dict[str, str] = field(default_factory=dict)  # folder -> channel id
    rejects: list[Rejected] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Day:
    """The messages of one file, of the channel with this id; `where` names the file."""

    channel: Channel
    where: str
    messages: list[Any]


def is_export(names: list[str]) -> bool:
    """Whether files of these names are an export: a list of channels or users, and days in folders beside it."""
    root = root_of(names)
    return root is not None and any(_DAY.fullmatch(name.removeprefix(root)) for name in names)


def root_of(names: list[str]) -> str | None:
    """The folder that the lists lie in, '' or ending in a slash; None where there are none."""
    lists = [name for name in names if name.rpartition("/")[2] in (*CHANNEL_LISTS, *USER_LISTS)]
    if not lists:
        return None
    top = min(lists, key=lambda name: (name.count("/"), name))
    return top[: len(top) - len(top.rpartition("/")[2])]


def names_in(path: Path) -> list[str]:
    """The names of the files of a zip or folder, without reading them; [] for anything else."""
    if path.is_dir():
        return [name for name, _ in _files(path)]
    with path.open("rb") as file:
        if not is_zip(file.read(4)):
            return []
        file.seek(0)
        found: list[str] = []
        with suppress(
            *DAMAGE, TooMuch
        ):  # one that breaks off has the names before; reading it tells what is wrong
            for member in members(file, LIMITS):
                found.append(member.name)  # noqa: PERF401 - what came before the fault counts
        return found


def listing(path: Path) -> Listing:
    """Users and channels. A list that cannot be read is among the rejects, and the days are read all the same."""
    found = Listing()
    names = names_in(path)
    root = root_of(names) or ""
    wanted = {f"{root}{name}" for name in (*CHANNEL_LISTS, *USER_LISTS)}
    budget = _Budget(path)
    for member in _members(path, found.rejects.append):
        if member.name not in wanted:
            continue
        name = member.name.removeprefix(root)
        items = _json_list(member, budget, found.rejects.append)
        for number, item in enumerate(items or []):
            if not isinstance(item, dict) or not isinstance(item.get("id"), str):
                found.rejects.append(Rejected(f"{member.name}[{number}]", "no object with an id"))
            elif name in USER_LISTS:
                found.users[item["id"]] = item
            else:
                _add_channel(found, item, CHANNEL_LISTS[name])
    for name in names:
        if day := _DAY.fullmatch(name.removeprefix(root)):
            _add_folder(found, day["folder"])
    return found


def folders_in(path: Path) -> list[str]:
    """The folders that hold days, in order: one for every channel in which something was said."""
    names = names_in(path)
    root = root_of(names) or ""
    found = (_DAY.fullmatch(name.removeprefix(root)) for name in names)
    return list(dict.fromkeys(day["folder"] for day in found if day))


def digest(path: Path, folder: str) -> str:
    """Changes when a list or a day of this folder does. Raises OSError or one of DAMAGE for a zip."""
    root = root_of(names_in(path)) or ""
    wanted = {f"{root}{name}" for name in (*CHANNEL_LISTS, *USER_LISTS)}
    whole = hashlib.sha256()

    def is_told(name: str) -> bool:
        return name in wanted or name.startswith(f"{root}{folder}/")

    if path.is_dir():
        for name, file in _files(path):
            if is_told(name):
                whole.update(
                    name.encode("utf-8", "surrogatepass") + hashlib.sha256(file.read_bytes()).digest()
                )
        return whole.hexdigest()
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if is_told(info.filename):
                whole.update(
                    f"{info.filename}:{info.CRC}:{info.file_size}\n".encode("utf-8", "surrogatepass")
                )
    return whole.hexdigest()


def days(
    path: Path, known: Listing, reject: Callable[[Rejected], None], only: str | None = None
) -> Iterator[Day]:
    """The days of every channel, or of one folder `only`.

    A file that cannot be read, or is named twice, is told to `reject`.
    """
    root = root_of(names_in(path)) or ""
    seen: set[str] = set()
    budget = _Budget(path)
    for member in _members(path, reject):
        day = _DAY.fullmatch(member.name.removeprefix(root))
        if day is None or only not in (None, day["folder"]):
            continue
        if member.name in seen:
            reject(Rejected(member.name, "the export holds this file twice; the first is taken"))
            continue
        seen.add(member.name)
        messages = _json_list(member, budget, reject)
        if messages is not None:
            channel = known.channels[known.folders.get(day["folder"]) or _add_folder(known, day["folder"])]
            yield Day(channel, member.name, messages)


def _add_channel(found: Listing, item: dict[str, Any], kind: str) -> None:
    name = item.get("name")
    name = name if isinstance(name, str) and name else item["id"]
    found.channels[item["id"]] = Channel(item["id"], name, kind, item)
    # Slack names folders by the channel, its direct messages and some tools by the id.
    found.folders.setdefault(name, item["id"])
    found.folders[item["id"]] = item["id"]


def _add_folder(found: Listing, folder: str) -> str:
    """The id of the channel of a folder; one that no list names is known by the folder alone."""
    if folder not in found.folders:
        kind = (
            "dm"
            if re.fullmatch(r"D[A-Z0-9]{6,}", folder)
            else "group_dm"
            if folder.startswith("mpdm-")
            else "public"
        )
        found.channels[folder] = Channel(folder, folder, kind)
        found.folders[folder] = folder
    return found.folders[folder]


class _Budget:
    """How much may be unpacked of a zip: so many times its own size, since what says more is made to harm."""

    def __init__(self, path: Path) -> None:
        self._left = max(LIMITS.free_bytes, LIMITS.ratio * path.stat().st_size) if path.is_file() else None

    def most(self) -> int:
        return _LARGEST if self._left is None else min(_LARGEST, max(0, self._left))

    def spend(self, size: int) -> None:
        if self._left is not None:
            self._left -= size
            if self._left < 0:
                raise ValueError("the archive holds far more than it should for its size")


def _json_list(member: Member, budget: _Budget, reject: Callable[[Rejected], None]) -> list[Any] | None:
    """The list that a file holds, None where it is none."""
    try:
        with member.open() as file:
            content = file.read(budget.most() + 1)
        budget.spend(len(content))
        if len(content) > _LARGEST:
            raise ValueError(f"larger than {_LARGEST // 1_000_000} MB")
        items = json.loads(content)
        if not isinstance(items, list):
            raise ValueError("not a list")
    except (*DAMAGE, OSError) as error:
        reject(Rejected(member.name, f"it cannot be read: {str(error)[:200] or type(error).__name__}"))
        return None
    return items


def _members(path: Path, reject: Callable[[Rejected], None]) -> Iterator[Member]:
    """The files of a zip or folder. What ends a zip early is told to `reject`."""
    if path.is_dir():
        for name, file in _files(path):
            yield Member(name, None, partial(io.FileIO, file))
        return
    with path.open("rb") as opened:
        try:
            for member in members(opened, LIMITS):
                if member.fault:
                    reject(Rejected(member.name, member.fault))
                else:
                    yield member
        except (*DAMAGE, TooMuch) as error:
            reject(Rejected(path.name, f"the archive is cut off or damaged: {str(error)[:200]}"))


def _files(path: Path) -> list[tuple[str, Path]]:
    """The JSON files of a folder by their names within it, in order; links are not followed."""
    found = []
    for folder, folders, names in os.walk(path):
        depth = len(Path(folder).relative_to(path).parts)
        folders[:] = sorted(folders) if depth < 3 else []
        for name in sorted(names):
            file = Path(folder) / name
            if name.endswith(".json") and not file.is_symlink():
                found.append((file.relative_to(path).as_posix(), file))
                if len(found) >= _MOST_FILES:
                    return found
    return found
