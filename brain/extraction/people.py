"""People that a text names, by the company names keep: titles, handles, verbs and prepositions."""

import re
from collections.abc import Collection, Iterator

from brain.extraction.words import MONTHS, STOP, WEEKDAYS

_UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de"
_LOWER = "a-z\u00df-\u00f6\u00f8-\u00ff"
_WORD = rf"[{_UPPER}][{_LOWER}]+(?:['\u2019-][{_UPPER}][{_LOWER}]+)?"
_NAME = rf"{_WORD}(?:[ ]{_WORD}){{0,2}}"
_TITLE = r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Herr|Frau)\.?"
_TITLED = re.compile(rf"\b({_TITLE}[ ]{_WORD}(?:[ ]{_WORD})?)")
_HANDLE = re.compile(r"(?<![\w@./])@([A-Za-z][\w.-]{1,38}\w)")
_AFTER = re.compile(
    r"\b(?:with|met|[Mm]eet|to|from|by|[Cc]all|[Cc]alled|[Aa]sk|[Aa]sked|[Tt]ell|[Tt]old|[Ee]mail|[Tt]hank"
    rf"|[Ii]nterviewed|Met|cc|[Ss]ister|[Bb]rother|[Ff]riend|[Pp]resent:|anrufen|[Mm]orgen|rappeler)[ ]"
    rf"((?:{_NAME})(?:(?:,[ ]|[ ]and[ ]|,[ ]and[ ]){_NAME})*)"
)
_BEFORE = re.compile(
    rf"(?:^|[.;:!?(\n][ ]?|\b(?:and|that)[ ])({_NAME})(?:['\u2019]s[ ](?:number|birthday|phone|address|email|job)\b"
    r"|[ ](?:said|says|prefers|likes|loves|hates|plays|will|wants|needs|presents|moves|starts|lives|works|knows|told"
    r"|thinks|asked|anrufen|is (?:the|my|our|allergic|married|from|in|at|a)\b))"
)
_LISTED = re.compile(rf"\(({_WORD}(?:, {_WORD})+)\)")
_PAIR = re.compile(
    rf"\b(?:with|[Pp]resent:)[ ]((?:{_TITLE}[ ])?{_NAME})(?:(?:,[ ]|[ ]and[ ])((?:{_TITLE}[ ])?{_NAME}))+"
)
_SPLIT = re.compile(r", and | and |, ")
_NOT = {*WEEKDAYS, *MONTHS, *STOP, "python", "postgres", "internet", "vienna", "lisbon", "monday"}


def find(text: str, known: Collection[str] = ()) -> list[str]:
    """Names in the order they appear, each once; `known` are names to find wherever they stand."""
    places: dict[str, int] = {}
    for name, at in _candidates(text, known):
        if name and not (set(name.lower().split()) & _NOT):
            places[name] = min(at, places.get(name, at))
    # "Weber" alone, or the title apart, is the person already named in full.
    whole = [n for n in places if not any(n != other and f" {n}" in f" {other}" for other in places)]
    return sorted(whole, key=lambda name: places[name])


def _candidates(text: str, known: Collection[str]) -> Iterator[tuple[str, int]]:
    for found in _TITLED.finditer(text):
        yield found[1], found.start(1)
    for found in _HANDLE.finditer(text):
        yield found[1], found.start(1)
    for pattern in (_AFTER, _LISTED):
        for found in pattern.finditer(text):
            yield from ((name, found.start(1)) for name in _SPLIT.split(found[1]))
    for found in _BEFORE.finditer(text):
        yield found[1], found.start(1)
    for found in _PAIR.finditer(text):
        yield from ((name, found.start()) for name in found.groups() if name)
    for name in known:
        if len(name) > 1 and (found_at := re.search(rf"\b{re.escape(name)}\b", text)):
            yield name, found_at.start()
