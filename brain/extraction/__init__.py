"""What a thought says of itself: its type, topics, people, action items and dates, found without any service.

    found = extract("Met Anna about the harbour; she sends figures by Friday.", created_at, zone)

Patterns come first; a model, where one is loaded, weighs in on the type alone, by similarity to prototypes. Nothing is
invented: people, topics and action items are spans of the text.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from brain.extraction import actions, dates, kinds, people, topics

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from brain.embedding import Embedder

TYPES = kinds.TYPES
_LONGEST = 20_000  # characters looked at


@dataclass(frozen=True, slots=True)
class Metadata:
    """`type` is one of TYPES, `dates` are ISO dates in the zone the text was written in, in order."""

    type: str
    topics: list[str] = field(default_factory=list)
    people: list[str] = field(default_factory=list)
    action_items: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)


def extract(
    text: str,
    written_at: datetime,
    zone: str = "UTC",
    known_people: Collection[str] = (),
    embedder: "Embedder | None" = None,
    vector: "NDArray[np.float32] | None" = None,
) -> Metadata:
    """Metadata of a text written at an instant in an IANA zone; `vector` is the embedder's of it. Never fails."""
    text = text[:_LONGEST]
    day = written_at.astimezone(ZoneInfo(zone)).date()
    named = people.find(text, known_people)
    items = actions.find(text)
    return Metadata(
        kinds.classify(text, named, items, embedder, vector),
        topics.find(text, named),
        named,
        items,
        [found.isoformat() for found in dates.find(text, day)],
    )
