"""One file's way into the lake: begin, read and merge batch by batch, finish. See `import_files`."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from brain import merge, merge_records, merge_slack, removals, scrub, urls
from brain.importers import Importer
from brain.intervals import iso
from brain.leases import Pace
from brain.models import Rejected
from brain.prepare import Preparer
from brain.progress import Progress
from brain.services import import_log
from brain.services._import_stage import Stage, Staged, ahead
from brain.snapshot import Snapshot
from brain.sql import Connection, transaction
from brain.workspace import Workspace

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
    tallies: dict[str, "Tally"] = field(default_factory=dict)

    def add(self, name: str, number: int) -> None:
        if number:
            self.counts[name] = self.counts.get(name, 0) + number

    def tally(self, record: str) -> "Tally":
        return self.tallies.setdefault(record, Tally())

    def settle(self) -> None:
        """Put the file's own records in front: visits or messages where it holds any, else what else it holds."""
        main = next((name for name in ("visits", "slack_messages") if self.tally(name).seen), None)
        own = [self.tallies.pop(main)] if main else list(self.tallies.values())
        self.tallies = {name: tally for name, tally in self.tallies.items() if tally.seen}
        self.seen, self.new = sum(t.seen for t in own), sum(t.new for t in own)
        self.updated = sum(t.updated for t in own)
        for record, tally in self.tallies.items():
            self.add(record, tally.seen)
            self.add(f"new_{record}", tally.new)
            self.add(f"updated_{record}", tally.updated)


@dataclass(slots=True)
class Tally:
    """Records of one type: read, inserted, changed."""

    seen: int = 0
    new: int = 0
    updated: int = 0

    def merged(self, merged: merge.Merged) -> None:
        self.new += merged.new
        self.updated += merged.updated


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
        honour_deletes: bool = False,
    ) -> None:
        self._ws = ws
        self._reader = reader
        self._original = original
        self._taken = taken
        self._state = state
        self._where = where
        self._honour_deletes = honour_deletes
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
                getattr(self._reader, "CLOCK_US", 1_000_000),
            )
            totals.import_id = str(import_id)
        raw = self._ws.home.raw / f"{int(totals.import_id):08d}" if totals.import_id else None
        stage = Stage(self._ws.lake, self._preparer, "\0".join(self._where), source, since_us, raw)
        try:
            for item in ahead(stage.run(self._reader.read(self._taken.path))):
                if isinstance(item, Rejected):
                    totals.rejected += 1
                    if len(self._rejects) < REJECTS_KEPT:
                        self._rejects.append(item)
                else:
                    self._take(item, totals, source)
                    progress(f"importing {self._original.name}", totals.seen, None)
        except Exception as error:
            if totals.import_id:
                import_log.abort(self._ws, int(totals.import_id), error)
            raise
        self._close(totals, dry_run, stage)
        if totals.import_id:
            import_log.finish(self._ws, totals, self._rejects, time.monotonic() - started)
        return totals

    def _take(self, item: Staged, totals: RunTotals, source: int) -> None:
        """Merge one batch in leases of a bounded length; on a dry run only count it."""
        if item.record == "urls":
            totals.add("urls", item.seen)
            totals.add("new_urls", item.fresh.height)
            if totals.import_id is not None:
                self._merge_urls(item, totals, int(totals.import_id))
            return
        tally = totals.tally(item.record)
        tally.seen += item.seen
        totals.visible += item.visible
        totals.seen += item.seen  # so far, for whoever watches
        if totals.import_id is None:
            tally.new += item.fresh.height
        else:
            for rows in (item.fresh, item.rest):
                self._merge(item.record, rows, tally, source, int(totals.import_id))

    def _merge_urls(self, item: Staged, totals: RunTotals, import_id: int) -> None:
        start = 0
        while start < max(item.fresh.height, item.rest.height):
            count = self._pace.rows
            fresh, known = item.fresh.slice(start, count), item.rest.slice(start, count)
            with self._ws.lake.write(what=self._what, bulk=True) as con, transaction(con):
                began = time.monotonic()
                merged = merge.merge_urls(con, fresh, known, import_id)
            self._pace.took(count, time.monotonic() - began)
            start += count
            totals.add("retitled_urls", merged.updated)

    def _merge(self, record: str, rows: pl.DataFrame, tally: Tally, source: int, import_id: int) -> None:
        merge_rows = _MERGES[record]
        start = 0
        while start < rows.height:
            part = rows.slice(start, self._pace.rows)
            with self._ws.lake.write(what=self._what, bulk=True) as con, transaction(con):
                began = time.monotonic()
                tally.merged(merge_rows(con, part, source, import_id))
            self._pace.took(part.height, time.monotonic() - began)
            start += part.height

    def _close(self, totals: RunTotals, dry_run: bool, stage: Stage) -> None:
        totals.add("denied_urls", self._preparer.denied_urls)
        totals.add("denied_visits", self._preparer.denied_visits)
        totals.add("denied_records", self._preparer.denied_records)
        totals.settle()
        if self._preparer.orphan_visits:
            totals.rejected += self._preparer.orphan_visits
            self._rejects.append(
                Rejected("visits", f"{self._preparer.orphan_visits} visits name a URL that the file lacks")
            )
        links = self._preparer.late_links()
        if not dry_run and links.height:
            stage.keep_raw("links", links)
            with self._ws.lake.write(what="link visits") as con:
                merge.merge_links(con, links)
        if not dry_run:
            self._link_duplicates(totals)
        if self._honour_deletes:
            self._remove_missing(totals, dry_run)
        if totals.rejected:
            totals.status = "partial" if totals.seen else "failed"
            if not totals.seen:
                totals.error = f"none of its {totals.rejected} records could be read"
        elif not totals.seen:
            totals.status, totals.error = "empty", "the file holds no records" + self._limit

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

    def _remove_missing(self, totals: RunTotals, dry_run: bool) -> None:
        """Take out what this source had and no longer has; only a file read whole can tell."""
        if totals.rejected or self._limit or not totals.seen:
            totals.error = (
                "nothing was removed: only a file read as a whole tells what its source no longer has"
            )
            return
        with self._ws.lake.snapshot() as con:
            missing = removals.find_missing(con, self._where, self._preparer.present, self._deletions())
        if dry_run:
            totals.add("would_remove", missing.total)
        elif missing.total:
            with self._ws.lake.write(what="remove what is gone") as con, transaction(con):
                totals.add("removed", removals.remove(con, missing, self._ws.settings.now()))

    def _deletions(self) -> pl.DataFrame:
        """Deletions that the file itself tells of, as Safari's does."""
        told = getattr(self._reader, "tombstones", None)
        stones = told(self._taken.path) if told else []
        if not stones:
            return removals.DELETIONS
        ids = urls.url_ids(pl.Series([stone.url for stone in stones], dtype=pl.String), self._ws.key)
        bounds = {name: [getattr(stone, name) for stone in stones] for name in ("start_us", "end_us")}
        return pl.DataFrame(bounds, schema={"start_us": pl.Int64, "end_us": pl.Int64}).with_columns(ids)


_MERGES: dict[str, Callable[[Connection, pl.DataFrame, int, int | None], merge.Merged]] = {
    "visits": merge.merge_visits,
    "bookmarks": merge_records.merge_bookmarks,
    "texts": merge_records.merge_texts,
    "slack_users": merge_slack.merge_users,
    "slack_channels": merge_slack.merge_channels,
    "slack_messages": merge_slack.merge_messages,
}
