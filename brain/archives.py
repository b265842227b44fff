"""Sources out of zip and .tar.gz archives as private files, never put where their names say.

An archive is a stranger's: nothing it says about names, sizes or counts is believed. What is a source is copied out
into numbered folders, within limits that are counted on the bytes as they come; everything else is skipped. An
archive within an archive is not looked into.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from brain import sniffing
from brain.archive_members import DAMAGE, LIMITS, Limits, Member, TooMuch, is_tar_gz, is_zip, members
from brain.errors import SourceError, first_line
from brain.models import Rejected
from brain.plaintext import clean

_PIECE = 1 << 20
_HEAD = 4096
# Of a text larger than this the beginning is looked at before the rest is written.
_PROBED = 64 << 20


@dataclass(frozen=True, slots=True)
class Extracted:
    """A member that is a source: its name in the archive, and the private file, with its logs beside it."""

    name: str
    path: Path


@dataclass(slots=True)
class Unpacked:
    """What an archive held: the sources in its order, and what could not be had, with the reason.

    `fault` says why the archive was not read to its end; `nested` counts archives within it, `skipped` what else
    is no source.
    """

    files: list[Extracted] = field(default_factory=list)
    rejects: list[Rejected] = field(default_factory=list)
    nested: int = 0
    skipped: int = 0
    fault: str | None = None


def is_archive(path: Path) -> bool:
    """Whether the file is a zip or .tar.gz by its content; False for what is no regular file or cannot be read."""
    head = sniffing.head_of(path) or b""
    return is_zip(head) or is_tar_gz(head)


def unpack(path: Path, into: Path, limits: Limits = LIMITS) -> Unpacked:
    """Copy every source in the archive to a folder of its own (0700, files 0600) under `into`.

    Members that are damaged, encrypted, links or of a name that leads elsewhere or comes twice are rejects, if they
    are named as a source could be. Raises SourceError in one line when the archive cannot be read or its content
    not be written.
    """
    try:
        with path.open("rb") as file:
            taker = _Taker(into, limits, path.stat().st_size)
            taker.take(members(file, limits))
    except OSError as error:
        raise SourceError(f"{path.name} cannot be unpacked: {error.strerror or error}") from error
    return taker.finish()


class _MemberTooLarge(Exception):
    """A limit on one member was hit; the others are still read."""


class _Taker:
    """One pass over the members of an archive of `size` bytes."""

    def __init__(self, into: Path, limits: Limits, size: int) -> None:
        self._out = Unpacked()
        self._into = into
        self._limits = limits
        self._size = size
        self._written = 0
        self._number = 0
        self._names: set[str] = set()
        self._logs: dict[str, Path] = {}

    def take(self, found: Iterator[Member]) -> None:
        """Take all that is wanted, up to the end, a limit or damage."""
        last = ""
        try:
            for count, member in enumerate(found):
                if count >= self._limits.members:
                    raise TooMuch(f"it holds more than {self._limits.members:,} members")
                last = member.name
                if sniffing.plausible_name(member.name):
                    self._member(member)
                else:
                    self._out.skipped += 1
        except TooMuch as error:
            self._out.fault = str(error)
        except DAMAGE as error:
            at = f" at {clean(last)[:200]}" if last else ""
            self._out.fault = f"it is damaged or cut off{at}: {_said(error)}"

    def finish(self) -> Unpacked:
        """Put the logs beside their databases."""
        for item in self._out.files:
            for ending in sniffing.LOGS:
                if log := self._logs.pop(item.name + ending, None):
                    log.replace(item.path.with_name(item.path.name + ending))
        for log in self._logs.values():
            shutil.rmtree(log.parent)
        return self._out

    def _member(self, member: Member) -> None:
        name = _plain(member.name)
        fault = member.fault or _bad_name(member.name, self._limits.depth)
        if not fault and name in self._names:
            fault = "a second member of that name"
        self._names.add(name)
        if fault:
            self._out.rejects.append(Rejected(clean(member.name), fault))
            return
        try:
            with member.open() as stream:
                self._copy(name, member.packed, stream)
        except _MemberTooLarge as error:
            self._out.rejects.append(Rejected(clean(name), str(error)))
        except DAMAGE as error:
            self._out.rejects.append(Rejected(clean(name), f"damaged or cut off: {_said(error)}"))
            if member.packed is None:  # whatever follows cannot be found
                raise

    def _copy(self, name: str, packed: int | None, stream: IO[bytes]) -> None:
        """Copy one member out if it is a source; what was written of others is deleted."""
        head = _filled(stream, _HEAD)
        is_log = sniffing.is_log(name, head)
        if is_zip(head) or is_tar_gz(head):
            self._out.nested += 1
            return
        if not is_log and not sniffing.plausible_head(name, head):
            self._out.skipped += 1
            return
        self._number += 1
        folder = self._into / f"{self._number:06d}"
        folder.mkdir(mode=0o700, parents=True)
        target = folder / _file_name(name)
        keep = False
        try:
            keep = self._write(target, head, packed, stream) and (is_log or sniffing.is_source(target))
        finally:
            if not keep:
                shutil.rmtree(folder)
        if not keep:
            self._out.skipped += 1
        elif is_log:
            self._logs[name] = target
        else:
            self._out.files.append(Extracted(name, target))

    def _write(self, target: Path, head: bytes, packed: int | None, stream: IO[bytes]) -> bool:
        """Write all of a member; False when its beginning shows that it is no source."""
        probed = not sniffing.is_text(head)
        written = 0
        piece = head
        with target.open("xb") as file:
            target.chmod(0o600)
            while piece:
                written += len(piece)
                self._count(len(piece), written, packed)
                file.write(piece)
                if written >= _PROBED and not probed:
                    file.flush()
                    if not sniffing.is_source(target):
                        return False
                    probed = True
                piece = stream.read(_PIECE)
        return True

    def _count(self, new: int, written: int, packed: int | None) -> None:
        limits = self._limits
        self._written += new
        if written > limits.member_bytes:
            raise _MemberTooLarge(f"larger than {limits.member_bytes:,} bytes")
        if packed is not None and written > limits.free_bytes and written > limits.ratio * packed:
            raise _MemberTooLarge(f"it unpacks to more than {limits.ratio} times its size")
        if self._written > limits.total_bytes:
            raise TooMuch(f"it unpacks to more than {limits.total_bytes:,} bytes")
        if self._written > limits.free_bytes and self._written > limits.ratio * self._size:
            raise TooMuch(f"it unpacks to more than {limits.ratio} times its size")


def _filled(stream: IO[bytes], size: int) -> bytes:
    """The next bytes, fewer than `size` only at the end."""
    data = stream.read(size)
    while len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data


def _plain(name: str) -> str:
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def _bad_name(name: str, depth: int) -> str | None:
    """Why a member of this name is not taken, or None."""
    parts = name.split("/")
    if name.startswith("/") or re.match("[A-Za-z]:", name):
        return "its name is an absolute path"
    if ".." in parts:
        return "its name leads out of the archive"
    if len(parts) > depth or len(name) > 4096:
        return "its name is too long"
    return None


def _file_name(name: str) -> str:
    """A harmless name for the private file, which importers quote in what they say."""
    base = re.sub(r"[^\w. -]", "_", name.rpartition("/")[2])[-60:].strip(" .")
    return base or "member"


def _said(error: BaseException) -> str:
    return "".join(c if c.isprintable() else "?" for c in first_line(error))[:200]
