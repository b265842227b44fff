"""What a text is about: its one to three most telling phrases (runs of words that are neither common nor verbs)."""

import re
from collections.abc import Collection

from brain.extraction.words import IMPERATIVES, MONTHS, STOP, WEEKDAYS

_URL = re.compile(r"\w+://\S+|\S+@\S+")
_TOKEN = re.compile(r"[^\W_]+(?:['\u2019.-][^\W_]+)*|[^\w\s]|\n")
_TAG = re.compile(r"(?<!\w)#([^\W\d_][\w-]{1,40})")
_MOST, _LONGEST = 3, 3
# After one of these even a word that may be a verb is a thing.
_DETERMINERS = {"the", "a", "an", "my", "our", "your", "his", "her", "their", "this", "that", "new", "of"}
_COMMON = STOP | set(WEEKDAYS) | set(MONTHS)
# Words that carry a sentence and not its subject.
_WEAK = re.compile(r".{2,}(?:ly|ing|ed)$")


def find(text: str, people: Collection[str] = ()) -> list[str]:
    """Up to three topics, the most telling first, as they are written; hashtags come before all else."""
    tags = list(dict.fromkeys(found[1] for found in _TAG.finditer(text)))[:_MOST]
    plain = _URL.sub(" . ", text)
    for name in people:
        plain = plain.replace(name, " . ")
    scores: dict[str, float] = {}
    written: dict[str, str] = {}
    counts: dict[str, int] = {}
    phrases = _phrases(plain)
    for phrase in phrases:
        for word in phrase:
            counts[word.lower()] = counts.get(word.lower(), 0) + 1
    for place, phrase in enumerate(phrases):
        key = " ".join(phrase).lower()
        early = 1.0 / (1 + 0.15 * place)
        weight = sum(_weight(word) for word in phrase) / len(phrase) ** 0.5
        repeated = sum(counts[word.lower()] - 1 for word in phrase) * 0.3
        scores[key] = scores.get(key, 0) + weight * early + repeated
        written.setdefault(key, " ".join(phrase))
    chosen = list(tags)
    for key in sorted(scores, key=lambda k: -scores[k]):
        if len(chosen) >= _MOST:
            break
        if not any(key in other.lower() or other.lower() in key for other in chosen):
            chosen.append(written[key])
    return chosen


def _phrases(text: str) -> list[list[str]]:
    phrases: list[list[str]] = [[]]
    before = ""
    for token in _TOKEN.findall(text):
        word = token.lower()
        is_verb = not phrases[-1] and word in IMPERATIVES and before not in _DETERMINERS
        is_bare_number = word.isdigit() and not phrases[-1]
        if not token[0].isalnum() or word in _COMMON or is_verb or is_bare_number:
            phrases.append([])
        elif len(phrases[-1]) >= _LONGEST:
            phrases.append([token])
        else:
            phrases[-1].append(token)
        before = word
    return [phrase for phrase in phrases if phrase and any(len(word) > 2 for word in phrase)]


def _weight(word: str) -> float:
    weight = 1.0 + 0.08 * min(len(word), 10)
    if _WEAK.match(word):
        weight -= 0.7
    if word[0].isupper() or any(c.isdigit() for c in word):
        weight += 0.3
    return weight
