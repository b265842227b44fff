"""From what a file says to what the lake may keep: deny list, scrub, keys, normalised URLs.

One :class:`Preparer` serves one file. It takes the importer's batches in order and hands back columns ready to
merge; nothing that a deny list names, and no secret in a URL or title, leaves it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from brain import scrub, urls
from brain.policy import Policy

Ids = npt.NDArray[np.uint64]


class KeyMap:
    """A growing map from a file's own integer ids to lake keys; 16 bytes an entry."""

    def __init__(self) -> None:
        self._ids = np.empty(0, np.int64)
        self._keys = np.empty(0, np.uint64)
        self._places: npt.NDArray[np.int32] | None = (
            None  # of each id, counted from the first; made when asked
        )

    def add(self, ids: npt.NDArray[np.int64], keys: Ids) -> None:
        """Take more pairs. Files hand out ids in order, so appending is the common case."""
        joined = not len(self._ids) or not len(ids) or ids[0] > self._ids[-1]
        in_order = joined and bool(np.all(ids[1:] > ids[:-1]))
        self._ids = np.concatenate([self._ids, ids])
        self._keys = np.concatenate([self._keys, keys])
        self._places = None
        if not in_order:
            order = np.argsort(self._ids, kind="stable")
            self._ids, self._keys = self._ids[order], self._keys[order]

    def find(self, ids: npt.NDArray[np.int64]) -> tuple[Ids, npt.NDArray[np.bool_]]:
        """The keys of `ids`, and which of them are known; an unknown one's key is 0."""
        if not len(self._ids):
            return np.zeros(len(ids), np.uint64), np.zeros(len(ids), np.bool_)
        at = self._look_up(ids)
        known = self._ids[at] == ids
        return np.where(known, self._keys[at], np.uint64(0)), known

    def _look_up(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.integer[Any]]:
        """Where each id would stand."""
        first, last = int(self._ids[0]), int(self._ids[-1])
        span = last - first + 1
        if span > 4 * len(self._ids):  # too thin for a table
            return np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        if self._places is None:
            self._places = np.zeros(span, np.int32)
            self._places[self._ids - first] = np.arange(len(self._ids), dtype=np.int32)
        return self._places[np.clip(ids, first, last) - first]


class Preparer:
    """Turns one file's batches into mergeable columns and counts what it held back."""

    def __init__(self, key: bytes, policy: Policy) -> None:
        self._key = key
        self._policy = policy
        self._urls = KeyMap()
        self._denied_refs = np.empty(0, np.int64)
        self._visits = KeyMap()
        self._unresolved: list[pl.DataFrame] = []
        self.denied_urls = 0
        self.denied_visits = 0
        self.orphan_visits = 0

    def urls(
        self, rows: pa.RecordBatch, known: Callable[[pl.Series], pl.Series]
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Columns of `store.urls` for a batch, in two parts: URLs the lake lacks, and what is newer of the others.

        `known(url_ids)` says which ids the lake already has; only the rest is normalised and scrubbed in full.
        """
        frame = pl.DataFrame(rows)
        denied = self._policy.denied(frame["url"])
        if denied.any():
            self.denied_urls += int(denied.sum())
            self._denied_refs = np.union1d(self._denied_refs, frame.filter(denied)["url_ref"].to_numpy())
            frame = frame.filter(~denied)
        ids = urls.url_ids(frame["url"], self._key)
        self._urls.add(frame["url_ref"].to_numpy(), ids.to_numpy())
        frame = frame.select(
            ids.alias("url_id"),
            "url",
            self._titles(frame["title"]).alias("title"),
            pl.col("last_visit_us").cast(pl.Datetime("us", "UTC")).alias("known_last_visit"),
            pl.col("visit_count").alias("known_visits"),
            "typed_count",
        ).unique("url_id", keep="last", maintain_order=True)
        is_known = known(frame["url_id"])
        fresh = frame.filter(~is_known)
        clean = scrub.scrub(fresh["url"], self._key)
        norm = urls.normalise(clean)
        fresh = fresh.with_columns(
            clean.alias("url"),
            *norm.get_columns(),
            urls.page_ids(norm["url_norm"], self._key).alias("page_id"),
        )
        return fresh, frame.filter(is_known).drop("url")

    def visits(self, rows: pa.RecordBatch) -> pl.DataFrame:
        """Columns of `store.visits` and `store.observations` for a batch, one row per visit.

        Visits of denied URLs are dropped and counted; visits of URLs the file never named are counted as orphans.
        """
        frame = pl.DataFrame(rows)
        refs = frame["url_ref"].to_numpy()
        url_ids, found = self._urls.find(refs)
        if not found.all():
            denied = int(np.isin(refs[~found], self._denied_refs).sum())
            self.denied_visits += denied
            self.orphan_visits += int((~found).sum()) - denied
            frame, url_ids = frame.filter(pl.Series(found)), url_ids[found]
        keys = urls.visit_keys(pl.Series(url_ids), frame["visited_us"], self._key)
        self._visits.add(frame["native_id"].to_numpy(), keys.to_numpy())
        frame = frame.with_columns(
            keys.alias("visit_key"),
            pl.Series("url_id", url_ids),
            pl.col("visited_us").cast(pl.Datetime("us", "UTC")).alias("visited_at"),
            pl.col("navigation", "origin").cast(pl.String),
            self._titles(frame["title"]).alias("title"),
            self._resolve(frame["from_native_id"]).alias("from_key"),
            self._resolve(frame["opener_native_id"]).alias("opener_key"),
        )
        late = frame.filter(
            (pl.col("from_native_id").is_not_null() & pl.col("from_key").is_null())
            | (pl.col("opener_native_id").is_not_null() & pl.col("opener_key").is_null())
        )
        if late.height:
            self._unresolved.append(late.select("visit_key", "from_native_id", "opener_native_id"))
        return frame.drop("url_ref", "visited_us", "from_native_id", "opener_native_id").unique(
            "visit_key", keep="first", maintain_order=True
        )

    def late_links(self) -> pl.DataFrame:
        """Links that pointed forward in the file: visit_key, from_key, opener_key, resolved now that all is read."""
        if not self._unresolved:
            return pl.DataFrame(
                schema={"visit_key": pl.UInt64, "from_key": pl.UInt64, "opener_key": pl.UInt64}
            )
        frame = pl.concat(self._unresolved)
        return frame.select(
            "visit_key",
            self._resolve(frame["from_native_id"]).alias("from_key"),
            self._resolve(frame["opener_native_id"]).alias("opener_key"),
        ).filter(pl.col("from_key").is_not_null() | pl.col("opener_key").is_not_null())

    def _resolve(self, native: pl.Series) -> pl.Series:
        keys, known = self._visits.find(native.fill_null(-1).to_numpy())
        return pl.select(pl.when(pl.Series(known)).then(pl.Series(keys))).to_series()

    def _titles(self, titles: pl.Series) -> pl.Series:
        """Titles with '' as NULL and secrets replaced."""
        titles = titles.cast(pl.String)
        return scrub.scrub_texts(titles.set(titles == "", None), self._key)
