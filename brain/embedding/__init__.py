"""Texts to vectors, on this machine, by a model that is named and never swapped silently.

`load()` gives the default model, all-MiniLM-L6-v2 as installed by `brain model install`; `load(name)` any
other model of the `sentence-transformers` extra. Loading never reaches the network.
"""

from brain.embedding.protocol import Embedder, ModelIdentity, Progress

__all__ = ["DEFAULT", "Embedder", "ModelIdentity", "Progress", "load"]

DEFAULT = "minilm"


def load(name: str = DEFAULT, *, threads: int | None = None) -> Embedder:
    """The model of that name: `minilm`, or a name or folder that sentence-transformers knows.

    `threads` bounds the cores it may use; by default all that this process may run on.
    Raises ModelUnavailable, saying what to do, when the model is not on this machine or its files are
    damaged.
    """
    # Imported here so that asking for the protocol alone stays free of numpy.
    if name == DEFAULT:
        from brain.embedding.minilm import MiniLM

        return MiniLM(threads=threads)
    from brain.embedding.sentence_transformers import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(name, threads=threads)
