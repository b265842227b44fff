"""Any other embedding model, through the `sentence-transformers` extra.

The model must be on this machine: a folder, or a name that the Hugging Face cache already holds. Nothing is
downloaded and the hub is never asked, so a hub that cannot be reached blocks nothing.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brain.embedding.installed import sha256
from brain.embedding.protocol import ModelIdentity, Progress
from brain.errors import ModelUnavailable, first_line

_EXTRA = "`pip install 'brainlake[sentence-transformers]'`"
_SLICE = 1_024  # texts between two progress reports; the library sorts them by length on its own


class SentenceTransformerEmbedder:
    """A model run by sentence-transformers; see `brain.embedding.Embedder` for what its methods promise.

    Queries get the model's own query prompt where it has one. `threads` sets torch's threads for the whole
    process. Raises ModelUnavailable when the extra is missing or the model is not on this machine.
    """

    def __init__(self, name: str, *, threads: int | None = None):
        try:
            import torch
            import transformers
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ModelUnavailable(f"the model {name!r} needs the extra: {_EXTRA}") from error
        folder = _folder(name)
        transformers.utils.logging.disable_progress_bar()  # loading would draw on stderr
        if threads:
            torch.set_num_threads(threads)
        try:
            self._model: Any = SentenceTransformer(str(folder), local_files_only=True)
        except Exception as error:  # as many kinds as there are model formats
            raise ModelUnavailable(
                f"the model in {folder} cannot be loaded: {first_line(error)[:160]}"
            ) from error
        self._identity = ModelIdentity(
            id=folder.name if Path(name).expanduser().is_dir() else name,
            revision=_revision(folder),
            dimension=len(self._model.encode_query("")),
            weights_sha256=_weights_sha256(folder),
            variant="sentence-transformers",
        )

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self._identity.dimension), np.float32)
        for start in range(0, len(texts), _SLICE):
            part = [_encodable(text) for text in texts[start : start + _SLICE]]
            vectors[start : start + len(part)] = self._model.encode_document(
                part, normalize_embeddings=True, show_progress_bar=False
            )
            if progress:
                progress(start + len(part), len(texts))
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._model.encode_query(
            _encodable(text), normalize_embeddings=True, show_progress_bar=False
        )
        return vector.astype(np.float32, copy=False)


def _encodable(text: str) -> str:
    """`text`, with half surrogate pairs replaced: tokenizers refuse them."""
    return text.encode("utf-8", "replace").decode()


def _folder(name: str) -> Path:
    """The folder of that name, or the cached snapshot of that hub name; the hub is not asked."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder.absolute()
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, local_files_only=True))
    except (ImportError, OSError, ValueError) as error:
        raise ModelUnavailable(
            f"the model {name!r} is no folder and not in the Hugging Face cache; fetch it once with "
            f'`hf download {name}`, or use embedder = "minilm"'
        ) from error


def _revision(folder: Path) -> str:
    """The hub's commit for a cached snapshot, else a hash of the configuration files."""
    if folder.parent.name == "snapshots":
        return folder.name
    return _digest(sorted(folder.rglob("*.json")), folder)[:40]


def _weights_sha256(folder: Path) -> str:
    """SHA-256 of the weights; of their hashes, by path, when they are spread over several files."""
    for pattern in ("*.safetensors", "*.bin"):
        if found := sorted(folder.rglob(pattern)):
            return _file_sha256(found[0]) if len(found) == 1 else _digest(found, folder)
    raise ModelUnavailable(f"{folder} holds no model weights")


def _digest(files: Sequence[Path], folder: Path) -> str:
    lines = (f"{_file_sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _file_sha256(path: Path) -> str:
    # The hub's cache names a large file by its SHA-256, which spares reading gigabytes at every start.
    target = path.resolve()
    if target.parent.name == "blobs" and re.fullmatch(r"[0-9a-f]{64}", target.name):
        return target.name
    return sha256(path)
