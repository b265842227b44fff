"""The default embedder: all-MiniLM-L6-v2 in int8 on onnxruntime, without torch.

How it gets its speed on a CPU: texts are sorted by length and cut into micro-batches of a few hundred
tokens, which keeps padding low and a batch within the caches; each batch runs on one thread, and as many
batches at once as there are cores. That beats one big batch spread over all cores, where threads wait for
each other at every operator.

A text's vector depends slightly on the batch it was in (activations are quantised per batch; cosine about
.99 between two batchings), so vectors are to be compared with a tolerance, never for equality.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brain.embedding import installed
from brain.embedding.protocol import ModelIdentity, Progress
from brain.errors import ModelUnavailable

MAX_TOKENS = 256  # max_seq_length in the model's sentence_bert_config.json, both special tokens included

_BATCH_TOKENS = 640
_WINDOW = 8_192  # texts tokenised and sorted together: bounds memory, and is plenty for even batches
# Tokens beyond MAX_TOKENS are dropped, so a long text need not be tokenised to its end. A word of more than
# 100 characters is one token; text in which this cut shows (32 characters a token) has nothing to embed.
_MAX_CHARACTERS = MAX_TOKENS * 32


class MiniLM:
    """The installed model, ready to run; see `brain.embedding.Embedder` for what its methods promise.

    `graph` overrides the installed int8 graph with another of the same inputs and output.
    Raises ModelUnavailable when the model is not installed, is damaged, or cannot be run here.
    """

    def __init__(self, *, threads: int | None = None, root: Path | None = None, graph: Path | None = None):
        model = installed.find(root)
        self.threads = max(1, threads or _cores())
        self._identity = model.identity
        self._tokenizer = _load_tokenizer(model.tokenizer)
        self._session = _load_session(graph or model.graph)
        self._pool: ThreadPoolExecutor | None = None
        self._pool_made = threading.Lock()

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self._identity.dimension), np.float32)
        done = 0
        for start in range(0, len(texts), _WINDOW):
            window = texts[start : start + _WINDOW]
            for rows, part in self._embed_window(window):
                vectors[start + rows] = part
                done += len(rows)
                if progress:
                    progress(done, len(texts))
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        ids = np.array([self._encode([text])[0].ids], np.int64)
        vector: NDArray[np.float32] = self._run(ids, np.ones_like(ids))[0]
        return vector

    def _embed_window(self, texts: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Micro-batches as (positions in `texts`, their vectors), in no particular order of positions."""
        token_lists = [encoding.ids for encoding in self._encode(texts)]
        lengths = np.fromiter(map(len, token_lists), np.int64, len(token_lists))
        # Longest first: the last batches to finish are the short ones, so no core is left waiting for long.
        order = np.argsort(-lengths, kind="stable")
        lengths = lengths[order]
        tokens = np.fromiter(chain.from_iterable(token_lists[i] for i in order), np.int64, int(lengths.sum()))
        ends = np.cumsum(lengths)
        cuts = _cut(lengths)

        def run(cut: tuple[int, int]) -> NDArray[np.float32]:
            first, last = cut
            counts = lengths[first:last]
            mask = np.arange(counts[0]) < counts[:, None]
            ids = np.zeros(mask.shape, np.int64)
            ids[mask] = tokens[ends[first] - counts[0] : ends[last - 1]]
            return self._run(ids, mask.astype(np.int64))

        results = map(run, cuts) if len(cuts) == 1 or self.threads == 1 else self._threads().map(run, cuts)
        for (first, last), part in zip(cuts, results, strict=True):
            yield order[first:last], part

    def _encode(self, texts: Sequence[str]) -> list[Any]:
        """Token ids, 2 to MAX_TOKENS for each text."""
        texts = [text[:_MAX_CHARACTERS] for text in texts]
        try:
            return self._tokenizer.encode_batch_fast(texts)  # type: ignore[no-any-return]
        except (UnicodeEncodeError, TypeError):  # half a surrogate pair, as browsers store them now and then
            whole = [text.encode("utf-8", "replace").decode() for text in texts]
            return self._tokenizer.encode_batch_fast(whole)  # type: ignore[no-any-return]

    def _run(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self._session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        return vectors

    def _threads(self) -> ThreadPoolExecutor:
        with self._pool_made:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="minilm")
            return self._pool


def _cut(lengths: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Slices of the descending `lengths` whose padded size stays within the budget, or of one text."""
    cuts, first = [], 0
    while first < len(lengths):
        last = min(len(lengths), first + max(1, _BATCH_TOKENS // int(lengths[first])))
        cuts.append((first, last))
        first = last
    return cuts


def _cores() -> int:
    """Cores this process may run on, which in a container or under taskset are fewer than the machine's."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1


def _load_tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more specific
        raise ModelUnavailable(f"{path} cannot be read; run `brain model install`") from error
    tokenizer.no_padding()  # the published file pads to 128 and cuts there
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _load_session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only; it writes to stderr
    try:
        return onnxruntime.InferenceSession(
            str(path),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=["SkipLayerNormFusion"],  # this fusion is slower than what it replaces
        )
    except Exception as error:  # the library's errors have no common public base
        raise ModelUnavailable(f"{path} cannot be run by onnxruntime; run `brain model install`") from error
