"""Large JSON files, one record at a time: memory stays flat whatever the file's size.

Records are decoded by the standard library, one call each; what lies around them is passed over without decoding.
Streaming parsers keep the path to where they are and turn numbers into objects of any size: a file of a few hundred
kilobytes that nests deeply, or names a number of thousands of digits, takes them down with the process.
"""

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from brain.errors import SourceError

_PIECE = 1 << 19
_LARGEST = 1 << 27  # characters of one record; beyond that the file is taken for damaged
_DEEPEST = 200
_EARLY, _DEEP = "it ends too early", "it nests too deeply"
_DIGITS = re.compile(r"-?[0-9]{1,19}")
_SPACE = re.compile(r"[ \t\r\n]*")
# Whatever neither opens nor closes anything, and whole texts. So many at a time: each costs memory.
_PLAIN = re.compile(r'[^"\[\]{}]*+(?:"(?:[^"\\]++|\\.)*+"[^"\[\]{}]*+){0,1000}', re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"|([\[\]{}])', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}]*")
# Half of a pair of surrogates without the other half, for all that can be told without decoding.
_LONE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]"
)


class CutOff(Exception):
    """The JSON breaks here; what came before it was whole."""


def items(path: Path) -> Iterator[Any]:
    """The values of the array that the file is, in order; none where it is something else.

    One that cannot be decoded is given as a text that says so. Bytes that are no UTF-8 and halves of surrogate pairs
    become U+FFFD. Raises CutOff where the JSON, or the gzip around it, is damaged beyond one value or ends too early,
    SourceError when the file cannot be read.
    """
    for _, (value,) in _found(path, None):
        yield value


def members(path: Path, keys: Container[str]) -> Iterator[tuple[str, list[Any]]]:
    """(key, values) of the arrays that stand under `keys` in the object that the file is, some values at a time.

    In the order of the file, otherwise as :func:`items`; values may nest as deeply as can be decoded.
    """
    yield from _found(path, keys)


def holds(path: Path, keys: Container[str]) -> bool:
    """Whether the file is an object with an array under one of `keys`."""
    try:
        with _opened(path) as file:
            text = _Text(file)
            return text.at() == "{" and any(key in keys and text.at() == "[" for key in _keys(text))
    except (CutOff, OSError, EOFError, zlib.error):
        return False


def _found(path: Path, keys: Container[str] | None) -> Iterator[tuple[str, list[Any]]]:
    try:
        with _opened(path) as file:
            text = _Text(file)
            opening = text.at()
            if keys is None and opening == "[":
                yield from (("", [value]) for value in _values(text))
            elif keys is not None and opening == "{":
                for key in _keys(text):
                    if key in keys and text.at() == "[":
                        yield from ((key, values) for values in _runs(text))
            else:
                return
            if text.at():
                raise CutOff("something follows its end")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CutOff(_said(error)) from error
    except OSError as error:
        raise SourceError(f"{path.name} cannot be read: {_said(error)}") from error


def _keys(text: "_Text") -> Iterator[str]:
    """The keys of the object that begins here; its values are passed over unless the caller has taken them."""
    text.take("{")
    if text.at() == "}":
        text.take("}")
        return
    while True:
        if text.at() != '"':
            raise CutOff("a key is missing")
        key = text.value()
        text.take(":")
        text.at()
        before = text.consumed()
        yield key if isinstance(key, str) else ""
        if text.consumed() == before:
            text.skip()
        if text.at() == "}":
            text.take("}")
            return
        text.take(",")


def _values(text: "_Text") -> Iterator[Any]:
    """The values of the array that begins here."""
    text.take("[")
    while text.at() != "]":
        yield text.value()
        if text.at() != "]":
            text.take(",")
            text.expect_value()
    text.take("]")


def _runs(text: "_Text") -> Iterator[list[Any]]:
    """The values of the array that begins here, as many at once as go together."""
    text.take("[")
    while text.at() != "]":
        yield text.objects() or [text.value()]
        if text.at() != "]":
            text.take(",")
            text.expect_value()
    text.take("]")


