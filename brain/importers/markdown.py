"""Notes as Markdown files: one of them, or a whole vault as Obsidian (1.x) and its like keep them in a folder.

Each file is one note. Its title is that of its properties, else its first heading, else its name; tags come from the
properties and from `#tags` in the text (Obsidian's rules), dates from the properties alone: when a file was written
says when it was copied, too. Its id is its place within the folder, so that an edited note stays the same one.
References: help.obsidian.md on Properties and Tags, CommonMark 0.31 for headings and fences.
"""

import json
import os
import re
import unicodedata
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path

from brain.importers._front_matter import Properties, instant, split
from brain.importers._text_rows import Text, batches
from brain.models import Batch, Rejected

NAME = "markdown"
SOURCE = "import"
BROWSER = "unknown"
VERSION = 1  # raised when the same bytes are read differently

LARGEST = 20_000_000  # bytes of a note
MOST = 100_000  # notes of a folder

_ENDINGS = (".md", ".markdown")
_HEAD = 4_096
# What lies among notes without being one: pictures, recordings, drawings, papers.
_BESIDE = re.compile(
    r"png|jpe?g|gif|webp|avif|svg|bmp|heic|pdf|mp[34]|m4[av]|wav|ogg|webm|mov|canvas|base|excalidraw",
    re.IGNORECASE,
)
_MOST_ENTRIES = 20_000
_DEEPEST = 64  # folders within each other
_HEADING = re.compile(r" {0,3}#[ \t]+(.*)")
_CLOSING = re.compile(r"[ \t]#+\Z")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_CODE = re.compile(r"`[^`]*`")
_TAG = re.compile(r"(?<!\S)#([\w/-]{1,100})(?![\w/-])")
_CREATED = ("created", "created at", "date created", "creation date", "created on", "date", "datetime")
_MODIFIED = ("modified", "updated", "modified at", "updated at", "date modified", "last modified", "lastmod")
_ADDRESSES = ("url", "source", "source url")
_MOST_TAGS = 200


def detect(path: Path) -> bool:
    """Whether the file is named as Markdown and holds text: nothing in a note tells it from other texts."""
    if not path.name.lower().endswith(_ENDINGS):
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return bool(head) and _is_text(head)


def detect_folder(path: Path, alone: bool = False) -> bool:
    """Whether the folder is a vault of Obsidian's or, when it stands `alone`, holds more notes than other files."""
    if is_folder(path / ".obsidian"):
        return True
    if not alone:
        return False
    notes = others = 0
    for file, _ in islice(_walk(path), _MOST_ENTRIES):
        if _is_note(file):
            notes += 1
        elif not _BESIDE.fullmatch(file.rpartition(".")[2]):
            others += 1
    return notes > others


def files(path: Path) -> list[Path]:
    """The notes of a folder in a fixed order, `MOST` of them at most; nothing hidden, and no links to folders."""
    found = (folder / name for name, folder in _walk(path) if _is_note(name))
    return list(islice((file for file in found if _is_file(file)), MOST))


def read(path: Path) -> Generator[Batch | Rejected]:
    """The notes of a folder, or the one that the file is. Raises SourceError, EmptySource."""
    yield from batches(path.name, _found(path))


