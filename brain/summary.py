"""A short summary made of a text's own sentences, where no language model is at hand.

The sentences that share most words with the rest are kept, in their order; a weight falls with the place, since texts
say first what they are about. Nothing is invented: every sentence stands in the text as it is.
"""

import math
import re
from collections import Counter

_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[。！？])|\n+")
_WORD = re.compile(r"[^\W\d_]{3,}")
_MOST_SENTENCES = 400


def summarise(text: str, sentences: int = 3, longest: int = 600) -> str:
    """The telling sentences of `text`, at most so many and at most `longest` characters; '' for a blank text."""
    found = [part.strip() for part in _SENTENCE.split(text[:200_000]) if part and part.strip()][
        :_MOST_SENTENCES
    ]
    # Menus and captions are short and end in no stop: they tell nothing when there is running text.
    running = [part for part in found if len(part) >= 40 and part[-1] in ".!?。！？\"')"] or found
    words = [Counter(word.lower() for word in _WORD.findall(part)) for part in running]
    shared = Counter(word for each in words for word in each)
    known = {word: math.log1p(count) for word, count in shared.items() if count > 1}
    scores = [
        sum(known.get(word, 0.0) for word in each) / math.sqrt(max(8, sum(each.values()))) / (1 + place / 20)
        for place, each in enumerate(words)
    ]
    best = sorted(range(len(running)), key=lambda place: (-scores[place], place))
    kept: list[int] = []
    size = 0
    for place in best[:sentences]:
        if kept and size + len(running[place]) + 1 > longest:
            continue
        kept.append(place)
        size += len(running[place]) + 1
    summary = " ".join(running[place] for place in sorted(kept))
    return summary if len(summary) <= longest else summary[: longest - 1].rstrip() + "…"
