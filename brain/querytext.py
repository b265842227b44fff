"""What a person typed, taken as words and never as a query language."""

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import unquote

# Left out of keyword queries that have other words; in the index they stay. Without them BM25 gained .01-.02
# nDCG@10 on both judged sets.
_STOP_WORDS = """
    a an and are as at be been being but by can could did do does for from had has have how i if in into is it its
    me my of on or our so some such than that the their them then there these they this those to was we were what
    when where which while who whom whose why will with would you your about not no any just also"""
_STOP = frozenset(_STOP_WORDS.split())
_EDGES = " \t\r\n\"'`“”‘’«»()[]{}<>,;:!?。、，；：！？（）「」…"
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+", re.IGNORECASE)
_SCHEME = re.compile(r"^https?://(?:www\.)?|^www\.", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
# Scripts written without blanks between words: a segmenter's words there are guesses, so runs are looked for as
# they stand. Kana, Han, Thai, Lao, Myanmar, Khmer.
_UNSPACED = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff々ー]+"
)
_LONGEST_QUERY = 2_000


@dataclass(frozen=True, slots=True)
class Query:
    """`text` as typed, `keywords` without stop words, `ids` what must be found letter for letter."""

    text: str
    keywords: str
    ids: tuple[str, ...]

    @property
    def is_id(self) -> bool:
        """Whether the whole query is one id, version or URL."""
        return len(self.ids) == 1 and len(self.text.split()) == 1

    @property
    def unspaced(self) -> tuple[str, ...]:
        """Runs of two and more characters of scripts without blanks, at most four."""
        runs = [run for run in _UNSPACED.findall(self.text) if len(run) > 1]
        return tuple(dict.fromkeys(runs))[:4]

    @property
    def is_latin(self) -> bool:
        """Whether at least half of the letters are Latin ones."""
        letters = [character for character in self.text if character.isalpha()]
        latin = sum(unicodedata.name(character, "").startswith("LATIN") for character in letters)
        return 2 * latin >= len(letters)


def parse(text: str) -> Query:
    """Take a query apart; characters beyond 2,000 are dropped."""
    text = " ".join(clean(text)[:_LONGEST_QUERY].split())
    pieces = [piece.strip(_EDGES) for piece in text.split()]
    pieces = [piece for piece in pieces if piece]
    kept = [piece for piece in pieces if not _is_stop(piece)] or pieces
    ids = [_SCHEME.sub("", piece).rstrip("/.") for piece in pieces if _is_id(piece)]
    keywords = " ".join(_SCHEME.sub("", piece) for piece in kept)
    return Query(text, keywords or text, tuple(dict.fromkeys(name for name in ids if name)))


def clean(text: str) -> str:
    """Without control, bidirectional, zero-width and other invisible characters; line ends become blanks.

    The joiners that Indic and Persian words and emoji need go too: no search term needs them here.
    """
    if text.isascii() and text.isprintable():
        return text
    kept = []
    for character in text:
        if character.isprintable():
            kept.append(character)
        elif character.isspace():
            kept.append(" ")
    return "".join(character for character in kept if character not in _INVISIBLE)


# Printable to Python and yet not to be seen: fillers, blanks of other scripts, variation selectors, tags.
_INVISIBLE = frozenset(
    [*"\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"]
    + [chr(point) for point in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))]
)


def fold(text: str) -> str:
    """Lower case without accents, as the index sees letters."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(part for part in parts if not unicodedata.combining(part)))


def searchable(text: str, url: str | None) -> str:
    """What keywords see of an index row, folded: its text, its address plain and decoded, parts of identifiers."""
    parts = [text]
    if url:
        parts.append(url)
        if "%" in url:
            parts.append(unquote(url, errors="replace"))
    if _HUMP.search(text):
        parts.append(_HUMP.sub(" ", text))
    return fold("\n".join(parts))


def words(text: str) -> list[str]:
    """Runs of letters and digits, folded."""
    return _WORD.findall(fold(text))


def has_term(folded: str, term: str) -> bool:
    """Whether a folded text has a word that begins with an index term's stem; CJK anywhere."""
    stem = fold(term)
    if len(stem) > 3 and stem.endswith("i"):
        stem = stem[:-1]  # the stemmer writes y as i
    at = folded.find(stem)
    if at < 0 or not stem.isascii():
        return at >= 0
    short = len(stem) <= 3
    while at >= 0:
        end = at + len(stem)
        starts = at == 0 or not folded[at - 1].isalnum()
        # A short stem must be the whole word but for a plural: `re` is not in `report`.
        ends = (
            not short
            or end >= len(folded)
            or not folded[end].isalnum()
            or folded[end : end + 2].rstrip() == "s"
        )
        if starts and ends:
            return True
        at = folded.find(stem, at + 1)
    return False


def has_verbatim(folded: str, name: str) -> bool:
    """Whether an id stands in a folded text as a whole: `PROJ-14` is not in `PROJ-1482`."""
    wanted = fold(name)
    at = folded.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        begins = at == 0 or not folded[at - 1].isalnum()
        if not begins and wanted[0].isdigit() and folded[at - 1] == "v":
            begins = at == 1 or not folded[at - 2].isalnum()  # 2.3.1 in v2.3.1
        if begins and (end == len(folded) or not folded[end].isalnum()):
            return True
        at = folded.find(wanted, at + 1)
    return False


def distance(a: str, b: str, most: int) -> int:
    """Edits (insert, delete, replace, swap neighbours) between two words; `most` + 1 if there are more."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        older, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def _is_stop(piece: str) -> bool:
    word = piece.lower()
    # IT, US or WHO in capitals are names; AND, OR, NOT in capitals are still the small words.
    return word in _STOP and (not piece.isupper() or len(piece) == 1 or word in ("and", "or", "not"))


def _is_id(piece: str) -> bool:
    """ERR_CONNECTION_REFUSED, v2.3.1, PROJ-1482, a URL or part of one; not a plain word, number or date part."""
    if _URL.fullmatch(piece):
        return True
    inner = piece[1:-1]
    digit = any(character.isdigit() for character in piece)
    letter = any(character.isalpha() for character in piece)
    # One slash alone joins words (and/or); with a dot, a digit or a second one it is a path.
    marks = "_.:@#+=&" if inner.count("/") < 2 and not digit else "_/.:@#+=&"
    if any(mark in inner for mark in marks) and len(piece) >= 4:
        return True
    return digit and (letter or "-" in inner) and len(piece) >= 3
