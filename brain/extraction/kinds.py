"""Which type of thought a text is."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from brain.embedding import Embedder

TYPES = (
    *("observation", "task", "idea", "reference", "person_note"),
    *("decision", "lesson", "meeting", "journal"),
)
# (type, weight, pattern): weights add up; the highest sum wins, the earlier type of TYPES where they tie.
_CUES: tuple[tuple[str, float, re.Pattern[str]], ...] = tuple(
    (kind, weight, re.compile(pattern, re.IGNORECASE | re.MULTILINE))
    for kind, weight, pattern in (
        ("task", 3, r"^\s*(?:todo|to-?do|task)\b|^\s*[-*]?\s*\[[ x]\]"),
        ("task", 3, r"\b(?:remind me|don['\u2019]t forget|do not forget|penser [a\u00e0])\b"),
        ("task", 2, r"^(?:i |we )?(?:need to|must|have to)\b|\bfollow up with\b"),
        ("idea", 3, r"^idea\b|\bwhat if\b|^how about\b|^hypothesis\b|^experiment:"),
        ("idea", 2, r"^(?:could|maybe)\b|\bwould be (?:nice|great|cool)\b|\bimagine\b"),
        (
            "decision",
            3,
            r"\b(?:decided|decision|we agreed to|agreed to drop|going with|settled on)\b|^chose\b|^decid",
        ),
        ("decision", 2, r"^we will (?:not )?\b|\bfinal\.$|\binstead of\b"),
        ("lesson", 3, r"\b(?:lesson|takeaway|learned|learnt|postmortem|worth remembering)\b|^mistake\b"),
        ("lesson", 2, r"^(?:never|always)\b|\bnext time\b"),
        (
            "meeting",
            3,
            r"^(?:met\b|meeting|stand-?up|kick-?off|retro|sync with|1:1|call with|interviewed|minutes)",
        ),
        ("meeting", 2, r"\b(?:present:|attendees|agenda|next meeting|meeting with)\b"),
        ("journal", 3, r"^dear diary|\b(?:today felt|slept|grateful|feeling)\b"),
        ("journal", 2, r"^i (?:want|feel|felt|said|walked|cried|woke)\b|^wrote\b|\bmy mood\b"),
        (
            "person_note",
            2.5,
            r"\b(?:prefers|is allergic|likes|plays the|used to live|moves to|birthday|starts (?:her|his|their))",
        ),
        ("person_note", 2, r"['\u2019]s (?:number|birthday|phone|address)|\bis the new\b"),
        (
            "reference",
            2.5,
            r"\w+://\S+|^recipe\b|^see \S|^reading list\b|^note to self\b|\b(?:isbn|doi|rfc) ?\d",
        ),
        ("reference", 2, r"^\S+ -\w|\s--\w|\bchapters? \d"),
        ("observation", 2, r"^(?:noticed|interesting|turns out|observed)\b|\bturns out\b"),
    )
)
_PROTOTYPES = {
    "observation": "I noticed that something is the way it is.",
    "task": "Something I have to do by a certain day.",
    "idea": "A new idea for something that could be made.",
    "reference": "A link, a recipe, a command or a fact to look up later.",
    "person_note": "Something to remember about a person: what they like, where they live, what they do.",
    "decision": "We decided to do it this way and not that way.",
    "lesson": "A lesson learned from a mistake, to be remembered.",
    "meeting": "Notes of a meeting with people and what was said.",
    "journal": "Diary: how I feel today and how my day went.",
}
_MODEL_WEIGHT = 4.0


def classify(
    text: str,
    people: list[str],
    actions: list[str],
    embedder: "Embedder | None" = None,
    vector: "NDArray[np.float32] | None" = None,
) -> str:
    """The type that most speaks for; observation where nothing does."""
    scores = dict.fromkeys(TYPES, 0.0)
    scores["observation"] = 0.6
    for kind, weight, pattern in _CUES:
        if pattern.search(text):
            scores[kind] += weight
    if actions and text.lstrip().lower().startswith(actions[0].lower()[:12]):
        scores["task"] += 2.5
    elif actions:
        scores["task"] += 0.8
    if people and text.startswith(people[0]):
        scores["person_note"] += 1.2
    if embedder is not None:
        own = embedder.embed([text])[0] if vector is None else vector
        for kind, likeness in _likeness(own, embedder).items():
            scores[kind] += _MODEL_WEIGHT * likeness
    return max(TYPES, key=lambda kind: scores[kind])


_prototypes: dict[str, object] = {}


def _likeness(vector: "NDArray[np.float32]", embedder: "Embedder") -> dict[str, float]:
    """How much more than the average each type's prototype resembles the text of this vector."""
    import numpy as np

    known = _prototypes.get(str(embedder.identity))
    if known is None:
        known = embedder.embed(list(_PROTOTYPES.values()))
        _prototypes[str(embedder.identity)] = known
    cosines = np.asarray(known) @ vector
    return dict(zip(_PROTOTYPES, (cosines - cosines.mean()).tolist(), strict=True))
