"""Long texts into pieces that an embedding model takes whole.

Pure: no tokenizer, model or clock. Sizes are estimated token counts (see `estimate_tokens`), close to what a
WordPiece vocabulary makes of English and on the safe side elsewhere. Pieces end at a paragraph if one ends
in their second half, else at a sentence, else between words, else between characters, but not within what
is seen as one character (a letter and its accents, an emoji sequence, CR LF).
"""

import re
import unicodedata
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_TOKENS = 200
OVERLAP = 30


@dataclass(frozen=True, slots=True)
class Chunk:
    """Piece `no` (from 0) of a text: exactly `source[start:end]`."""

    no: int
    start: int
    end: int
    text: str


def chunk(text: str, max_tokens: int = MAX_TOKENS, overlap: int = OVERLAP) -> list[Chunk]:
    """Pieces of `text` in order, of at most `max_tokens` estimated tokens, together covering all of it.

    A text that fits is one piece, also the empty one. Neighbours share up to `overlap` tokens, so that a
    thought across a border is whole in one of them.
    Raises ValueError unless max_tokens >= 4 and 0 <= overlap <= max_tokens / 2.
    """
    if max_tokens < _DEAREST * 2 or not 0 <= overlap * 2 <= max_tokens:
        raise ValueError(f"chunks of {max_tokens} tokens cannot overlap by {overlap}")
    limit = max_tokens * _UNIT
    if len(text) * _DEAREST <= max_tokens:
        return [Chunk(0, 0, len(text), text)]
    spent = _spent(text)
    if spent[-1] <= limit:
        return [Chunk(0, 0, len(text), text)]
    cutter = _Cutter(text, spent)
    chunks: list[Chunk] = []
    start = end = 0
    while end < len(text):
        end = cutter.end(start, end, limit)
        chunks.append(Chunk(len(chunks), start, end, text[start:end]))
        start = cutter.overlap_start(start, end, overlap * _UNIT)
    return chunks


def estimate_tokens(text: str) -> float:
    """About how many tokens a WordPiece tokenizer makes of `text`; additive over its characters.

    A character costs, in tokens: a Latin letter 1/4, a digit 2/5, a blank 1/20, a Hangul syllable 2, anything
    else (punctuation, a CJK character, a letter of another script, an emoji) 1.
    """
    return int(_spent(text)[-1]) / _UNIT


# --- costs

_UNIT = 20  # costs are whole twentieths of a token, so sums are exact
_BLANK, _LETTER, _DIGIT, _WHOLE, _SYLLABLE = 1, 5, 8, 20, 40
_DEAREST = 2  # tokens
# Code points up to and including the bound cost this much. The vocabulary knows English words, so their
# letters are cheap, and so are accented ones, which lose their accents; other alphabets fall into letters.
_RANGES = (
    (0x20, _BLANK),
    (0x2F, _WHOLE),
    (0x39, _DIGIT),
    (0x40, _WHOLE),
    (0x5A, _LETTER),
    (0x60, _WHOLE),
    (0x7A, _LETTER),
    (0x7E, _WHOLE),
    (0xA0, _BLANK),
    (0xBF, _WHOLE),
    (0x24F, _LETTER),
    (0x1FFF, _WHOLE),
    (0x200F, _BLANK),
    (0xABFF, _WHOLE),
    (0xD7A3, _SYLLABLE),  # Hangul: two or three jamo each
    (0x10FFFF, _WHOLE),
)
_BOUNDS = np.array([bound for bound, _cost in _RANGES], np.uint32)
_COSTS = np.array([cost for _bound, cost in _RANGES], np.int64)


def _spent(text: str) -> NDArray[np.int64]:
    """Cost of the first n characters, for every n from 0 to len(text)."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    spent = np.zeros(len(points) + 1, np.int64)
    np.cumsum(_COSTS[np.searchsorted(_BOUNDS, points)], out=spent[1:])
    return spent


# --- borders

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_SENTENCE = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+|[。！？｡]+[」』”’）]*\s*|\n\s*")
_WORD = re.compile(r"\s+")


class _Cutter:
    """Finds where pieces of one text begin and end."""

    def __init__(self, text: str, spent: NDArray[np.int64]) -> None:
        self.text, self.spent = text, spent
        self.borders = [_borders(pattern, text) for pattern in (_PARAGRAPH, _SENTENCE, _WORD)]

    def end(self, start: int, covered: int, limit: int) -> int:
        """The end of the piece that begins at `start`: past `covered`, and within `limit`."""
        furthest = int(np.searchsorted(self.spent, self.spent[start] + limit, "right")) - 1
        if furthest >= len(self.text):
            return len(self.text)
        half = int(np.searchsorted(self.spent, self.spent[start] + limit // 2))
        lowest = max(half, covered + 1)
        for borders in self.borders:
            at = int(np.searchsorted(borders, furthest, "right")) - 1
            if at >= 0 and borders[at] >= lowest and not _is_joined(self.text, int(borders[at])):
                return int(borders[at])
        return self._between_characters(furthest, covered + 1)

    def overlap_start(self, start: int, end: int, overlap: int) -> int:
        """Where the next piece begins: the first sentence, else word, of the last `overlap` of this one."""
        lowest = int(np.searchsorted(self.spent, self.spent[end] - overlap))
        for borders in self.borders[1:]:
            at = int(np.searchsorted(borders, max(lowest, start + 1)))
            if at < len(borders) and borders[at] < end and not _is_joined(self.text, int(borders[at])):
                return int(borders[at])
        if self.text[end - 1].isascii():
            return end  # the middle of a long word or address: an overlap would add nothing
        within = range(max(lowest, start + 1), end)
        return next((at for at in within if not _is_joined(self.text, at)), end)

    def _between_characters(self, position: int, lowest: int) -> int:
        """The last place up to `position` where no visible character is cut; `position` if there is none."""
        for candidate in range(position, max(lowest, position - _LONGEST) - 1, -1):
            if not _is_joined(self.text, candidate):
                return candidate
        return position


def _borders(pattern: re.Pattern[str], text: str) -> NDArray[np.int64]:
    return np.fromiter((match.end() for match in pattern.finditer(text)), np.int64)


_LONGEST = 64  # characters to step back over; longer clusters are not language
_JOINER = "\u200d"


def _is_joined(text: str, position: int) -> bool:
    """Whether the characters before and at `position` are seen as one.

    The cases of Unicode's grapheme clusters (UAX 29) that occur in prose: CR LF, marks, variation selectors
    and skin tones, zero-width joiners, flags, conjoining Hangul, surrogate pairs left in a str.
    """
    if not 0 < position < len(text):
        return False
    before, after = text[position - 1], text[position]
    if after < "\u0300":
        return (before, after) == ("\r", "\n") or before == _JOINER
    if before == _JOINER or after == _JOINER or unicodedata.category(after) in ("Mn", "Me", "Mc"):
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\u1160" <= after <= "\u11ff":
        return True
    if "\udc00" <= after <= "\udfff" and "\ud800" <= before <= "\udbff":
        return True
    return _is_flag_half(after) and _flag_halves_before(text, position) % 2 == 1


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_halves_before(text: str, position: int) -> int:
    first = position
    while first > max(0, position - _LONGEST) and _is_flag_half(text[first - 1]):
        first -= 1
    return position - first
