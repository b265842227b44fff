"""The members of a zip or .tar.gz, one after the other, as a stranger's archive states them.

Zips are read by their directory. Of one without it, as a broken download leaves it, the members are found by the
headers before them. Names without the UTF-8 flag are what most programs write all the same: bytes that are UTF-8
are taken for it, others for code page 437, as the format has it. Layouts: PKWARE APPNOTE 6.3, POSIX.1-2001 pax.
"""

import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

from brain.errors import SourceError

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP = b"\x1f\x8b"
_UTF8_NAME, _ENCRYPTED, _SIZES_FOLLOW = 0x800, 0x1, 0x8
_STORED, _DEFLATED = 0, 8
_UNKNOWN = 0xFFFFFFFF
# The longest a header of a tar may be that only describes the next one: names and times.
_MOST_HEADER = 1 << 20
_DESCRIPTIONS = (
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
)
_PIECE = 1 << 16


# What reading a damaged archive or member may raise, besides OSError.
DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    struct.error,
    EOFError,
    ValueError,
    OverflowError,
    RuntimeError,  # NotImplementedError and RecursionError among them
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an archive may hold and make us read and write, counted as it comes.

    Up to `free_bytes` any ratio of compression is fine: databases hold pages of zeros. `depth` is in folders.
    """

    members: int = 200_000
    directory_bytes: int = 32 << 20
    member_bytes: int = 8 << 30
    total_bytes: int = 32 << 30
    free_bytes: int = 64 << 20
    ratio: int = 200
    depth: int = 64


LIMITS = Limits()


class TooMuch(SourceError):
    """A limit was hit; nothing more of this archive is read."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive, to be opened before the next is asked for, or the `fault` why it is not taken.

    `packed` is how many bytes of the archive it takes, None where that shows only while it is read.
    """

    name: str
    packed: int | None
    open: Callable[[], IO[bytes]]
    fault: str | None = None


def is_zip(head: bytes) -> bool:
    """Whether a file that begins so is a zip."""
    return head.startswith(ZIP)


def is_tar_gz(head: bytes) -> bool:
    """Whether a file that begins so is a compressed tar."""
    if not head.startswith(_GZIP):
        return False
    try:
        first = zlib.decompressobj(wbits=31).decompress(head, tarfile.BLOCKSIZE)
        tarfile.TarInfo.frombuf(first, "utf-8", "replace")
    except (zlib.error, tarfile.TarError, ValueError):
        return False
    return True


def members(file: IO[bytes], limits: Limits) -> Iterator[Member]:
    """All files of the archive in the order it has them; folders are left out.

    Raises TooMuch at a limit and, after what could be had, one of many errors for damage (see `archives`).
    """
    if is_zip(file.read(4)):
        return _zip_members(file, limits)
    file.seek(0)
    return _tar_members(file, limits)


def _zip_members(file: IO[bytes], limits: Limits) -> Iterator[Member]:
    _check_directory(file, limits)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, struct.error, NotImplementedError, OverflowError, OSError):
        yield from _salvaged(file)
        raise zipfile.BadZipFile("its directory is missing or damaged") from None
    with archive:
        for info in archive.infolist():
            if not info.is_dir():
                name = _zip_name(info.filename, info.flag_bits)
                kind = stat.S_IFMT(info.external_attr >> 16)
                fault = _fault(kind, bool(info.flag_bits & _ENCRYPTED))
                yield Member(name, info.compress_size, partial(archive.open, info), fault)


def _check_directory(file: IO[bytes], limits: Limits) -> None:
    """Refuse a directory that would not fit in memory, before it is read as a whole."""
    end = file.seek(0, io.SEEK_END)
    start = file.seek(max(0, end - 0xFFFF - 22))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < 22:
        return
    size = struct.unpack_from("<L", tail, at + 12)[0]
    if size == _UNKNOWN and tail[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
        file.seek(min(struct.unpack_from("<Q", tail, at - 12)[0], start + at))
        record = file.read(56)
        size = struct.unpack_from("<Q", record, 40)[0] if len(record) == 56 else size
    if size > limits.directory_bytes:
        raise TooMuch(f"its directory is larger than {limits.directory_bytes:,} bytes")


def _zip_name(name: str, flags: int) -> str:
    """The member's name, with the letters that were meant and `/` between folders."""
    if not flags & _UTF8_NAME:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _fault(kind: int, encrypted: bool) -> str | None:
    if kind == stat.S_IFLNK:
        return "a link"
    if kind not in (0, stat.S_IFREG):
        return "no regular file"
    return "encrypted" if encrypted else None


