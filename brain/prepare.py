"""From what a file says to what the lake may keep: deny list, scrub, keys, normalised URLs.

One :class:`Preparer` serves one file. It takes the importer's batches in order and hands back columns ready to
merge; nothing that a deny list names, and no secret in a URL or title, leaves it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from brain import ids, prepare_slack, scrub, urls
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


@dataclass(slots=True)
class Present:
    """What a file has been seen to hold: keys of its visits and bookmarks, and the instant of its newest visit."""

    visits: list[pl.Series] = field(default_factory=list)
    bookmarks: list[pl.Series] = field(default_factory=list)
    newest_us: int = 0

    def take(self, keys: pl.Series, visited_us: pl.Series) -> None:
        """Note visits."""
        self.visits.append(keys)
        newest = visited_us.max()
        self.newest_us = max(self.newest_us, newest if isinstance(newest, int) else 0)


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
        self.denied_records = 0
        self.present = Present()
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
        url_ids = urls.url_ids(frame["url"], self._key)
        self._urls.add(frame["url_ref"].to_numpy(), url_ids.to_numpy())
        frame = frame.select(
            url_ids.alias("url_id"),
            "url",
            self._texts(frame["title"]).alias("title"),
            _instants("last_visit_us").alias("known_last_visit"),
            pl.col("visit_count").alias("known_visits"),
            "typed_count",
        ).unique("url_id", keep="last", maintain_order=True)
        is_known = known(frame["url_id"])
        return self._fresh(frame.filter(~is_known)), frame.filter(is_known).drop("url")

    def bookmarks(
        self, rows: pa.RecordBatch, source: str, known: Callable[[pl.Series], pl.Series]
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Columns of `store.urls` for URLs the lake lacks, and of `store.bookmarks`, one row per place of a URL.

        `source` names the source for ever. Bookmarks of denied URLs are dropped and counted. The title given to a
        bookmark is not the page's title.
        """
        frame = self._allowed(pl.DataFrame(rows))
        shelves = frame["shelf"].cast(pl.String)
        frame = frame.with_columns(urls.url_ids(frame["url"], self._key).alias("url_id"))
        # Lists as JSON: ["a", "b"] and ["a, b"] are two folders.
        place = frame.select(
            pl.concat_str(
                pl.lit(source),
                shelves,
                pl.col("url_id").cast(pl.String),
                pl.struct("folder").struct.json_encode(),
                separator="\0",
            )
        ).to_series()
        fresh = frame.select(
            "url_id", "url", *(pl.lit(None, kind).alias(name) for name, kind in _UNKNOWN.items())
        ).unique("url_id", maintain_order=True)
        fresh = self._fresh(fresh.filter(~known(fresh["url_id"])))
        kept = frame.select(
            urls.record_ids(place, self._key, "bookmark").alias("bookmark_key"),
            "url_id",
            "native_id",
            self._texts(frame["title"]).alias("title"),
            "folder",
            "tags",
            self._texts(frame["note"]).alias("note"),
            _instants("added_us").alias("added_at"),
            "added_raw",
            _instants("modified_us").alias("modified_at"),
            _instants("last_used_us").alias("last_used_at"),
            shelves.alias("shelf"),
        ).unique("bookmark_key", keep="last", maintain_order=True)
        self.present.bookmarks.append(kept["bookmark_key"])
        return fresh, kept

    def texts(self, rows: pa.RecordBatch, source: str) -> pl.DataFrame:
        """Columns of `store.texts`, one row per text; a text about a denied URL is dropped and counted."""
        frame = self._allowed(pl.DataFrame(rows))
        kinds = frame["kind"].cast(pl.String)
        named = frame.select(pl.concat_str(pl.lit(source), kinds, "native_id", separator="\0")).to_series()
        numbers = urls.record_ids(named, self._key, "text")
        clean = scrub.scrub(frame["url"], self._key)
        return frame.select(
            pl.Series(
                [ids.text(_LETTERS[k], n) for k, n in zip(kinds, numbers, strict=True)], dtype=pl.String
            ).alias("doc_id"),
            kinds.alias("kind"),
            "native_id",
            clean.alias("url"),
            urls.normalise(clean)["domain"].alias("domain"),
            self._texts(frame["title"]).alias("title"),
            scrub.scrub_texts(frame["text"], self._key).alias("text"),
            "tags",
            _instants("created_us").alias("created_at"),
            _instants("modified_us").alias("modified_at"),
            self._texts(frame["details"]).alias("details"),
        ).unique("doc_id", keep="last", maintain_order=True)

    def slack_messages(self, rows: pa.RecordBatch) -> pl.DataFrame:
        """See `brain.prepare_slack.messages`."""
        return prepare_slack.messages(rows, self._key, self._policy)

    def slack_list(self, rows: pa.RecordBatch) -> pl.DataFrame:
        """People or channels as the lake keeps them: what they wrote of themselves without secrets."""
        frame = pl.DataFrame(rows)
        if "created_us" in frame.columns:
            frame = frame.with_columns(_instants("created_us").alias("created_at")).drop("created_us")
        written = [name for name in ("name", "topic", "purpose") if name in frame.columns]
        return frame.with_columns(scrub.scrub_texts(frame[name], self._key).alias(name) for name in written)

    def _allowed(self, frame: pl.DataFrame) -> pl.DataFrame:
        denied = self._policy.denied(frame["url"]).fill_null(False)
        self.denied_records += int(denied.sum())
        return frame.filter(~denied)

    def _fresh(self, frame: pl.DataFrame) -> pl.DataFrame:
        """URLs the lake lacks, scrubbed, normalised and given their page."""
        clean = scrub.scrub(frame["url"], self._key)
        norm = urls.normalise(clean)
        return frame.with_columns(
            clean.alias("url"),
            *norm.get_columns(),
            urls.page_ids(norm["url_norm"], self._key).alias("page_id"),
        )

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
        self.present.take(keys, frame["visited_us"])
        frame = frame.with_columns(
            keys.alias("visit_key"),
            pl.Series("url_id", url_ids),
            pl.col("visited_us").cast(pl.Datetime("us", "UTC")).alias("visited_at"),
            pl.col("navigation", "origin").cast(pl.String),
            self._texts(frame["title"]).alias("title"),
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

    def _texts(self, texts: pl.Series) -> pl.Series:
        """Titles and other short texts with '' as NULL and secrets replaced."""
        texts = texts.cast(pl.String)
        return scrub.scrub_texts(texts.set(texts == "", None), self._key)


def _instants(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.Datetime("us", "UTC"))


# What a URL that was only kept, never visited, does not say of itself.
_UNKNOWN: dict[str, pl.DataType] = {
    "title": pl.String(),
    "known_last_visit": pl.Datetime("us", "UTC"),
    "known_visits": pl.Int64(),
    "typed_count": pl.Int64(),
}
_LETTERS = {"note": "n", "highlight": "h", "capture": "c", "thought": "t"}
