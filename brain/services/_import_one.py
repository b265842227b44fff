"""One file into the lake: told apart, copied safely, read, merged. See `import_files`."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brain import discovery, importers, snapshot, sniffing
from brain.errors import EmptySource, SourceError
from brain.progress import Progress
from brain.services import import_log
from brain.services._import_run import ImportRun, RunTotals, fingerprint
from brain.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What became of one file. `seen`, `new` and `visible` count visits in history files.

    The `path` of a member of an archive is that of the archive and the member's name in it: a.zip/b/History.
    """

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
class ImportOptions:
    """How files are to be taken. Names given here win over what a path suggests.

    `honour_deletes` takes out what a source no longer has (see `brain.removals`).
    """

    browser: str | None = None
    profile: str | None = None
    device: str | None = None
    dry_run: bool = False
    since_us: int | None = None
    honour_deletes: bool = False

    @property
    def may_skip(self) -> bool:
        """Whether a file that was taken before needs no reading; what is absent from it is told only by reading."""
        return not (self.dry_run or self.honour_deletes)


@dataclass(slots=True)
class _Attempt:
    """What is known so far of a file on its way in; `told` is whether path or person say whose it is."""

    path: Path
    browser: str
    profile: str
    told: bool
    started: float
    source: str | None = None
    sha256: str | None = None

    def where(self, reader: importers.Importer, options: ImportOptions) -> import_log.Where:
        # What other programs wrote is of no browser, whatever the path speaks of.
        guess = reader.BROWSER if reader.SOURCE == "import" or self.browser == "unknown" else self.browser
        browser = options.browser or guess
        return reader.SOURCE, browser, self.profile, options.device or ""

    def outcome(self, status: str, import_id: str | None = None, **counted: Any) -> ImportOutcome:
        return ImportOutcome(
            id=import_id,
            path=str(self.path),
            source=self.source,
            browser=self.browser,
            profile=self.profile,
            sha256=self.sha256,
            status=status,
            seconds=_since(self.started),
            **counted,
        )


def import_one(ws: Workspace, path: Path, options: ImportOptions, progress: Progress) -> ImportOutcome:
    """Import the file at `path`; what cannot be done is in the outcome and, if there is such a file, in the log."""
    attempt = _attempt(path, options)
    try:
        state = snapshot.state(path)
        if known := _untouched(ws, attempt, state, options):
            return known
        # What no importer knows is refused before it is copied, however large it is.
        sniffing.refuse_unknown(path)
        with private_folder(ws) as folder:
            progress(f"copying {path.name}", 0, None)
            return _import(ws, snapshot.take(path, folder), attempt, state, options, progress)
    except SourceError as error:
        return _failed(ws, attempt, error, options)


def import_folder(
    ws: Workspace,
    path: Path,
    reader: importers.FolderImporter,
    options: ImportOptions,
    progress: Progress,
) -> ImportOutcome:
    """The same for a folder that is one source to `reader`; its files are read where they lie."""
    attempt = _attempt(path, options)
    try:
        files = reader.files(path)
        state = snapshot.folder_state(path, files)
        if known := _untouched(ws, attempt, state, options):
            return known
        progress(f"reading {path.name}", 0, None)
        return _import(ws, snapshot.of_folder(path, files), attempt, state, options, progress, reader)
    except SourceError as error:
        return _failed(ws, attempt, error, options)


def import_copy(
    ws: Workspace, path: Path, copy: Path, state: str, options: ImportOptions, progress: Progress
) -> ImportOutcome:
    """The same for what is a private file already: `path` is what it is called, `state` what the log keeps."""
    attempt = _attempt(path, options)
    try:
        return _import(ws, snapshot.adopt(copy, path), attempt, state, options, progress)
    except SourceError as error:
        return _failed(ws, attempt, error, options)


def import_taken(
    ws: Workspace,
    taken: snapshot.Snapshot,
    path: Path,
    state: str,
    options: ImportOptions,
    progress: Progress,
    reader: importers.Importer,
) -> ImportOutcome:
    """The same for a part of a source that `reader` reads where it lies."""
    attempt = _attempt(path, options)
    try:
        return _import(ws, taken, attempt, state, options, progress, reader)
    except SourceError as error:
        return _failed(ws, attempt, error, options)


def is_sufficient(ws: Workspace, earlier: dict[str, Any], path: Path, options: ImportOptions) -> bool:
    """Whether an import of the same file and state in the log leaves nothing to do."""
    attempt = _attempt(path, options)
    kept = tuple(earlier[name] for name in ("source", "browser", "profile", "device"))
    return any(
        earlier["reader"] in _sufficient(ws, reader, options) and attempt.where(reader, options) == kept
        for reader in importers.IMPORTERS
    )


