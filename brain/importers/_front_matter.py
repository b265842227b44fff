"""The properties at the head of a note, between two lines of three hyphens, as Obsidian, Jekyll and Hugo write them.

Of YAML the part that people and editors use there is read: one `name: value` a line, lists in brackets or one item a
line, quotes, comments. What is set deeper stays the text it is.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

from brain.models import EARLIEST_US, LATEST_US

Properties = dict[str, str | list[str]]

_LONGEST = 65_536  # characters
_MOST = 500
_MOST_LINES = 5_000
_LONGEST_LIST = 4_000  # characters on one line
_ITEM = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^']|'')*+'|[^\"']++|[\"']")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE = re.compile(
    r"(\d{4})[-/](\d\d?)[-/](\d\d?)"
    r"(?:[T ,]+(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|UTC|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)


def split(text: str) -> tuple[Properties, str, str]:
    """The properties by lower-case name, the lines they stand in, and the text below.

    Nothing and the whole text where the head is no block of properties, such as a line drawn above a paragraph.
    """
    if not text.startswith("---"):
        return {}, "", text
    start = text.find("\n") + 1
    if not start or text[3 : start - 1].strip():
        return {}, "", text
    at = start
    while at < min(len(text), _LONGEST):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if text[at:end].rstrip() in ("---", "..."):
            properties = _parsed(text[start:at])
            return ({}, "", text) if properties is None else (properties, text[start:at], text[end + 1 :])
        at = end + 1
    return {}, "", text


def instant(value: object) -> int | None:
    """A date as microseconds since 1970; one without a zone is taken for UTC. None for what is no plausible date."""
    if not isinstance(value, str):
        return None
    found = _DATE.fullmatch(value.strip().removeprefix("[[").removesuffix("]]").strip())
    if found is None:
        return None
    numbers = [int(part or 0) for part in found.groups()[:6]]
    micros = int((found[7] or "").ljust(6, "0")[:6])
    try:
        zone = _zone(found[8])
        span = datetime(*numbers[:3], *numbers[3:], micros, tzinfo=zone) - _EPOCH  # type: ignore[arg-type, misc]
    except (ValueError, OverflowError):
        return None
    us = (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds
    return us if EARLIEST_US <= us < LATEST_US else None


def _zone(said: str | None) -> timezone:
    if not said or said.upper() in ("Z", "UTC"):
        return UTC
    minutes = int(said[1:3]) * 60 + int(said[-2:])
    return timezone(timedelta(minutes=-minutes if said[0] == "-" else minutes))


def _parsed(block: str) -> Properties | None:
    """The properties of a block; None where a line of it can be none."""
    found: Properties = {}
    name = ""
    for line in block.split("\n")[:_MOST_LINES]:
        plain = line.strip()
        if not plain or plain.startswith("#"):
            continue
        if line[0].isspace() or plain == "-" or plain.startswith("- "):
            if not name:
                return None
            _add(found, name, plain)
            continue
        named = _named(line.rstrip())
        if named is None:
            return None
        name = named[0]
        if len(found) < _MOST:
            found.setdefault(name, _value(named[1]))
    return found


def _named(line: str) -> tuple[str, str] | None:
    """The name and the value of a line; None where it has no name."""
    name, colon, value = line.partition(": ")
    if not colon:
        if not line.endswith(":"):
            return None
        name = line[:-1]
    name = _unquoted(name.strip()).strip().lower()
    return (name, value) if name and len(name) <= 100 else None


def _add(found: Properties, name: str, line: str) -> None:
    """Take a further line of a property: an item of its list, or more of its text."""
    known = found.get(name)
    if known is None:
        return
    if line == "-" or line.startswith("- "):
        item = _text(line[1:].strip())
        if isinstance(known, list):
            known.append(item)
        else:
            found[name] = [part for part in (known, item) if part]
    elif isinstance(known, list):
        known.append(line)
    else:
        found[name] = line if known in ("", "|", ">", "|-", ">-") else f"{known}\n{line}"


def _value(written: str) -> str | list[str]:
    plain = written.strip()
    is_list = plain.startswith("[") and plain.endswith("]") and not plain.startswith("[[")
    if is_list and len(plain) <= _LONGEST_LIST:
        return [item for item in _items(plain[1:-1]) if item]
    return _text(plain)


def _items(inside: str) -> Iterator[str]:
    """What stands between the commas."""
    part = ""
    for piece in _ITEM.findall(inside):
        stem, *more = [piece] if piece[0] in "\"'" else piece.split(",")
        part += stem
        for following in more:
            yield _unquoted(part.strip())
            part = following
    yield _unquoted(part.strip())


def _text(plain: str) -> str:
    if plain[:1] not in ("'", '"'):
        plain = plain.partition(" #")[0].rstrip()
        return "" if plain in ("null", "~") else plain
    return _unquoted(plain)


def _unquoted(plain: str) -> str:
    if len(plain) < 2 or plain[0] != plain[-1] or plain[0] not in "\"'":
        return plain
    inside = plain[1:-1]
    return inside.replace("''", "'") if plain[0] == "'" else re.sub(r"\\(.)", r"\1", inside)
