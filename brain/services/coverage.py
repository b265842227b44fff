"""What an answer rests on: sources and their newest data, the interval meant, what is degraded.

Counting sources needs the lake, and search must not wait for it, so the counts are kept in a small file that every
writer refreshes; it is derived and may be deleted at any time.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from brain import private_files
from brain.errors import UsageError
from brain.intervals import Interval, iso
from brain.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Coverage:
    """Echoed with every read. `pending` counts documents that wait for their vector."""

    interval: dict[str, str | None]
    zone: str
    sources: list[dict[str, Any]]
    degraded: list[str] = field(default_factory=list)
    pending: int = 0


def cover(
    ws: Workspace, interval: Interval, degraded: list[str] | None = None, pending: int | None = None
) -> Coverage:
    """The coverage of an answer given now."""
    counts = read(ws)
    return Coverage(
        interval.as_dict(),
        interval.zone,
        counts["sources"],
        degraded or [],
        counts["pending"] if pending is None else pending,
    )


def refresh(ws: Workspace) -> None:
    """Count the lake's sources and waiting documents again and keep the result for readers."""
    with ws.lake.read(what="coverage") as con:
        sources = con.execute("""
            SELECT source, max(newest), sum(n)::BIGINT FROM (
                SELECT s.source, max(v.visited_at) AS newest, count(*) AS n
                FROM store.visits v JOIN store.sources s USING (source_id) GROUP BY 1
                UNION ALL SELECT s.source, max(b.added_at), count(*)
                FROM store.bookmarks b JOIN store.sources s USING (source_id) GROUP BY 1
                UNION ALL SELECT source, max(last_at), count(*) FROM store.documents
                WHERE kind NOT IN ('page', 'bookmark') AND state NOT IN ('removed', 'gone') GROUP BY 1
            ) GROUP BY 1 ORDER BY 1""").fetchall()
        waiting = con.execute(
            "SELECT count(*) FROM store.documents WHERE state IN ('stale', 'pending')"
        ).fetchone()
    counted = [{"source": source, "newest": iso(newest), "rows": rows} for source, newest, rows in sources]
    told = {"sources": counted, "pending": waiting[0] if waiting else 0}
    private_files.replace(ws.home.cache / "coverage.json", json.dumps(told))


def read(ws: Workspace) -> dict[str, Any]:
    """The kept counts: `sources` and `pending`; counted now when there are none yet."""
    path = ws.home.cache / "coverage.json"
    for _ in range(2):
        try:
            counts: dict[str, Any] = json.loads(path.read_text("utf-8"))
            return {"sources": list(counts["sources"]), "pending": int(counts["pending"])}
        except NotADirectoryError as error:
            raise UsageError(f"the home {ws.home.root} cannot be used: {error.strerror}") from error
        except (FileNotFoundError, ValueError, TypeError, LookupError):
            if not ws.lake.exists:
                break
            ws.home.cache.mkdir(mode=0o700, parents=True, exist_ok=True)
            refresh(ws)
    return {"sources": [], "pending": 0}
