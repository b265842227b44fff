"""Bookmark files in HTML, as every browser and bookmark service exports them.

The form goes back to Netscape and was never specified: a folder is an H3 followed by a DL, a bookmark a DT with an
A, a note the DD after it, and P, DT and DD are not closed. Firefox, Chromium's browsers, Safari, Internet Explorer,
Pinboard, Delicious, Google Bookmarks, Raindrop, Pearltrees, Shaarli and linkding each have their own variant. Pocket
and Instapaper write UL or OL lists under an H1 instead; these name the folder there, and are reading lists.

What is read: HREF (FEEDURL where there is none), ADD_DATE (Pocket: time_added), LAST_MODIFIED, LAST_VISIT, TAGS,
TOREAD, which puts a bookmark on the reading list, and notes. Icons, keywords, PRIVATE and separators are left out.
Addresses of other kinds, such as Firefox's place: and javascript:, are bookmarks like any other.
"""

import html
import re
from collections.abc import Generator, Iterator
from pathlib import Path

from brain.errors import SourceError, first_line
from brain.importers._bookmark_rows import (
    DEEPEST_FOLDER,
    LONGEST_TEXT,
    Bookmark,
    batches,
    one_line,
    written_date,
)
from brain.importers._tags import Tag, Tags, attributes, decode_head, encoding_of
from brain.models import Batch, Rejected

NAME = "netscape_html"
SOURCE = "bookmarks"
BROWSER = "unknown"  # no file says whose it is
VERSION = 1  # raised when the same bytes are read differently

_HEAD = 65_536
_DOCTYPE = re.compile(
    r"(?:<\?[^>]*+>|<!--(?:[^-]|-(?!->))*+-->|\s)*+<!doctype\s+netscape-bookmark-file", re.IGNORECASE
)
# What only bookmarks have, where the doctype is missing: dates on a term's link or heading; or the usual title.
_DATED = re.compile(
    r"<dt>\s*+<(?:a|h3)\s[^<>]{0,4000}?\b(?:add_date|last_modified|last_visit|folded|feedurl)\b",
    re.IGNORECASE,
)
_TITLED = re.compile(
    r"<h1[^<>]{0,200}>\s*+bookmarks[^<]{0,100}</h1>\s*+<dl>\s*+(?:<p>\s*+)?<dt>\s*+<(?:a|h3)\b", re.IGNORECASE
)
_READ_LATER = re.compile(r"<title>\s*+(?:pocket export|instapaper: export)\s*+</title>", re.IGNORECASE)
_LISTED = re.compile(r"<[uo]l>\s*+<li>\s*+<a\s[^<>]{0,4000}?\bhref\b", re.IGNORECASE)

_LINK = frozenset(
    ("href", "feedurl", "add_date", "time_added", "last_modified", "last_visit", "tags", "toread")
)
_LISTS = ("dl", "ul", "ol")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
# Where a title or note ends if it was not closed.
_BOUNDS = frozenset(("dt", "dd", "li", "a", "hr", *_LISTS, *_HEADINGS))
_BREAKS = ("br", "p", "div")


def detect(path: Path) -> bool:
    """Whether the file begins like a list of bookmarks in HTML; ordinary pages do not."""
    try:
        with path.open("rb") as file:
            head = decode_head(file.read(_HEAD))
    except OSError:
        return False
    if not head.lstrip("\ufeff \t\r\n\f").startswith("<"):
        return False
    if _DOCTYPE.match(head.lstrip("\ufeff")) or _DATED.search(head) or _TITLED.search(head):
        return True
    return _READ_LATER.search(head) is not None and _LISTED.search(head) is not None


def read(path: Path) -> Generator[Batch | Rejected]:
    """Every bookmark in the order of the file; one that has no usable address is rejected with its line.

    Dates are what the file says, told apart by their length (see `written_date`), and unknown where it says nothing.
    Raises SourceError when the file cannot be read, and EmptySource when it holds no link.
    """
    try:
        yield from batches(path.name, _Reader(Tags(path, encoding_of(path))).bookmarks())
    except OSError as error:
        raise SourceError(f"{path.name} cannot be read: {error.strerror or first_line(error)}") from None