def is_folder(path: Path) -> bool:
    """Whether there is a folder that one may look at."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _walk(path: Path) -> Iterator[tuple[str, Path]]:
    for folder, inside, names in os.walk(path):
        is_deep = folder.count(os.sep) - str(path).count(os.sep) >= _DEEPEST
        inside[:] = sorted(n for n in inside if n[0] != "." and n != "node_modules" and not is_deep)
        for name in sorted(names):
            if name[0] != ".":
                yield name, Path(folder)


def _is_note(name: str) -> bool:
    return name.lower().endswith(_ENDINGS)


def _is_text(head: bytes) -> bool:
    return b"\x00" not in head or head.startswith((b"\xff\xfe", b"\xfe\xff"))


def _found(path: Path) -> Iterator[Text | Rejected]:
    if not is_folder(path):
        note = _note(path, path.name)
        if note is not None:
            yield note
        return
    notes = files(path)
    for file in notes:
        note = _note(file, _named(file.relative_to(path)))
        if note is not None:
            yield note
    if len(notes) == MOST:
        yield Rejected("folder", f"no more than {MOST:,} notes are read")


def _named(place: Path) -> str:
    """The place of a note as text; macOS and others spell the same letters in two ways."""
    name = os.fsencode(place.as_posix()).decode("utf-8", "backslashreplace")
    return unicodedata.normalize("NFC", name)


def _note(file: Path, name: str) -> Text | Rejected | None:
    """The note in a file; None where it says nothing."""
    where = "".join(c if c.isprintable() else "?" for c in name)
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as error:
        return Rejected(where, f"it cannot be read: {error.strerror or error}")
    if len(data) > LARGEST:
        return Rejected(where, f"it is larger than {LARGEST:,} bytes")
    if not _is_text(data[:_HEAD]):
        return Rejected(where, "it is no text")
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = data.decode("utf-16" if wide else "utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    properties, block, body = split(text)
    said = body.strip("\n").rstrip() or block.strip()
    if not said.strip():
        return None
    heading, marked = _scanned(body)
    address = next((v for v in _values(properties, _ADDRESSES) if re.fullmatch(r"https?://\S+", v)), None)
    kept = {key: value for key, value in properties.items() if value and key not in ("title", "tags", "tag")}
    return Text(
        where,
        name,
        "note",
        said,
        url=address,
        title=_title(properties, heading, name),
        created_us=_date(properties, _CREATED),
        modified_us=_date(properties, _MODIFIED),
        tags=_tags(properties, marked),
        details=json.dumps(kept, ensure_ascii=False) if kept else None,
    )


def _title(properties: Properties, heading: str, name: str) -> str:
    said = properties.get("title")
    stem = name.rpartition("/")[2].rpartition(".")[0]
    return ((said if isinstance(said, str) else "") or heading or stem)[:500]


def _scanned(body: str) -> tuple[str, list[str]]:
    """The first heading of the first level, and the tags, of what stands outside code."""
    heading, tags, fence = "", list[str](), ""
    for line in body.split("\n"):
        if opening := _FENCE.match(line):
            fence = "" if fence == opening[1] else fence or opening[1]
        elif fence or "#" not in line:
            continue
        elif not heading and (found := _HEADING.fullmatch(line)):
            heading = _CLOSING.sub("", found[1].rstrip()).strip()
        elif len(tags) < _MOST_TAGS:
            tags += (tag for tag in _TAG.findall(_CODE.sub(" ", line)) if not tag.isdigit())
    return heading, tags


def _tags(properties: Properties, marked: list[str]) -> list[str]:
    """Each tag once, in the spelling that comes first; those of the properties before those of the text."""
    listed: list[str] = []
    for name in ("tags", "tag"):
        said = properties.get(name) or []
        listed += re.split(r"[,\s]+", said) if isinstance(said, str) else said
    known: dict[str, str] = {}
    for tag in (tag.strip().removeprefix("#")[:100] for tag in [*listed, *marked]):
        if tag:
            known.setdefault(tag.casefold(), tag)
    return list(known.values())[:_MOST_TAGS]


def _values(properties: Properties, names: tuple[str, ...]) -> Iterator[str]:
    """What the properties of these names say, in the order of the names; `created_at` and `created-at` are one name."""
    spelt = {re.sub(r"[-_ ]+", " ", key): value for key, value in reversed(properties.items())}
    for name in names:
        value = spelt.get(name)
        yield from [value] if isinstance(value, str) else value or []


def _date(properties: Properties, names: tuple[str, ...]) -> int | None:
    return next((us for value in _values(properties, names) if (us := instant(value)) is not None), None)
