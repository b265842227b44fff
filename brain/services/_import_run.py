"""One file's way into the lake: begin, read and merge batch by batch, finish. See `import_files`."""

import time
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from brain import merge, scrub, urls
from brain.importers import Importer
from brain.intervals import iso
from brain.leases import Pace
from brain.models import Rejected
from brain.prepare import Preparer
from brain.progress import Progress
from brain.services import import_log
from brain.services._import_stage import Stage, Staged, ahead
from brain.snapshot import Snapshot
from brain.sql import transaction
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
        raw = self._ws.home.raw / f"{int(totals.import_id):08d}" if totals.import_id else None
        stage = Stage(self._ws.lake, self._preparer, source, since_us, raw)
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
        else:
            totals.seen += item.seen
            totals.visible += item.visible
        if totals.import_id is None:
            totals.new += item.fresh.height if item.record == "visits" else 0
        elif item.record == "urls":
            self._merge_urls(item, totals, int(totals.import_id))
        else:
            for rows in (item.fresh, item.rest):
                self._merge_visits(rows, totals, source, int(totals.import_id))

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

    def _merge_visits(self, rows: pl.DataFrame, totals: RunTotals, source: int, import_id: int) -> None:
        start = 0
        while start < rows.height:
            part = rows.slice(start, self._pace.rows)
            with self._ws.lake.write(what=self._what, bulk=True) as con, transaction(con):
                began = time.monotonic()
                merged = merge.merge_visits(con, part, source, import_id)
            self._pace.took(part.height, time.monotonic() - began)
            start += part.height
            totals.new += merged.new
            totals.updated += merged.updated

    def _close(self, totals: RunTotals, dry_run: bool, stage: Stage) -> None:
        totals.add("denied_urls", self._preparer.denied_urls)
        totals.add("denied_visits", self._preparer.denied_visits)
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
