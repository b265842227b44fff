"""A tiny real embedder for tests: words of one meaning share an axis, other words get one of their own."""

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from brain.embedding import ModelIdentity

_MEANINGS = (
    "sourdough bread loaf loaves yeast bake baking",
    "ankle sprained twisted foot injury",
    "kubernetes container ingress cluster",
    "flight flights airline plane lisbon",
)
_AXES = {word: axis for axis, words in enumerate(_MEANINGS) for word in words.split()}
_OTHERS: dict[str, int] = {}  # every other word gets the next free axis, as long as there are any
_DIMENSION = 384


class Concepts:
    """Counts how many texts it has embedded, so that tests can tell work done from work saved."""

    def __init__(self, revision: str = "1", dimension: int = _DIMENSION) -> None:
        self.identity = ModelIdentity("concepts", revision, dimension, "0" * 64)
        self.embedded: list[str] = []

    def embed(
        self, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        self.embedded += texts
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._vector(text)

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.zeros(self.identity.dimension, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            spare = self.identity.dimension - len(_MEANINGS)
            other = len(_MEANINGS) + _OTHERS.setdefault(word, len(_OTHERS)) % spare
            vector[_AXES.get(word, other)] += 2.0 if word in _AXES else 0.5
        length = float(np.linalg.norm(vector))
        if length == 0:
            vector[-1] = length = 1.0
        return vector / length
