"""Looking up many row ids at once."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]


class Keys:
    """Distinct sorted numbers and their places; dense ones, as row ids mostly are, are looked up in a table."""

    def __init__(self, keys: Int64s) -> None:
        self._keys = keys
        self._table: npt.NDArray[np.int32] | None = None
        if len(keys) and int(keys[-1]) - int(keys[0]) <= 4 * len(keys) + 65_536:
            self._table = np.full(int(keys[-1]) - int(keys[0]) + 1, -1, np.int32)
            self._table[keys - keys[0]] = np.arange(len(keys), dtype=np.int32)

    @classmethod
    def of(cls, parts: Iterable[Int64s]) -> Self:
        """The distinct numbers of all parts, in any order; none where there is no part."""
        return cls(np.unique(np.concatenate([np.empty(0, np.int64), *parts])))

    def find(self, wanted: Int64s) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
        """For each of `wanted`: whether it is among the keys, and at which place (any place where it is not)."""
        if not len(self._keys):
            return np.zeros(len(wanted), np.bool_), np.zeros(len(wanted), np.intp)
        if self._table is None:
            place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
            return self._keys[place] == wanted, place
        low, high = self._keys[0], self._keys[-1]
        inside = (wanted >= low) & (wanted <= high)
        place = self._table[np.where(inside, wanted, low) - low].astype(np.intp)
        return inside & (place >= 0), np.maximum(place, 0)

    def pick(
        self, values: npt.NDArray[Any], wanted: Int64s
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[Any]]:
        """For each of `wanted`: whether it is among the keys, and the value at its key's place."""
        found, place = self.find(wanted)
        return found, values[place] if len(values) else np.zeros(len(wanted), values.dtype)
