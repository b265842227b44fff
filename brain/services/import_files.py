"""Import files: find what is in them, take a safe copy, read, clean, keep, merge.

The same file twice is recognised by its hash and left alone. A run that was killed leaves merged rows and a record
marked `running`; the next run of the same file finds those rows known and completes the rest.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from brain import discovery, importers, snapshot
from brain.errors import EmptySource, SourceError, UsageError
from brain.models import BROWSERS
from brain.progress import Progress, silent
from brain.services import coverage, import_log
from brain.services._import_run import ImportRun, RunTotals, fingerprint
from brain.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What became of one file. `seen`, `new` and `visible` count visits in history files."""

    id: str | None
    path: str
    source: str | None
    browser: str | None
    profile: str | None
    sha256: str | None
    status: str  # imported, unchanged, empty, failed or partial
    seen: int = 0
    new: int = 0
    updated: int = 0
    rejected: int = 0
    visible: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ImportReport:
    """All files of one request, in the order they were found."""

    imports: list[ImportOutcome]

    @property
    def totals(self) -> dict[str, int]:
        names = ("seen", "new", "updated", "rejected", "visible")
        return {"files": len(self.imports)} | {n: sum(getattr(i, n) for i in self.imports) for n in names}

    def as_dict(self) -> dict[str, Any]:
        return {"imports": [asdict(i) for i in self.imports], "totals": self.totals}


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How files are to be taken. Names given here win over what a path suggests."""

    browser: str | None = None
    profile: str | None = None
    device: str | None = None
    dry_run: bool = False
    since_us: int | None = None


def import_files(
    ws: Workspace,
    paths: Iterable[Path],
    options: ImportOptions = ImportOptions(),
    progress: Progress | None = None,
) -> ImportReport:
    """Import every file named, and every file found in folders named. One bad file never stops the others.

    Raises UsageError when no paths are given or the browser is unknown; what happens to each file is in its outcome.
    """
    if options.browser is not None and options.browser not in BROWSERS:
        raise UsageError(f"unknown browser {options.browser!r}; known: {', '.join(BROWSERS)}")
    files = list(find_files(paths))
    if not files:
        raise UsageError("nothing to import: name a file or a folder, or use --auto")
    ws.lake.ensure()
    outcomes = [_import_one(ws, file, options, progress or silent) for file in files]
    if not options.dry_run:
        coverage.refresh(ws)
    return ImportReport(outcomes)


def find_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files behind the paths: a file is itself, a folder is what an importer would read in it, each once."""
    seen = set()
    for path in paths:
        found = discovery.expand(path) if path.is_dir() else [path]
        for file in found or [path]:
            if (real := file.absolute()) not in seen:
                seen.add(real)
                yield file


def _import_one(ws: Workspace, path: Path, options: ImportOptions, progress: Progress) -> ImportOutcome:
    started = time.monotonic()
    browser, profile = discovery.browser_of(path)
    browser, profile = options.browser or browser, options.profile or profile or ""
    seen: dict[str, Any] = {"browser": browser, "profile": profile, "source": None, "sha256": None}
    try:
        state = snapshot.state(path)
        if not options.dry_run and (earlier := _untouched(ws, path, state, seen, options)):
            return _unchanged(path, earlier, started)
        with _private_folder(ws) as folder:
            progress(f"copying {path.name}", 0, None)
            taken = snapshot.take(path, folder)
            seen["sha256"] = taken.sha256
            reader = importers.pick(taken.path)
            where = _where(reader, seen, options)
            seen["source"] = reader.NAME
            rules = _sufficient(ws, reader, options)
            # A copy put somewhere that speaks of no browser is still the file it was copied from.
            told = where[1] != "unknown" or options.profile is not None
            if not options.dry_run and (
                earlier := import_log.earlier_import(ws, taken.sha256, rules, where, told)
            ):
                return _unchanged(path, earlier, started)
            run = ImportRun(ws, reader, taken, path, state, where)
            totals = run.execute(options.dry_run, options.since_us, progress)
        return _outcome(path, seen, totals, started)
    except EmptySource as error:
        status, reason = "empty", str(error)
    except SourceError as error:
        status, reason = "failed", str(error)
    import_id = (
        None if options.dry_run else import_log.record_failure(ws, path, seen["source"], status, reason)
    )
    return ImportOutcome(
        id=import_id, path=str(path), **seen, status=status, seconds=_since(started), error=reason
    )


def _where(reader: importers.Importer, seen: dict[str, Any], options: ImportOptions) -> import_log.Where:
    return reader.NAME, seen["browser"], seen["profile"], options.device or ""


def _untouched(
    ws: Workspace, path: Path, state: str, seen: dict[str, Any], options: ImportOptions
) -> dict[str, Any] | None:
    """The earlier import of a file that nobody has written since, whichever importer took it."""
    for reader in importers.IMPORTERS:
        where = _where(reader, seen, options)
        if earlier := import_log.earlier_import_of_file(
            ws, path, state, _sufficient(ws, reader, options), where
        ):
            return earlier
    return None


def _sufficient(ws: Workspace, reader: importers.Importer, options: ImportOptions) -> list[str]:
    """The rules under which an earlier import leaves nothing to do: a whole one, or one since the same instant."""
    return list({fingerprint(ws, reader), fingerprint(ws, reader, options.since_us)})


def _unchanged(path: Path, earlier: dict[str, Any], started: float) -> ImportOutcome:
    return ImportOutcome(path=str(path), status="unchanged", seconds=_since(started), **earlier)


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)


def _outcome(path: Path, seen: dict[str, Any], totals: RunTotals, started: float) -> ImportOutcome:
    return ImportOutcome(
        id=totals.import_id,
        path=str(path),
        **seen,
        status=totals.status,
        seen=totals.seen,
        new=totals.new,
        updated=totals.updated,
        rejected=totals.rejected,
        visible=totals.visible,
        counts=totals.counts,
        seconds=_since(started),
        error=totals.error,
    )


def remove_leftovers(ws: Workspace) -> None:
    """Delete copies of originals that a killed import left in the home."""
    for old in ws.home.cache.glob("import-*"):
        pid = old.name.split("-")[1]
        if pid.isdecimal() and not import_log.is_alive(int(pid)):
            shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _private_folder(ws: Workspace) -> Iterator[Path]:
    """A folder in the home for copies of originals, gone when the import ends."""
    remove_leftovers(ws)
    folder = Path(tempfile.mkdtemp(prefix=f"import-{os.getpid()}-", dir=ws.home.cache))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
