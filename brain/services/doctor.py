"""Look the lake over: each check says what it found and, when something is wrong, the command that mends it."""

import os
import shutil
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from brain import migrations
from brain.errors import BrainError, IndexUnavailable, LakeBusy, LakeError
from brain.intervals import iso
from brain.services import import_log
from brain.services.import_files import remove_leftovers
from brain.services.index_documents import index_documents
from brain.sql import frame
from brain.urls import page_ids
from brain.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `fix` is a command or an action, only where `ok` is false."""

    name: str
    ok: bool
    detail: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All checks; `ok` when every one is."""

    checks: list[Check]

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


def diagnose(ws: Workspace, fix: bool = False) -> Diagnosis:
    """Run every check; with `fix` first mend what can be mended without asking.

    A check that cannot run is a failed check, never an exception.
    """
    checks = []
    if fix and ws.lake.exists:
        try:
            _mend(ws)
        except (BrainError, OSError) as error:  # the checks go on, and tell what is wrong now
            checks.append(Check("mend", False, f"not everything could be mended: {error}"))
    for name, look in _CHECKS.items():
        if name in _NEED_LAKE and not ws.lake.exists:
            continue
        try:
            checks.append(look(ws))
        except BrainError as error:
            checks.append(Check(name, False, str(error), _remedy(error)))
        except OSError as error:
            checks.append(Check(name, False, f"cannot be looked at: {error}"))
    return Diagnosis(checks)


def _remedy(error: BrainError) -> str:
    if isinstance(error, LakeBusy):
        return "wait for it to end, then look again"
    if isinstance(error, LakeError):
        return "restore a backup, or move lake.duckdb away and import the files anew"
    return "brain index --rebuild" if isinstance(error, IndexUnavailable) else "brain doctor --fix"


def _mend(ws: Workspace) -> None:
    ws.lake.ensure()
    remove_leftovers(ws)
    for path in _open_to_others(ws):
        path.chmod(0o700 if path.is_dir() else 0o600)
    import_log.mark_interrupted(ws)
    index_documents(ws)


def _home(ws: Workspace) -> Check:
    if not ws.lake.exists:
        return Check("home", True, f"{ws.home.root}: no lake yet; `brain import --auto` makes one")
    if not os.access(ws.home.root, os.W_OK):
        return Check("home", False, f"{ws.home.root} cannot be written", "check the folder's owner and mount")
    return Check("home", True, str(ws.home.root))


def _disk(ws: Workspace) -> Check:
    root = next(p for p in (ws.home.root, *ws.home.root.parents) if p.exists())
    free = shutil.disk_usage(root).free
    if free < 500_000_000:
        return Check("disk", False, f"only {free // 1_000_000} MB free", "free some disk space")
    return Check("disk", True, f"{free / 1e9:.1f} GB free")


def _open_to_others(ws: Workspace) -> list[Path]:
    if os.name != "posix":
        return []
    secret = [ws.home.root, ws.home.keys, *ws.home.keys.glob("*"), ws.home.lake, ws.home.raw, ws.home.inbox]
    return [p for p in secret if p.exists() and stat.S_IMODE(p.stat().st_mode) & 0o077]


def _permissions(ws: Workspace) -> Check:
    if found := _open_to_others(ws):
        return Check("permissions", False, f"others may read {found[0]}", "brain doctor --fix")
    return Check("permissions", True, "private to you")


def _schema(ws: Workspace) -> Check:
    with ws.lake.read(what="doctor") as con:
        found = migrations.version(con)
        migrations.check(con)
    if found < migrations.LATEST:
        return Check("schema", False, f"schema {found} of {migrations.LATEST}", "brain doctor --fix")
    return Check("schema", True, f"schema {found}")


def _locks(ws: Workspace) -> Check:
    long = [h for h in ws.lake.leases.holders() if time.time() - h.since.timestamp() > 30]
    if long:
        return Check(
            "locks", False, f"held for long: {long[0]}", f"wait for it, or end process {long[0].pid}"
        )
    return Check("locks", True, "nobody holds the lake for long")


