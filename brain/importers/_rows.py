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


def known_or_null(instants: pa.Int64Array, epoch_us: int, to_us: int = 1) -> pa.Int64Array:
    """Instants since an earlier epoch as microseconds since 1970; NULL where no plausible instant is given.

    They count `to_us` microseconds each.
    """
    raw = instants.fill_null(0).to_numpy()
    good = _plausible(raw, epoch_us, to_us)
    return kept(np.where(good, raw, 0) * to_us - epoch_us, good)


def reject_times(
    rows: pa.RecordBatch, column: str, epoch_us: int, table: str, to_us: int = 1
) -> tuple[pa.RecordBatch, Int64s, list[Rejected]]:
    """The rows whose instant is plausible, these instants as microseconds since 1970, and the rejects.

    Instants count `to_us` microseconds each; a reject names the raw value.
    """
    raw = rows.column(column).to_numpy()
    good = _plausible(raw, epoch_us, to_us)
    rows, rejects = _rejected(rows, good, column, table, "id")
    return rows, raw[good] * to_us - epoch_us, rejects


def reject_seconds(
    rows: pa.RecordBatch, column: str, epoch_us: int, table: str, key: str = "id"
) -> tuple[pa.RecordBatch, Int64s, list[Rejected]]:
    """The same for instants in seconds, whole or not; `key` names the rows. See :func:`from_seconds`."""
    times, good = from_seconds(rows.column(column), epoch_us)
    rows, rejects = _rejected(rows, good, column, table, key)
    return rows, times[good], rejects


def from_seconds(seconds: pa.DoubleArray, epoch_us: int) -> tuple[Int64s, npt.NDArray[np.bool_]]:
    """Seconds since another epoch, `epoch_us` before 1970, as microseconds since 1970; and which are plausible.

    The nearest microsecond of each double, halves to even: the same double is always the same instant. What is no
    plausible instant, or NULL, comes out as 0.
    """
    raw = seconds.fill_null(np.nan).to_numpy()
    good = np.abs(raw) < 2**40
    sound = np.where(good, raw, 0.0)
    # Whole seconds apart from their fraction, so that the product keeps every digit of it.
    whole = np.floor(sound)
    fraction = np.rint((sound - whole) * 1e6).astype(np.int64)
    times = whole.astype(np.int64) * 1_000_000 + fraction - epoch_us
    good &= (times >= EARLIEST_US) & (times < LATEST_US)
    return np.where(good, times, 0), good


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


def _rejected(
    rows: pa.RecordBatch, good: npt.NDArray[np.bool_], column: str, table: str, key: str
) -> tuple[pa.RecordBatch, list[Rejected]]:
    """The good rows, and a reject for each other one that names its raw instant."""
    if good.all():
        return rows, []
    bad = rows.filter(pa.array(~good))
    rejects = [
        Rejected(f"{table}.{key}={native}", f"{column} {value} is no plausible instant")
        for native, value in zip(bad.column(key).to_pylist(), bad.column(column).to_pylist(), strict=True)
    ]
    return rows.filter(pa.array(good)), rejects


def _plausible(raw: Int64s, epoch_us: int, to_us: int) -> npt.NDArray[np.bool_]:
    return (raw >= (EARLIEST_US + epoch_us) // to_us) & (raw < (LATEST_US + epoch_us) // to_us)
