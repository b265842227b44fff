"""Import files: find what is in them, take a safe copy, read, clean, keep, merge.

The same file twice is recognised by its hash and left alone. A run that was killed leaves merged rows and a record
marked `running`; the next run of the same file finds those rows known and completes the rest.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from brain import archives, discovery, importers
from brain.errors import UsageError
from brain.models import BROWSERS
from brain.progress import Progress, silent
from brain.services import coverage
from brain.services._import_archive import import_archive
from brain.services._import_one import (
    ImportOptions,
    ImportOutcome,
    import_folder,
    import_one,
    remove_leftovers,
)
from brain.workspace import Workspace

__all__ = [
    "ImportOptions",
    "ImportOutcome",
    "ImportReport",
    "find_files",
    "import_files",
    "remove_leftovers",
]

_AS_FOUND = ImportOptions()


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


def import_files(
    ws: Workspace,
    paths: Iterable[Path],
    options: ImportOptions = _AS_FOUND,
    progress: Progress | None = None,
    quiet: bool = False,
) -> ImportReport:
    """Import every file named, and every source in folders and archives named. One bad file never stops the others.

    A vault of notes is one source; so is a folder in which nothing else can be imported, and most files are notes.

    An archive without a source says so if it was named; one that was found in a folder, or any when `quiet`, is
    passed over. A path that does not exist leaves no record, and no lake where there was none. Raises UsageError
    when no paths are given or the browser is unknown; what happens to each file is in its outcome.
    """
    if options.browser is not None and options.browser not in BROWSERS:
        raise UsageError(f"unknown browser {options.browser!r}; known: {', '.join(BROWSERS)}")
    named = list(paths)
    files = list(find_files(named))
    if not files:
        raise UsageError("nothing to import: name a file or a folder, or use --auto")
    is_any = any(os.path.lexists(file) for file in files)
    if is_any:
        ws.lake.ensure()
    outcomes: list[ImportOutcome] = []
    tell = progress or silent
    for file in files:
        if archives.is_archive(file) and not importers.takes_archive(file):
            outcomes += import_archive(ws, file, options, tell, quiet=quiet or file not in named)
        elif reader := importers.pick_folder(file, alone=True):
            outcomes.append(import_folder(ws, file, reader, options, tell))
        else:
            outcomes.append(import_one(ws, file, options, tell))
    if not outcomes and not quiet:
        outcomes = [import_one(ws, folder, options, tell) for folder in named]
    if is_any and not options.dry_run:
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