def _integrity(ws: Workspace) -> Check:
    with ws.lake.snapshot() as con:
        row = con.execute("""
            SELECT (SELECT count(*) FROM store.visits ANTI JOIN store.urls USING (url_id)),
                   (SELECT count(*) - count(DISTINCT visit_key) FROM store.visits),
                   (SELECT count(*) - count(DISTINCT url_id) FROM store.urls),
                   (SELECT count(*) FROM store.observations ANTI JOIN store.visits USING (visit_key)),
                   (SELECT count(*) - count(DISTINCT doc_id) FROM store.documents)""").fetchone()
    assert row
    faults = [
        f"{n} {what}"
        for n, what in zip(
            row,
            (
                "visits without URL",
                "visits twice",
                "URLs twice",
                "observations without visit",
                "documents twice",
            ),
            strict=True,
        )
        if n
    ]
    if faults:
        return Check("integrity", False, ", ".join(faults), "restore a backup, or import the files anew")
    return Check("integrity", True, "every row has its counterpart, none stands twice")


def _key(ws: Workspace) -> Check:
    mend = "put it back from a backup of this home"
    with ws.lake.read(what="doctor") as con:
        some = frame(con, "SELECT page_id, url_norm FROM store.urls LIMIT 1")
    try:
        made = page_ids(some["url_norm"], ws.key)
    except BrainError as error:
        return Check("key", False, str(error), mend)
    if made.to_list() != some["page_id"].to_list():
        return Check(
            "key", False, f"{ws.home.keys / 'lake.key'} is not the one this lake was made with", mend
        )
    return Check("key", True, "the lake's own")


def _imports(ws: Workspace) -> Check:
    with ws.lake.read(what="doctor") as con:
        rows = con.execute("""
            SELECT import_id, path, pid FROM store.imports i WHERE status IN ('running', 'interrupted')
                AND NOT EXISTS (SELECT 1 FROM store.imports later WHERE later.path = i.path
                    AND later.import_id > i.import_id AND later.status IN ('imported', 'partial'))""").fetchall()
    cut = [(i, path) for i, path, pid in rows if not import_log.is_alive(pid)]
    if cut:
        return Check(
            "imports",
            False,
            f"import {cut[0][0]} of {cut[0][1]} was cut short",
            f'brain import "{cut[0][1]}"',
        )
    return Check("imports", True, "none cut short")


def _model(ws: Workspace) -> Check:
    model, reason = ws.embedder_or_none()
    if model is None:
        return Check("model", False, reason or "it cannot be loaded", "brain model install")
    return Check("model", True, f"{model.identity.id} is installed")


def _index(ws: Workspace) -> Check:
    with ws.lake.read(what="doctor") as con:
        row = con.execute("""
            SELECT count(*) FILTER (WHERE state IN ('pending', 'ready')), count(*) FILTER (WHERE state = 'stale')
            FROM store.documents""").fetchone()
    assert row
    expected, stale = row
    if stale:
        return Check("index", False, f"{stale} documents are not in the index", "brain index")
    found = ws.index.count_documents() if expected else 0
    if found != expected:
        return Check(
            "index", False, f"{found} documents in the index, {expected} expected", "brain index --rebuild"
        )
    waiting = ws.index.pending() if expected else 0
    if waiting:
        return Check("index", False, f"{waiting} documents wait for their vector", "brain index")
    return Check("index", True, f"{found} documents")


def _inbox(ws: Workspace) -> Check:
    waiting = len(list((ws.home.inbox / "new").glob("*")))
    bad = len([p for p in (ws.home.inbox / "rejected").glob("*") if p.suffix != ".reason"])
    if waiting:
        return Check("inbox", False, f"{waiting} events wait to be applied", "brain drain")
    return Check("inbox", True, f"empty; {bad} refused events are kept" if bad else "empty")


def _clock(ws: Workspace) -> Check:
    with ws.lake.read(what="doctor") as con:
        row = con.execute("SELECT max(visited_at) FROM store.visits").fetchone()
    newest = row[0] if row else None
    if newest and newest - timedelta(days=1) > ws.settings.now():
        return Check(
            "clock", False, f"the newest visit lies ahead: {iso(newest)}", "check this machine's clock"
        )
    return Check("clock", True, "no visit lies ahead of the clock")


_CHECKS: dict[str, Callable[[Workspace], Check]] = {
    "home": _home,
    "disk": _disk,
    "permissions": _permissions,
    "schema": _schema,
    "locks": _locks,
    "integrity": _integrity,
    "key": _key,
    "imports": _imports,
    "model": _model,
    "index": _index,
    "inbox": _inbox,
    "clock": _clock,
}
_NEED_LAKE = {"permissions", "schema", "locks", "integrity", "key", "imports", "index", "inbox", "clock"}
