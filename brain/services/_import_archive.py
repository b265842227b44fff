"""An archive into the lake: each source in it is a file of its own. See `import_files`."""

import hashlib
import os
import shutil
import time
from pathlib import Path

from brain import archives, importers, snapshot
from brain.errors import SourceError
from brain.models import Rejected
from brain.progress import Progress
from brain.services import import_log
from brain.services._import_one import (
    ImportOptions,
    ImportOutcome,
    import_copy,
    is_sufficient,
    private_folder,
    unchanged,
)
from brain.workspace import Workspace

_NAMED = 3


def import_archive(
    ws: Workspace, path: Path, options: ImportOptions, progress: Progress, quiet: bool = False
) -> list[ImportOutcome]:
    """Import every source in a zip or .tar.gz, in its order; what is none is passed over.

    One more outcome, last, is that of the archive itself: when nothing in it is a source (unless `quiet`), when it
    is damaged, and when members could not be taken; its rejects name them.
    """
    started = time.monotonic()
    try:
        mark = f"{snapshot.state(path)} {_kinds()}"
        if options.may_skip and (known := _untouched(ws, path, mark, options)):
            return known
        with private_folder(ws) as folder:
            progress(f"unpacking {path.name}", 0, None)
            unpacked = archives.unpack(path, folder)
            fault, rejects = _fault(path, unpacked, quiet), unpacked.rejects
            outcomes = []
            # With one more than there are, an archive with a fault is never taken for known, and so is told again.
            state = f"{mark} of {len(unpacked.files) + bool(fault)}"
            for item in unpacked.files:
                outcomes.append(import_copy(ws, path / item.name, item.path, state, options, progress))
                shutil.rmtree(item.path.parent)
    except SourceError as error:
        outcomes, fault, rejects = [], str(error), []
    if fault:
        taken = any(outcome.status not in ("failed", "empty") for outcome in outcomes)
        outcomes.append(
            _own_outcome(ws, path, "partial" if taken else "failed", fault, rejects, options, started)
        )
    return outcomes


def _kinds() -> str:
    """Changes when importers come, or read differently: an archive known by heart may then hold more sources."""
    names = " ".join(f"{reader.NAME}-{reader.VERSION}" for reader in importers.IMPORTERS)
    return hashlib.sha256(names.encode()).hexdigest()[:12]


def _untouched(ws: Workspace, path: Path, mark: str, options: ImportOptions) -> list[ImportOutcome]:
    """The outcomes for an archive nobody has written since all of it was imported; none for any other."""
    started = time.monotonic()
    earlier: dict[str, ImportOutcome] = {}
    wanted = 0
    for record in import_log.earlier_imports_within(ws, path, mark):
        member = path / record["member"]
        if is_sufficient(ws, record, member, options):
            wanted = int(record["file_state"].rpartition(" ")[2])
            earlier.setdefault(record["member"], unchanged(member, record, started))
    return list(earlier.values()) if earlier and len(earlier) == wanted else []


def _fault(path: Path, unpacked: archives.Unpacked, quiet: bool) -> str | None:
    """What is wrong with the archive, in one line; None when all is well."""
    said = []
    if unpacked.fault:
        rest = "what comes before was read" if unpacked.files else "nothing in it could be read"
        said.append(f"{unpacked.fault}; {rest}")
    if unpacked.rejects:
        said.append(_left_out(unpacked.rejects))
    if not (said or unpacked.files or quiet):
        said.append("it holds nothing that can be imported")
        if unpacked.nested:
            said.append("archives within archives are not looked into, so unpack it first")
    return f"{path.name}: {'; '.join(said)}" if said else None


def _left_out(rejects: list[Rejected]) -> str:
    by_reason: dict[str, list[str]] = {}
    for reject in rejects:
        by_reason.setdefault(reject.reason, []).append(reject.where)
    parts = []
    for reason, names in by_reason.items():
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        parts.append(f"{', '.join(names[:_NAMED])}{more} ({reason})")
    return f"left out: {'; '.join(parts[:_NAMED])}" + ("; and others" if len(parts) > _NAMED else "")


def _own_outcome(
    ws: Workspace,
    path: Path,
    status: str,
    fault: str,
    rejects: list[Rejected],
    options: ImportOptions,
    started: float,
) -> ImportOutcome:
    import_id = None
    if not options.dry_run and os.path.lexists(path):
        import_id = import_log.record_failure(ws, path, None, status, fault, rejects)
    return ImportOutcome(
        id=import_id,
        path=str(path),
        source=None,
        browser=None,
        profile=None,
        sha256=None,
        status=status,
        rejected=len(rejects),
        seconds=round(time.monotonic() - started, 3),
        error=fault,
    )