class _Reader:
    """Walks through the tags, keeping the folders it is in and the bookmark it is at."""

    def __init__(self, tags: Tags) -> None:
        self._tags = tags
        self._lists: list[str | None] = []  # the name of each open list, None where it has none
        self._folder: tuple[str, ...] = ()
        self._heading: str | None = None  # the heading before a list names it
        self._heading_tag = ""
        self._is_read_later = False
        self._link: Bookmark | None = None
        self._note: list[str] = []
        self._note_length = 0
        self._target = ""  # what the text at hand belongs to: a, dd, title or a heading
        self._text: list[str] = []
        self._length = 0
        self._too_deep = False

    def bookmarks(self) -> Iterator[Bookmark | Rejected]:
        for item in self._tags:
            if isinstance(item, str):
                self._add_text(item)
            elif item.name in _BOUNDS:
                self._end_text()
                yield from self._structure(item)
            elif item.name in _BREAKS:
                self._add_text("\n")
            elif item.name == "title":
                self._end_text()
                self._target = "" if item.is_end else "title"
        self._end_text()
        yield from self._finished()

    def _structure(self, tag: Tag) -> Iterator[Bookmark | Rejected]:
        name = tag.name
        if name == "dd":
            if not tag.is_end and self._link is not None:
                self._target = "dd"
        elif name == "a":
            if not tag.is_end:
                yield from self._finished()
                self._link = self._bookmark(tag)
                self._target = "a"
        elif name in _HEADINGS:
            yield from self._finished()
            if not tag.is_end:
                self._target = self._heading_tag = name
                self._heading = None
        elif name in _LISTS:
            yield from self._finished()
            if tag.is_end:
                self._close_list()
            else:
                yield from self._open_list(tag)
        elif name == "hr" or not tag.is_end:
            yield from self._finished()

    def _open_list(self, tag: Tag) -> Iterator[Rejected]:
        # An H1 above a DL is the title of the file; Pocket's and Instapaper's above UL and OL is a folder.
        name = None if tag.name == "dl" and self._heading_tag == "h1" else self._heading
        self._heading, self._heading_tag = None, ""
        self._lists.append(name)
        if name is None:
            return
        if len(self._folder) < DEEPEST_FOLDER:
            self._folder = (*self._folder, name)
            return
        self._lists[-1] = None
        if not self._too_deep:
            self._too_deep = True
            yield Rejected(
                f"line {tag.line}",
                f"folders lie more than {DEEPEST_FOLDER} deep: their bookmarks are taken, the names below are not",
            )

    def _close_list(self) -> None:
        self._heading = None
        if self._lists and self._lists.pop() is not None:
            self._folder = self._folder[:-1]

    def _bookmark(self, tag: Tag) -> Bookmark:
        given = attributes(tag, _LINK)
        is_read_later = self._is_read_later or given.get("toread", "").strip() == "1"
        return Bookmark(
            where=f"line {tag.line}",
            url=(given.get("href") or given.get("feedurl", "")).strip(),
            folder=self._folder,
            tags=_tags(given.get("tags", "")),
            added=written_date(given.get("add_date") or given.get("time_added")),
            modified_us=written_date(given.get("last_modified"))[0],
            last_used_us=written_date(given.get("last_visit"))[0],
            shelf="reading_list" if is_read_later else "bookmarks",
        )

    def _finished(self) -> Iterator[Bookmark]:
        if self._link is not None:
            self._link.note = "\n".join(filter(None, self._note))
            yield self._link
        self._link, self._note, self._note_length = None, [], 0

    def _add_text(self, text: str) -> None:
        # What is longer than can be taken needs no more than that to be refused.
        if self._target and self._length <= LONGEST_TEXT:
            self._text.append(text)
            self._length += len(text)

    def _end_text(self) -> None:
        """Give the text at hand to what it belongs to."""
        target, text = self._target, html.unescape("".join(self._text))
        self._target, self._text, self._length = "", [], 0
        if target == "a" and self._link is not None:
            self._link.title = one_line(text)
        elif target == "dd" and self._link is not None:
            if self._note_length <= LONGEST_TEXT:
                self._note.append("\n".join(one_line(line) for line in text.splitlines()).strip())
                self._note_length += len(text) + 1
        elif target == "title":
            self._is_read_later = one_line(text).lower() in ("pocket export", "instapaper: export")
        elif target in _HEADINGS:
            self._heading = one_line(text)


def _tags(written: str) -> list[str]:
    """The tags between commas, each once."""
    return list(dict.fromkeys(tag for part in written.split(",") if (tag := one_line(part))))
