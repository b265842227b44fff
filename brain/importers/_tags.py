"""The tags and texts of an HTML file, read in pieces, in time that grows with its length whatever it holds.

The standard library's parser needs quadratic time for text such as an attribute that is never closed (its fixes
reached only the newest versions), and the parsers written in C build the whole page in memory, limit how deeply it
may nest and tell no line numbers. Bookmark files need no page, only their tags in order, so this cuts them out with
expressions that never go back.
"""

import codecs
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PIECE = 262_144
# A tag or comment that goes on for longer than this is taken for text. Inline icons stay far below.
LONGEST = 16 * 1024 * 1024

# A tag up to its end; what is in quotes may hold anything. Possessive, so that nothing is tried twice.
_TAG = re.compile(r"</?+[A-Za-z](?:[^>\"'=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+'|(?![\"']))|[\"'])*+>")
# Where markup begins; what stands at the end of a piece may go on in the next.
_OPENING = re.compile(r"<(?:[A-Za-z!?]|/[A-Za-z]|/?\Z)")
_ITEM = re.compile(r"\n[ \t]*<[Dd][Tt]\b")
_NAME = re.compile(r"</?([A-Za-z][A-Za-z0-9:-]*)")
_ATTRIBUTE = re.compile(
    r"([^\s\"'>/=][^\s\"'>/=]*+)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>][^\s>]*+)))?+"
)
_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,32})""", re.IGNORECASE)
# The encodings that browsers know and that pages were written in; Python's own list holds some that are none.
_KNOWN = re.compile(
    r"(cp|windows-?)(874|932|936|949|950|125[0-8])|iso-?8859-?\d{1,2}|latin-?1|koi8-?[ru]|shift[_-]?jis|sjis|euc-(jp|kr)"
    r"|gb(2312|k|18030)|big5(-hkscs)?|mac(intosh|-?roman)|tis-620|(cp|ibm)866|us-ascii|ascii",
    re.IGNORECASE,
)
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Tag(NamedTuple):
    """One tag: its name in lower case, whether it is an end tag, its source, and where it begins."""

    name: str
    is_end: bool
    source: str
    line: int


def attributes(tag: Tag, wanted: frozenset[str]) -> dict[str, str]:
    """The wanted attributes by lower-case name, entities decoded; the first of two counts, '' where none is given."""
    start = len(tag.name) + 1 + tag.is_end
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(tag.source, start):
        name = match[1].lower()
        if name in wanted and name not in found:
            found[name] = html.unescape(match[2] or match[3] or match[4] or "")
    return found


def decode_head(head: bytes) -> str:
    """The beginning of a file as text, by the marks it begins with; invalid bytes become replacement characters."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return head.decode(encoding, "replace")
    if wide := _wide(head):
        return head.decode(wide, "replace")
    return head.decode("utf-8", "replace")


def encoding_of(path: Path) -> str:
    """The encoding of an HTML file: by its byte order mark, UTF-8 where that fits, else as it says, else cp1252."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        head = piece = file.read(PIECE)
        for mark, encoding in _MARKS:
            if head.startswith(mark):
                return encoding
        if wide := _wide(head):
            return wide
        try:
            while piece:
                decoder.decode(piece)
                piece = file.read(PIECE)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return _declared(head)
    return "utf-8"


def _declared(head: bytes) -> str:
    said = _CHARSET.search(head[:8192])
    name = said[1].decode("ascii").lower() if said else "windows-1252"
    if name in ("utf-8", "utf8"):
        return "utf-8"
    if not _KNOWN.fullmatch(name):
        return "cp1252"
    try:
        found = codecs.lookup(name).name
    except LookupError:
        return "cp1252"
    # What says Latin-1 or ASCII means Windows' superset of it, as browsers read it.
    return "cp1252" if found in ("iso8859-1", "ascii") else found


def _wide(head: bytes) -> str | None:
    """UTF-16 without a byte order mark: every second byte of Latin text is zero."""
    start = head[:64]
    if len(start) < 16 or b"\x00" not in start:
        return None
    if not any(start[0::2]) and all(start[1::2]):
        return "utf-16-be"
    return "utf-16-le" if all(start[0::2]) and not any(start[1::2]) else None


class Tags:
    """Iterates over a file: a `Tag` for each tag, and a `str` (entities not yet decoded) for each text between.

    Comments and declarations are left out. A text may come in several parts. `line` is that of the item given last.
    """

    def __init__(self, path: Path, encoding: str) -> None:
        self._path = path
        self._encoding = encoding
        self._text = ""
        self._at = 0
        self._counted = 0  # up to where `line` has counted
        self._ended = False
        self._need = PIECE
        self._no_comment_end = False
        self.line = 1

    def __iter__(self) -> Iterator[Tag | str]:
        with self._path.open(encoding=self._encoding, errors="replace") as self._file:
            while self._more():
                yield from self._cut()

    def _more(self) -> bool:
        """Read on behind what is left; as much again as is left, so that long tags are not looked at too often."""
        if self._ended:
            return False
        self._line_at(self._at)
        left = self._text[self._at :]
        piece = self._file.read(max(PIECE, len(left)))
        self._ended = not piece
        self._text, self._at, self._counted = left + piece, 0, 0
        return bool(self._text)

    def _line_at(self, at: int) -> int:
        self.line += self._text.count("\n", self._counted, at)
        self._counted = at
        return self.line

    def _cut(self) -> Iterator[Tag | str]:
        """The items of the text at hand, up to one that may go on in the next piece."""
        text = self._text
        while self._at < len(text):
            opening = _OPENING.search(text, self._at)
            start = opening.start() if opening else len(text)
            if start > self._at:
                yield text[self._at : start]
                self._at = start
                continue
            end = self._end(start)
            if end is None:
                return
            self._at = end
            named = _NAME.match(text, start, min(end, start + 64))
            if named:
                yield Tag(named[1].lower(), text[start + 1] == "/", text[start:end], self._line_at(start))

    def _end(self, start: int) -> int | None:
        """Where the tag, comment or declaration ends that begins at `start`; None if that is not known yet."""
        text = self._text
        unfinished = not self._ended and len(text) - start < LONGEST
        following = text[start + 1 : start + 2]
        if following in ("!", "?"):
            return self._declaration_end(start, unfinished)
        if match := _TAG.match(text, start):
            # An item within a tag: a quote was left open above, and must not take the next items along.
            if _ITEM.search(text, start + 1, match.end()) is None:
                return match.end()
            return text.index(">", start) + 1
        if unfinished:
            return None
        # A quote was never closed, or there is no end: take the next best one.
        end = text.find(">", start)
        return end + 1 if end >= 0 else len(text)

    def _declaration_end(self, start: int, unfinished: bool) -> int | None:
        text = self._text
        if text.startswith("<!--", start) and not self._no_comment_end:
            end = text.find("-->", start + 2)
            if end >= 0:
                return end + 3
            if unfinished:
                return None
            # Its end is nowhere: what stands in it counts after all.
            self._no_comment_end = True
            return start + 4
        end = text.find(">", start)
        if end >= 0:
            return end + 1
        return None if unfinished else len(text)
