"""One file's way into the lake: begin, read and merge batch by batch, finish. See `import_files`."""

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from brain import merge, scrub, urls
from brain.importers import Importer
from brain.intervals import iso
from brain.leases import Pace
from brain.models import Batch, Rejected
from brain.prepare import Preparer
from brain.services import import_log
from brain.snapshot import Snapshot
from brain.sql import frame, transaction
from brain.workspace import Workspace

Progress = Callable[[str, int, int | None], None]

REJECTS_KEPT = 1_000


@dataclass(slots=True)
class RunTotals:
    """Counts of one file's import."""

    import_id: str | None = None
    status: str = "imported"
    seen: int = 0
    new: int = 0
    updated: int = 0
    rejected: int = 0
    visible: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    error: str | None = None

    def add(self, name: str, number: int) -> None:
        if number:
            self.counts[name] = self.counts.get(name, 0) + number


def fingerprint(ws: Workspace, reader: Importer, since_us: int | None = None) -> str:
    """Changes when the same bytes would be read or cleaned differently, so that they are read again."""
    rules = f"{reader.NAME}-{reader.VERSION}/u{urls.RULES_VERSION}/s{scrub.RULES_VERSION}"
    return f"{rules}/{ws.policy.fingerprint}" + ("" if since_us is None else f"/since {since_us}")