class _Text:
    """The text of a file from where it has been read to, and as much more of it as one value needs."""

    def __init__(self, file: io.BufferedReader | gzip.GzipFile) -> None:
        self._file = file
        self._characters = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._decode = json.JSONDecoder(strict=False, parse_int=_integer).raw_decode
        self._text, self._at, self._dropped = "", 0, 0
        self._ended = self._refused = False  # refused: what is read so far is not decoded in one go
        self._failed: Exception | None = None

    def consumed(self) -> int:
        """How many characters have been passed."""
        return self._dropped + self._at

    def at(self) -> str:
        """The next character that is no white space, not passed yet; '' at the end."""
        while True:
            if (found := self._text[self._at : self._at + 1]) > " ":
                return found
            if space := _SPACE.match(self._text, self._at):
                self._at = space.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, expected: str) -> None:
        """Pass one character, which must be the one expected."""
        if (found := self.at()) != expected:
            raise CutOff(f"{expected} is missing before {shown(found)}" if found else _EARLY)
        self._at += 1

    def expect_value(self) -> None:
        """Where no value begins here, say so."""
        if (found := self.at()) in ("", ",", ":", "]", "}"):
            raise CutOff("a value is missing" if found else _EARLY)

    def objects(self) -> list[Any]:
        """Pass the values from here on, decoded in one go, as far as they are read and simple; none where not."""
        if self._refused:
            return []
        start, end = self._at, len(self._text)
        for _ in range(8):  # the last end of an object that is seen may lie within one
            end = self._text.rfind("}", start, end)
            if end < 0:
                break
            after = _SPACE.match(self._text, end + 1)
            if after is None or self._text[after.end() : after.end() + 1] != ",":
                continue
            part = f"[{self._text[start : end + 1]}]"
            try:
                values, stop = self._decode(part)
            except (ValueError, RecursionError):
                continue
            if stop == len(part) and not ("\\" in part and _LONE.search(part)):
                self._at = end + 1
                return list(values)
        self._refused = True
        return []

    def value(self) -> Any:
        """Pass a value and give it; what cannot be decoded is a text that says so."""
        while True:
            self.expect_value()
            start, is_whole = self._at, True
            try:
                value, end = self._decode(self._text, start)
            except RecursionError:
                self.skip()
                return _DEEP
            except ValueError as error:
                end, _, is_whole = _end(self._text, start, 0)
                value = f"no JSON: {getattr(error, 'msg', _said(error)).rstrip(': ')}"
            # A number or word that ends with what has been read may go on behind it.
            if is_whole and (end < len(self._text) or self._text[start] in '[{"'):
                self._at = end
                return _sound(value, self._text, start, end)
            if not self._more():
                raise CutOff(_EARLY)

    def skip(self) -> None:
        """Pass a value of any size without keeping it."""
        self.at()
        depth = 0
        while True:
            self._at, depth, is_whole = _end(self._text, self._at, depth)
            if is_whole and (self._at < len(self._text) or self._ended):
                return
            if not self._more():
                raise CutOff(_EARLY)

    def _more(self) -> bool:
        """Read on, at least as much as is still there, so that a long value is not looked at often."""
        if self._failed:
            raise self._failed
        if self._ended:
            return False
        pieces = [self._text[self._at :]]
        if len(pieces[0]) > _LARGEST:
            raise CutOff(f"one value has more than {_LARGEST:,} characters")
        wanted = max(_PIECE, len(pieces[0]))
        try:
            while wanted > 0 and not self._ended:
                piece = self._file.read1(_PIECE)
                self._ended = not piece
                pieces.append(self._characters.decode(piece, final=self._ended))
                wanted -= len(piece)
        except (gzip.BadGzipFile, EOFError, zlib.error, OSError) as error:
            self._failed = error  # what came before the damage is looked at first
        self._dropped += self._at
        self._text, self._at, self._refused = "".join(pieces), 0, False
        return True


def _end(text: str, at: int, depth: int) -> tuple[int, int, bool]:
    """Where the value at `at`, or the rest of one of which `depth` brackets are open, ends: (end, 0, True).

    Where the text ends first: (how far it was looked at, brackets open there, False).
    """
    if depth == 0 and text[at : at + 1] not in ("[", "{"):
        found = (_QUOTED if text[at : at + 1] == '"' else _SCALAR).match(text, at)
        return found.end() if found else at, 0, found is not None
    while True:
        at = _PLAIN.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        if at == len(text):
            return at, depth, False
        if text[at] == '"':
            if _QUOTED.match(text, at):
                continue
            return at, depth, False  # it is not closed here
        depth += 1 if text[at] in "[{" else -1
        at += 1
        if depth == 0:
            return at, 0, True


def _sound(value: Any, text: str, start: int, end: int) -> Any:
    """The value without halves of surrogate pairs; instead of one that nests too deeply, words that say so."""
    if end - start > 2 * _DEEPEST and text.count("[", start, end) + text.count("{", start, end) > _DEEPEST:
        depth = most = 0
        for match in _BRACKET.finditer(text, start, end):
            if bracket := match[1]:
                depth += 1 if bracket in "[{" else -1
                most = max(most, depth)
        if most > _DEEPEST:
            return _DEEP
    if text.find("\\", start, end) < 0 or not _LONE.search(text, start, end):
        return value
    return _whole_texts(value)


def _whole_texts(value: Any) -> Any:
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, list):
        return [_whole_texts(inner) for inner in value]
    if isinstance(value, dict):
        return {whole_text(key): _whole_texts(inner) for key, inner in value.items()}
    return value


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < 1_000 else float(digits)


def _opened(path: Path) -> io.BufferedReader | gzip.GzipFile:
    """The file, unpacked where it is gzipped."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else path.open("rb")


def text_array(values: list[Any]) -> pa.StringArray:
    """Texts as Arrow; halves of surrogate pairs, which JSON can spell and UTF-8 cannot, become U+FFFD."""
    try:
        return pa.array(values, pa.string())
    except (UnicodeEncodeError, pa.ArrowInvalid):
        return pa.array([v if v is None else whole_text(v) for v in values], pa.string())


def whole_text(text: str) -> str:
    """The text with U+FFFD in place of halves of surrogate pairs."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def whole_number(value: object) -> int | None:
    """A number without a fraction however it is spelt (5, 5.0, "5"); None for anything else or beyond 64 bits."""
    if isinstance(value, str):
        value = int(value) if _DIGITS.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**64:
        return None
    number = int(value)
    return number if number == value and -(2**63) <= number < 2**63 else None


def shown(value: object) -> str:
    """A value for a message: short, on one line, printable."""
    return "".join(c if c.isprintable() else "?" for c in str(value)[:60])


def _said(error: BaseException) -> str:
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    return "".join(c if c.isprintable() else "?" for c in line)[:120]
