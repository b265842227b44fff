"""The first half of an import, run a little ahead of the merging: read, clean, compare with the lake, keep raw/."""

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from brain import merge, merge_records, merge_slack, thought_rows
from brain.lake import Lake
from brain.models import Batch, Rejected
from brain.prepare import Preparer
from brain.sql import frame


@dataclass(frozen=True, slots=True)
class Staged:
    """One batch, ready to merge: `fresh` rows the lake lacks, `rest` known ones that say more than it has."""

    record: str
    seen: int
    visible: int
    fresh: pl.DataFrame
    rest: pl.DataFrame


class Stage:
    """Turns an importer's items into Staged ones; `name` names their source for ever.

    Rows written to `raw` are those about to be merged; it is None on a dry run. They are written before the merge, so
    that no crash leaves a merged row out of raw/; one written twice merges to one.
    """

    def __init__(
        self,
        lake: Lake,
        preparer: Preparer,
        name: str,
        source: int,
        since_us: int | None,
        raw: Path | None,
    ) -> None:
        self._lake = lake
        self._preparer = preparer
        self._name = name
        self._source = source
        self._since_us = since_us
        self._raw = raw

    def run(self, items: Generator[Batch | Rejected]) -> Generator[Staged | Rejected]:
        """The items in order; closes `items` in the thread that reads them."""
        with closing(items):
            for item in items:
                if isinstance(item, Rejected):
                    yield item
                else:
                    yield from self._staged(item)

    def keep_raw(self, record: str, rows: pl.DataFrame) -> None:
        """Write rows to raw/ as Parquet, whole or not at all."""
        if self._raw is None or not rows.height:
            return
        self._raw.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = len(list(self._raw.glob(f"{record}-*.parquet"))) + 1
        path = self._raw / f"{record}-{number:05d}.parquet"
        draft = path.with_suffix(".draft")
        rows.write_parquet(draft, compression="zstd", compression_level=1)
        draft.chmod(0o600)
        draft.replace(path)

    def _staged(self, item: Batch) -> Iterator[Staged]:
        if item.record == "urls":
            yield self._urls(item.rows)
        elif item.record == "visits":
            yield self._visits(item.rows)
        elif item.record == "bookmarks":
            rows = self._since(item.rows, "added_us")
            urls, kept = self._preparer.bookmarks(rows, self._name, self._known_urls)
            self.keep_raw("urls", urls)
            yield Staged("urls", 0, 0, urls, urls.clear())
            yield self._records("bookmarks", rows.num_rows, kept)
        elif item.record == "texts":
            rows = self._since(item.rows, "created_us")
            yield self._records("texts", rows.num_rows, self._preparer.texts(rows, self._name))
        elif item.record == "slack_messages":
            yield self._slack_messages(item.rows)
        elif item.record in ("slack_users", "slack_channels"):
            yield self._slack_lists(item)
        else:
            raise ValueError(f"no way into the lake for {item.record}")

    def _since(self, rows: pa.RecordBatch, column: str) -> pa.RecordBatch:
        """The rows since the instant asked for, those without a date too."""
        if self._since_us is None:
            return rows
        late = pc.greater_equal(rows[column], self._since_us)
        return rows.filter(pc.or_kleene(late, pc.is_null(rows[column])))

    def _records(self, record: merge_records.Record, seen: int, rows: pl.DataFrame) -> Staged:
        with self._lake.read(what="import check") as con:
            open_ = merge_records.unsettled(con, record, rows)
        key = open_.columns[0]
        rows = rows.join(open_, on=key, how="inner", maintain_order="left")
        if record == "texts":
            rows = thought_rows.with_metadata(rows)
        self.keep_raw(record, rows.drop("is_new"))
        fresh = rows.filter("is_new").drop("is_new")
        return Staged(record, seen, 0, fresh, rows.filter(~pl.col("is_new")).drop("is_new"))

    def _slack_messages(self, read: pa.RecordBatch) -> Staged:
        read = self._since(read, "sent_us")
        rows = self._preparer.slack_messages(read)
        with self._lake.read(what="import check") as con:
            open_ = merge_slack.unsettled(con, rows)
        rows = rows.join(open_, on="message_key", how="inner", maintain_order="left")
        self.keep_raw("slack_messages", rows.drop("is_new"))
        fresh, rest = rows.filter("is_new"), rows.filter(~pl.col("is_new"))
        return Staged("slack_messages", read.num_rows, 0, fresh.drop("is_new"), rest.drop("is_new"))

    def _slack_lists(self, item: Batch) -> Staged:
        rows = self._preparer.slack_list(item.rows)
        self.keep_raw(item.record, rows)
        return Staged(item.record, rows.height, 0, rows, rows.clear())

    def _urls(self, rows: pa.RecordBatch) -> Staged:
        fresh, known = self._preparer.urls(rows, self._known_urls)
        self.keep_raw("urls", fresh)
        return Staged("urls", rows.num_rows, 0, fresh, known)

    def _visits(self, read: pa.RecordBatch) -> Staged:
        read = self._since(read, "visited_us")
        rows = self._preparer.visits(read)
        with self._lake.read(what="import check") as con:
            open_ = merge.unsettled_visits(con, rows, self._source)
        if open_.height < rows.height:
            rows_open = rows.filter(rows["visit_key"].is_in(open_["visit_key"].implode()))
        else:
            rows_open = rows
        is_new = rows_open["visit_key"].is_in(open_.filter("is_new")["visit_key"].implode())
        fresh = rows_open.filter(is_new)
        self.keep_raw("visits", fresh)
        return Staged(
            "visits", read.num_rows, int(rows["is_visible"].sum()), fresh, rows_open.filter(~is_new)
        )

    def _known_urls(self, url_ids: pl.Series) -> pl.Series:
        with self._lake.read(what="import check") as con:
            con.register("asked", url_ids.to_frame("url_id").to_arrow())
            found = frame(con, "SELECT url_id FROM asked SEMI JOIN store.urls USING (url_id)")
        if not found.height:
            return pl.repeat(False, len(url_ids), eager=True)
        return url_ids.is_in(found["url_id"].implode())


def ahead(items: Generator[Staged | Rejected], depth: int = 2) -> Iterator[Staged | Rejected]:
    """The same items, made in a thread a little ahead of whoever takes them."""
    waiting: queue.Queue[Callable[[], Staged | Rejected | None]] = queue.Queue(depth)
    stop = threading.Event()

    def put(give: Callable[[], Staged | Rejected | None]) -> bool:
        while not stop.is_set():
            try:
                waiting.put(give, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            with closing(items):
                for item in items:
                    if not put(lambda item=item: item):  # type: ignore[misc]
                        return
            put(lambda: None)
        except BaseException as error:  # handed over: raised again where the items are taken
            put(_raiser(error))

    thread = threading.Thread(target=work, name="import-stage", daemon=True)
    thread.start()
    try:
        while (item := waiting.get()()) is not None:
            yield item
    finally:
        stop.set()
        thread.join()


def _raiser(error: BaseException) -> Callable[[], None]:
    def give() -> None:
        raise error

    return give