def _salvaged(file: IO[bytes]) -> Iterator[Member]:
    """Members by the headers before them, as far as one follows the other."""
    file.seek(0)
    while True:
        header = file.read(30)
        if len(header) < 30 or header[:4] != ZIP[0]:
            return
        _, flags, method, _, _, _, packed, size, name_bytes, extra_bytes = struct.unpack_from(
            "<5HLLLHH", header, 4
        )
        raw, extra = file.read(name_bytes), file.read(extra_bytes)
        name = _zip_name(raw.decode("utf-8" if flags & _UTF8_NAME else "cp437", "replace"), flags)
        start = file.tell()
        if _UNKNOWN in (packed, size):
            packed = _zip64_packed(extra)
        follows = bool(flags & _SIZES_FOLLOW) and not packed
        fault = "encrypted" if flags & _ENCRYPTED else None
        if method not in (_STORED, _DEFLATED) or (follows and (method == _STORED or fault)):
            return
        stream = _Part(file, start, None if follows else packed, method == _DEFLATED)
        if not name.endswith("/"):
            yield Member(name, None if follows else packed, partial(io.BufferedReader, stream), fault)
        file.seek(stream.skip() if follows else start + packed)
        if flags & _SIZES_FOLLOW:
            _skip_descriptor(file)


def _zip64_packed(extra: bytes) -> int:
    """The packed size out of the zip64 field of a local header, which has both sizes."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1 and length >= 16 and at + 20 <= len(extra):
            return int(struct.unpack_from("<Q", extra, at + 12)[0])
        at += 4 + length
    return 0


def _skip_descriptor(file: IO[bytes]) -> None:
    """Step over the sizes after a member: with or without a mark, of four or eight bytes each."""
    start = file.tell()
    after = file.read(28)
    for length in (16, 12, 24, 20):
        if after[length : length + 4] in (ZIP[0], b"PK\x01\x02"):
            file.seek(start + length)
            return


class _Part(io.RawIOBase):
    """A member between two places of a zip; raises EOFError where it is cut off."""

    def __init__(self, file: IO[bytes], start: int, packed: int | None, deflated: bool) -> None:
        self._file = file
        self._at = start
        self._left = packed
        self._inflate: Any = zlib.decompressobj(-15) if deflated else None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._next(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def skip(self) -> int:
        """Read to the end, however much was read before; where that is."""
        while self._next(_PIECE):
            pass
        return self._at

    def _next(self, most: int) -> bytes:
        while not (self._inflate and self._inflate.eof):
            waiting = self._inflate.unconsumed_tail if self._inflate else b""
            if self._left == 0 and not waiting:
                if self._inflate:
                    raise EOFError("it ends too early")
                break
            raw = waiting or self._packed(min(most, _PIECE))
            data: bytes = self._inflate.decompress(raw, most) if self._inflate else raw
            if self._inflate and self._inflate.eof:
                self._at -= len(self._inflate.unused_data)
            if data:
                return data
        return b""

    def _packed(self, most: int) -> bytes:
        self._file.seek(self._at)
        raw = self._file.read(most if self._left is None else min(most, self._left))
        if not raw:
            raise EOFError("cut off")
        self._at += len(raw)
        if self._left is not None:
            self._left -= len(raw)
        return raw


def _tar_members(file: IO[bytes], limits: Limits) -> Iterator[Member]:
    metered: Any = _Metered(file, limits)
    with tarfile.open(
        fileobj=metered, mode="r|", tarinfo=_Header, encoding="utf-8", errors="replace"
    ) as archive:
        while (info := archive.next()) is not None:
            archive.members.clear()  # type: ignore[attr-defined]  # it keeps them all otherwise
            if info.isdir():
                continue
            kind = stat.S_IFREG if info.isreg() and not info.issparse() else stat.S_IFIFO
            fault = _fault(stat.S_IFLNK if info.issym() or info.islnk() else kind, encrypted=False)
            yield Member(info.name, None, partial(_opened, archive, info), fault)


def _opened(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    stream = archive.extractfile(info)
    if stream is None:
        raise tarfile.ReadError("no regular file")
    return stream


class _Header(tarfile.TarInfo):
    """A header of a tar. Damage is an error, where it would be taken for the end; none is read without bounds."""

    @classmethod
    def frombuf(cls, buf: Any, encoding: str | None, errors: str) -> "_Header":
        try:
            header = super().frombuf(buf, encoding or "utf-8", errors)
        except (tarfile.EOFHeaderError, tarfile.EmptyHeaderError):  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from error
        if header.type in _DESCRIPTIONS and header.size > _MOST_HEADER:
            raise tarfile.ReadError("a header of more than a megabyte")
        return header


class _Metered:
    """What a gzip holds, counted: raises TooMuch when it is far more than could be meant."""

    def __init__(self, file: IO[bytes], limits: Limits) -> None:
        self._file = file
        self._gzip = gzip.GzipFile(fileobj=file)
        self._limits = limits
        self._read = 0

    def read(self, size: int) -> bytes:
        data = self._gzip.read1(size)  # whatever is there: what comes before damage is still to be had
        self._read += len(data)
        limits = self._limits
        if self._read > limits.free_bytes and self._read > limits.ratio * self._file.tell():
            raise TooMuch(f"it unpacks to more than {limits.ratio} times its size")
        return data
