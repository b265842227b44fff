"""Exports that are read as a whole: small files, of which one that is not small is none."""

import json
from pathlib import Path
from typing import Any

from brain.errors import EmptySource, SourceError

LARGEST = 200_000_000  # bytes
_HEAD = 65_536


def head(path: Path) -> bytes:
    """The first 64 KB; nothing when the file cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""


def json_head(path: Path) -> str:
    """The beginning of a file of JSON as text, white space and a byte order mark before it removed; '' for others."""
    start = head(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    return start.decode("utf-8", "replace") if start[:1] in (b"{", b"[") else ""


def content(path: Path) -> bytes:
    """All bytes. Raises SourceError where there are too many or they cannot be read, EmptySource where are none."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise SourceError(
                f"{path.name} has {size:,} bytes, more than the {LARGEST:,} that are read at once"
            )
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path.name} cannot be read: {error.strerror or error}") from None
    if not data:
        raise EmptySource(f"{path.name} has zero bytes")
    return data


def load_json(path: Path) -> Any:
    """The value of a file of JSON. Bytes that are no UTF-8 become replacement characters.

    Raises SourceError, in one line, for text that is no JSON, was cut off, or nests too deeply.
    """
    text = content(path).decode("utf-8-sig", "replace")
    try:
        return json.loads(text)
    except RecursionError:
        raise SourceError(f"{path.name} nests too deeply") from None
    except ValueError as error:
        raise SourceError(f"{path.name} is no whole JSON: {error}") from None


def texts(value: object, name: str) -> str | None:
    """The text that an object of JSON or a property list has under a name; None where it has no text there."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None
