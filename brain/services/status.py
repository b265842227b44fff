"""What this lake holds, where it lies and what it takes on disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brain.intervals import iso
from brain.services import coverage, import_log
from brain.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Status:
    """`rows` counts what is in the lake, `disk` is bytes by part of the home."""

    home: str
    exists: bool
    zone: str
    rows: dict[str, int]
    first: str | None
    last: str | None
    sources: list[dict[str, Any]]
    pending: int
    model: str | None
    last_import: dict[str, Any] | None
    disk: dict[str, int]


def status(ws: Workspace) -> Status:
    """The state of the lake now. Reads only; an absent lake is a status too."""
    disk = {part: _bytes_under(getattr(ws.home, part)) for part in _PARTS}
    model, _ = ws.embedder_or_none()
    name = f"{model.identity.id} ({model.identity.dimension} dimensions)" if model else None
    if not ws.lake.exists:
        return Status(str(ws.home.root), False, ws.settings.timezone, {}, None, None, [], 0, name, None, disk)
    ws.lake.ensure()
    with ws.lake.read(what="status") as con:
        row = con.execute("""
            SELECT (SELECT count(*) FROM store.visits),
                   (SELECT count(*) FROM store.visits WHERE is_visible AND duplicate_of IS NULL),
                   (SELECT count(DISTINCT page_id) FROM store.urls),
                   (SELECT count(*) FROM store.urls),
                   (SELECT count(*) FROM store.documents WHERE state NOT IN ('removed', 'gone')),
                   (SELECT count(*) FROM store.imports),
                   (SELECT min(visited_at) FROM store.visits), (SELECT max(visited_at) FROM store.visits)
        """).fetchone()
    assert row
    names = ("visits", "visible_visits", "pages", "urls", "documents", "imports")
    covered = coverage.read(ws)
    imports = import_log.list_imports(ws)
    return Status(
        str(ws.home.root),
        True,
        ws.settings.timezone,
        dict(zip(names, row[:6], strict=True)),
        iso(row[6]),
        iso(row[7]),
        covered["sources"],
        covered["pending"],
        name,
        imports[-1] if imports else None,
        disk,
    )


_PARTS = ("lake", "index", "raw", "snapshots", "inbox", "plans", "cache", "prefect", "logs")


def _bytes_under(path: Path) -> int:
    """Bytes of a file or of all files below a folder; 0 when absent."""
    if path.is_file():
        return int(path.stat().st_size)
    total = 0
    for file in path.rglob("*") if path.is_dir() else ():
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:  # gone meanwhile
            continue
    return total
