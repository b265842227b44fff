"""What a text asks to be done."""

import re
from collections.abc import Iterator

from brain.extraction.words import IMPERATIVES

_CHECKBOX = re.compile(r"^\s*[-*+]?\s*\[( |x|X)\]\s+(.+)$")
_MARKED = re.compile(
    r"(?:^|[.;!?]\s+|:\s+)(?:TODO|To-?do|Task|Action(?: item)?|Remember|Don['\u2019]t forget|Do not forget|Remind me"
    r"|Penser)\b:?\s*"
    r"(?:to\s+|a\s+|\u00e0\s+)?(.+?)(?=[.;!?](?:\s|$)|$)",
    re.IGNORECASE,
)
_DUTY = re.compile(
    r"\b(?:[Nn]eed(?:s)? to|[Mm]ust|[Hh]a(?:ve|s) to|[Ss]hould|[Ww]e will|I will|I['\u2019]ll"
    r"|(?:[Rr]emember|[Ff]orget) to)\s+([a-z][^.;!?\n]+)"
)
_PROMISE = re.compile(r"\b((?:[A-Z][\w'-]+ ){0,2}[A-Z][\w'-]+ will [a-z][^.;!?\n]+)")
_SENTENCE = re.compile(r"[^.;!?\n]+(?:[.](?=\d)[^.;!?\n]+)*")
_JOINT = re.compile(r",? and then |, and |,\s+| and ")
_WHEN = re.compile(
    r"\s+(?:(?:by|before|until|till|on|for|next|in|this)\s+)?(?:today|tomorrow|tonight|(?:next\s+)?(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|the\s+\d+(?:st|nd|rd|th)\s+of\s+\w+|\d{1,2}\s+[A-Z]\w+(?:\s+\d{4})?|[A-Z]\w+\s+\d{1,2}|\d{4}-\d\d-\d\d"
    r"|in the week of .+|demain|before the .+ on .+)$",
    re.IGNORECASE,
)
_MOST = 10
# German puts the verb last.
_AT_THE_END = {"anrufen", "kaufen", "bezahlen", "schreiben", "buchen", "bestellen"}


def find(text: str) -> list[str]:
    """Action items as they are worded, without the words that mark them and without their date; at most ten."""
    found: dict[str, None] = {}
    for item in _items(text):
        cleaned = _trimmed(item)
        if len(cleaned) > 3 and not any(cleaned in other for other in found):
            found[cleaned] = None
    return list(found)[:_MOST]


def _items(text: str) -> Iterator[str]:
    lines = text.splitlines()
    boxes = [box for line in lines if (box := _CHECKBOX.match(line))]
    if boxes:
        yield from (box[2] for box in boxes if box[1] == " ")
    for line in lines:
        if _CHECKBOX.match(line) or "://" in line.split(" ", 1)[0]:
            continue
        marked = [m[1] for m in _MARKED.finditer(line)]
        for item in marked:
            yield from _parts(item, True)
        if marked:
            continue
        yield from (m[1] for m in _PROMISE.finditer(line) if not m[1].startswith(("I ", "We ")))
        for duty in _DUTY.finditer(line):
            if not re.match(r"(?:not|be|have)\b", duty[1]):
                yield duty[1]
        for sentence in _SENTENCE.findall(line):
            yield from _parts(sentence.strip(), False)


def _parts(sentence: str, marked: bool) -> Iterator[str]:
    """The clauses of a sentence that begins with an imperative, cut where another one begins."""
    words = sentence.split()
    first = words[0].lower().strip(",:") if words else ""
    last = words[-1].lower() if words else ""
    if not marked and first not in IMPERATIVES and last not in _AT_THE_END:
        return
    if not marked and (len(words) < 2 or first in ("look", "note", "learn") or first.endswith("ed")):
        return
    clause = ""
    rest = sentence
    while joint := _JOINT.search(rest):
        following = rest[joint.end() :].split(" ", 1)[0].lower()
        if following in IMPERATIVES:
            yield clause + rest[: joint.start()]
            clause, rest = "", rest[joint.end() :]
        else:
            clause, rest = clause + rest[: joint.end()], rest[joint.end() :]
    yield clause + rest


def _trimmed(item: str) -> str:
    item = item.strip().rstrip(".,;:!")
    item = re.sub(r"^(?:to|and|that)\s+", "", item)
    return _WHEN.sub("", item).strip().rstrip(",")