def unchanged(path: Path, earlier: dict[str, Any], started: float) -> ImportOutcome:
    """The outcome of a file about which an earlier import has said all there is to say."""
    told = ("id", "source", "browser", "profile", "sha256", "seen", "visible")
    return ImportOutcome(
        path=str(path),
        status="unchanged",
        seconds=_since(started),
        **{name: earlier[name] for name in told},
    )


def _untouched(ws: Workspace, attempt: _Attempt, state: str, options: ImportOptions) -> ImportOutcome | None:
    """The outcome for what nobody has written to since it was imported; None for anything else."""
    if options.may_skip:
        for earlier in import_log.earlier_imports_of_path(ws, attempt.path, state):
            if is_sufficient(ws, earlier, attempt.path, options):
                return unchanged(attempt.path, earlier, attempt.started)
    return None


def _attempt(path: Path, options: ImportOptions) -> _Attempt:
    browser, profile = discovery.browser_of(path)
    profile = profile or _collection(path)
    browser = options.browser or browser
    told = browser != "unknown" or options.profile is not None
    return _Attempt(path, browser, options.profile or profile or "", told, time.monotonic())


def _collection(path: Path) -> str | None:
    """The name of the folder that notes are kept in, which tells those of two folders apart; None for all else."""
    reader = importers.pick_folder(path, alone=True)
    if reader and reader.SOURCE == "slack":
        return None  # channels and messages are known by Slack's own ids, wherever they lie
    is_folder = reader is not None
    if not is_folder and not path.name.lower().endswith((".md", ".markdown")):
        return None
    folder = path.absolute() if is_folder else path.absolute().parent
    return folder.name.encode("utf-8", "replace").decode() or None


def _import(
    ws: Workspace,
    taken: snapshot.Snapshot,
    attempt: _Attempt,
    state: str,
    options: ImportOptions,
    progress: Progress,
    reader: importers.Importer | None = None,
) -> ImportOutcome:
    attempt.sha256 = taken.sha256
    reader = reader or importers.pick(taken.path)
    # A copy put somewhere that speaks of no browser is still the file it was copied from.
    where = attempt.where(reader, options)
    attempt.source, attempt.browser = where[:2]
    rules = _sufficient(ws, reader, options)
    if options.may_skip and (
        earlier := import_log.earlier_import(ws, taken.sha256, rules, where, attempt.told)
    ):
        return unchanged(attempt.path, earlier, attempt.started)
    run = ImportRun(ws, reader, taken, attempt.path, state, where, options.honour_deletes)
    return _outcome(attempt, run.execute(options.dry_run, options.since_us, progress))


def _outcome(attempt: _Attempt, totals: RunTotals) -> ImportOutcome:
    return attempt.outcome(
        totals.status,
        totals.import_id,
        seen=totals.seen,
        new=totals.new,
        updated=totals.updated,
        rejected=totals.rejected,
        visible=totals.visible,
        counts=totals.counts,
        error=totals.error,
    )


def _failed(ws: Workspace, attempt: _Attempt, error: SourceError, options: ImportOptions) -> ImportOutcome:
    status = "empty" if isinstance(error, EmptySource) else "failed"
    import_id = None
    # A name that nothing bears is a slip of the pen, and no event in the life of the lake.
    if not options.dry_run and (attempt.sha256 or os.path.lexists(attempt.path)):
        import_id = import_log.record_failure(ws, attempt.path, attempt.source, status, str(error))
    return attempt.outcome(status, import_id, error=str(error))


def _sufficient(ws: Workspace, reader: importers.Importer, options: ImportOptions) -> list[str]:
    """The rules under which an earlier import leaves nothing to do: a whole one, or one since the same instant."""
    return list({fingerprint(ws, reader), fingerprint(ws, reader, options.since_us)})


def _since(started: float) -> float:
    return round(time.monotonic() - started, 3)


def remove_leftovers(ws: Workspace) -> None:
    """Delete copies of originals that a killed import left in the home."""
    for old in ws.home.cache.glob("import-*"):
        pid = old.name.split("-")[1]
        if pid.isdecimal() and not import_log.is_alive(int(pid)):
            shutil.rmtree(old, ignore_errors=True)


@contextmanager
def private_folder(ws: Workspace) -> Iterator[Path]:
    """A folder in the home for copies of originals, gone when the import ends."""
    remove_leftovers(ws)
    folder = Path(tempfile.mkdtemp(prefix=f"import-{os.getpid()}-", dir=ws.home.cache))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
