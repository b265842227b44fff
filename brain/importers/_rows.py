"""Column work that importers share: what is unknown becomes NULL, what is impossible is rejected."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from brain.importers._keys import Int64s, Keys
from brain.models import EARLIEST_US, LATEST_US, Rejected


def kept(values: npt.NDArray[Any], keep: npt.NDArray[np.bool_] | pa.BooleanArray) -> pa.Array:
    """The values, NULL where `keep` is false."""
    if isinstance(keep, pa.Array):
        keep = keep.to_numpy(zero_copy_only=False)
    return pa.array(values, mask=~keep)


def null_where(array: pa.Array, value: object) -> pa.Array:
    """The array with NULL in place of `value`."""
    same = pc.equal(array, pa.scalar(value, array.type))
    return pc.if_else(same, pa.scalar(None, array.type), array)


def known_or_null(instants: pa.Int64Array, epoch_us: int) -> pa.Int64Array:
    """Microseconds since an earlier epoch as microseconds since 1970; NULL where no plausible instant is given."""
    raw = instants.fill_null(0).to_numpy()
    return kept(raw - epoch_us, _plausible(raw, epoch_us))


def reject_times(
    rows: pa.RecordBatch, column: str, epoch_us: int, table: str
) -> tuple[pa.RecordBatch, Int64s, list[Rejected]]:
    """The rows whose instant is plausible, these instants since 1970, and the rejects that name the raw value."""
    raw = rows.column(column).to_numpy()
    good = _plausible(raw, epoch_us)
    if good.all():
        return rows, raw - epoch_us, []
    ids = rows.column("id").to_numpy()[~good].tolist()
    rejects = [
        Rejected(f"{table}.id={native}", f"{column} {value} is no plausible instant")
        for native, value in zip(ids, raw[~good].tolist(), strict=True)
    ]
    return rows.filter(pa.array(good)), raw[good] - epoch_us, rejects


def split_known(
    rows: pa.RecordBatch, column: str, refs: Keys, table: str
) -> tuple[pa.RecordBatch, list[Rejected]]:
    """The rows whose URL is known, and the rejects for the others."""
    named = rows.column(column).to_numpy()
    found, _ = refs.find(named)
    if found.all():
        return rows, []
    ids = rows.column("id").to_numpy()[~found].tolist()
    rejects = [
        Rejected(f"{table}.id={native}", f"its URL {ref} is not in the file")
        for native, ref in zip(ids, named[~found].tolist(), strict=True)
    ]
    return rows.filter(pa.array(found)), rejects


def dictionary(
    codes: npt.NDArray[np.int64], meaning: Mapping[int, str], words: Sequence[str], other: str | None
) -> pa.DictionaryArray:
    """Small codes as one of `words`; codes without a meaning become `other`, or NULL."""
    table = np.full(257, words.index(other) if other else -1, np.int8)
    for code, word in meaning.items():
        table[code] = words.index(word)
    indices = table[np.where((codes >= 0) & (codes < 256), codes, 256)]
    return pa.DictionaryArray.from_arrays(pa.array(indices, mask=indices < 0), pa.array(words, pa.string()))


def _plausible(raw: Int64s, epoch_us: int) -> npt.NDArray[np.bool_]:
    return (raw >= EARLIEST_US + epoch_us) & (raw < LATEST_US + epoch_us)