class ImportRun:
    """Reads one safe copy with one importer and merges what comes out.

    `where` is (source, browser, profile, device); `state` what `snapshot.state` said before the copy was made.
    """

    def __init__(
        self,
        ws: Workspace,
        reader: Importer,
        taken: Snapshot,
        original: Path,
        state: str,
        where: import_log.Where,
    ) -> None:
        self._ws = ws
        self._reader = reader
        self._original = original
        self._taken = taken
        self._state = state
        self._where = where
        self._preparer = Preparer(ws.key, ws.policy)
        self._rejects: list[Rejected] = []
        # DuckDB writes whole row groups of 122,880 rows straight to the file; smaller parts are written twice over
        # and cost twice the time, so the slice shrinks to half of one at the least.
        self._pace = Pace(rows=122_880, least=61_440, most=122_880)
        self._what = f"import {original.name}"
        self._limit = ""

    def execute(self, dry_run: bool, since_us: int | None, progress: Progress) -> RunTotals:
        """Read everything; merge unless `dry_run`. Raises SourceError when the file as a whole cannot be read."""
        started = time.monotonic()
        totals = RunTotals()
        source = 0
        if since_us is not None:
            self._limit = f" since {iso(since_us)}"
        if not dry_run:
            import_id, source = import_log.begin(
                self._ws,
                self._original,
                self._taken,
                self._state,
                fingerprint(self._ws, self._reader, since_us),
                self._where,
            )
            totals.import_id = str(import_id)
        try:
            for item in _ahead(self._reader.read(self._taken.path)):
                if isinstance(item, Rejected):
                    totals.rejected += 1
                    if len(self._rejects) < REJECTS_KEPT:
                        self._rejects.append(item)
                elif item.record == "urls":
                    self._take_urls(item, totals, dry_run)
                else:
                    self._take_visits(item, totals, source, since_us, dry_run)
                    progress(f"importing {self._original.name}", totals.seen, None)
        except Exception as error:
            if totals.import_id:
                import_log.abort(self._ws, int(totals.import_id), error)
            raise
        self._close(totals, dry_run)
        if totals.import_id:
            import_log.finish(self._ws, totals, self._rejects, time.monotonic() - started)
        return totals

    def _take_urls(self, batch: Batch, totals: RunTotals, dry_run: bool) -> None:
        fresh, known = self._preparer.urls(batch.rows, self._known_urls)
        totals.add("urls", batch.rows.num_rows)
        totals.add("new_urls", fresh.height)
        if dry_run or not (fresh.height or known.height):
            return
        self._keep_raw("urls", fresh, totals)
        import_id = int(totals.import_id or 0)
        start = 0
        while start < max(fresh.height, known.height):
            count = self._pace.rows
            with self._ws.lake.write(what=self._what, bulk=True) as con, transaction(con):
                began = time.monotonic()
                merged = merge.merge_urls(
                    con, fresh.slice(start, count), known.slice(start, count), import_id
                )
            self._pace.took(count, time.monotonic() - began)
            start += count
            totals.add("retitled_urls", merged.updated)

    def _take_visits(
        self, batch: Batch, totals: RunTotals, source: int, since_us: int | None, dry_run: bool
    ) -> None:
        read = batch.rows
        if since_us is not None:
            import pyarrow.compute as pc

            read = read.filter(pc.greater_equal(read["visited_us"], since_us))
        rows = self._preparer.visits(read)
        totals.seen += read.num_rows
        totals.visible += int(rows["is_visible"].sum())
        new = rows.filter(~self._known_visits(rows["visit_key"]))
        if dry_run:
            totals.new += new.height
            return
        self._keep_raw("visits", new, totals)
        start = 0
        while start < rows.height:
            part = rows.slice(start, self._pace.rows)
            with self._ws.lake.write(what=self._what, bulk=True) as con, transaction(con):
                began = time.monotonic()
                merged = merge.merge_visits(con, part, source, int(totals.import_id or 0))
            self._pace.took(part.height, time.monotonic() - began)
            start += part.height
            totals.new += merged.new
            totals.updated += merged.updated

    def _close(self, totals: RunTotals, dry_run: bool) -> None:
        totals.add("denied_urls", self._preparer.denied_urls)
        totals.add("denied_visits", self._preparer.denied_visits)
        if self._preparer.orphan_visits:
            totals.rejected += self._preparer.orphan_visits
            self._rejects.append(
                Rejected("visits", f"{self._preparer.orphan_visits} visits name a URL that the file lacks")
            )
        links = self._preparer.late_links()
        if not dry_run and links.height:
            self._keep_raw("links", links, totals)
            with self._ws.lake.write(what="link visits") as con:
                merge.merge_links(con, links)
        if not dry_run:
            self._link_duplicates(totals)
        if totals.rejected:
            totals.status = "partial" if totals.seen else "failed"
            totals.error = None if totals.seen else f"none of its {totals.rejected} records could be read"
        elif not totals.seen:
            totals.status, totals.error = "empty", "the file holds no visits" + self._limit

    def _link_duplicates(self, totals: RunTotals) -> None:
        lake = self._ws.lake
        with lake.read(what="find duplicates") as con:
            rows = con.execute(
                """
                SELECT (SELECT count(*) FROM store.sources s WHERE EXISTS
                           (SELECT 1 FROM store.observations o WHERE o.source_id = s.source_id)),
                       (SELECT count(*) FROM store.imports i JOIN store.imports this
                            USING (source, browser, profile, device)
                        WHERE this.import_id = ? AND i.status IN ('interrupted', 'failed', 'running')
                            AND i.import_id <> this.import_id)""",
                [int(totals.import_id or 0)],
            ).fetchall()
        (sources, unfinished) = rows[0]
        if sources < 2 or not (totals.new or unfinished):
            return
        with lake.snapshot() as con:
            found = merge.find_duplicates(con, int(totals.import_id or 0))
        if found.height:
            with lake.write(what="link duplicates") as con:
                totals.add("duplicates", merge.mark_duplicates(con, found))

    def _known_urls(self, url_ids: pl.Series) -> pl.Series:
        return self._known("store.urls", "url_id", url_ids)

    def _known_visits(self, keys: pl.Series) -> pl.Series:
        return self._known("store.visits", "visit_key", keys)

    def _known(self, table: str, column: str, keys: pl.Series) -> pl.Series:
        """Which keys the lake has, as a mask."""
        with self._ws.lake.read(what="import check") as con:
            con.register("asked", keys.to_frame(column).to_arrow())
            found = frame(con, f"SELECT {column} FROM asked SEMI JOIN {table} USING ({column})")
        return (
            keys.is_in(found[column].implode()) if found.height else pl.repeat(False, len(keys), eager=True)
        )

    def _keep_raw(self, record: str, rows: pl.DataFrame, totals: RunTotals) -> None:
        """Write the rows that are about to be merged to raw/: with them the lake can be rebuilt.

        Before the merge, so that no crash leaves a merged row out; one written twice merges to one.
        """
        if not rows.height:
            return
        folder = self._ws.home.raw / f"{int(totals.import_id or 0):08d}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = len(list(folder.glob(f"{record}-*.parquet"))) + 1
        path = folder / f"{record}-{number:05d}.parquet"
        rows.write_parquet(path.with_suffix(".draft"), compression="zstd", compression_level=1)
        path.with_suffix(".draft").chmod(0o600)
        path.with_suffix(".draft").replace(path)


def _ahead(items: Generator[Batch | Rejected], depth: int = 2) -> Iterator[Batch | Rejected]:
    """The same items, read in a thread a little ahead: reading SQLite and merging then overlap."""
    waiting: queue.Queue[object] = queue.Queue(depth)
    stop = threading.Event()
    end = object()

    def put(item: object) -> bool:
        while not stop.is_set():
            try:
                waiting.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            with closing(items):  # here, since a database must be closed by the thread that opened it
                for item in items:
                    if not put(item):
                        return
            put(end)
        except BaseException as error:  # handed over: raised again in the reader of the queue
            put(error)

    thread = threading.Thread(target=work, name="importer", daemon=True)
    thread.start()
    try:
        while (item := waiting.get()) is not end:
            if isinstance(item, BaseException):
                raise item
            assert isinstance(item, Batch | Rejected)
            yield item
    finally:
        stop.set()
        thread.join()
