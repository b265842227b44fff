"""What every embedding model offers, and how it is told apart from others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Called as (texts done, texts in all), from the thread that called `embed`, in growing order.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Names one vector space: vectors of models that differ in any field must not be compared.

    `variant` tells apart different renderings of the same weights, such as `int8-1`.
    """

    id: str
    revision: str
    dimension: int
    weights_sha256: str
    variant: str = ""


class Embedder(Protocol):
    """A loaded embedding model. Safe to call from several threads at once."""

    @property
    def identity(self) -> ModelIdentity:
        """The vector space that `embed` and `embed_query` give vectors of."""
        ...

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> "NDArray[np.float32]":
        """One vector for each text, in order: [len(texts), dimension], each of unit length.

        Texts longer than the model takes are cut off at their end. An empty text has a vector too.
        """
        ...

    def embed_query(self, text: str) -> "NDArray[np.float32]":
        """The vector [dimension] to look up documents with, made for one short text at a time."""
        ...
