"""One item in full, by its id."""

from dataclasses import dataclass, field
from typing import Any

from brain import ids
from brain.errors import UsageError
from brain.intervals import iso
from brain.services.thought_reads import get_thought
from brain.sql import Connection, records
from brain.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Item:
    """An item in full. `url` is never empty: what has no address of its own gets `brain://item/<id>`."""

    id: str
    kind: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any] = field(default_factory=dict)


def fetch(ws: Workspace, item_id: str) -> Item:
    """The item with this id: any document, or a visit, which stands for its page.

    A page's text is what is known of it: its titles and when it was visited. Raises UsageError for an unknown id.
    """
    unknown = UsageError(f"there is nothing with the id {item_id!r}; ids come from a search, and are whole")
    if ids.parts(item_id) is None or not ws.lake.exists:
        raise unknown
    if item_id.startswith("t"):
        return _thought(ws, item_id) or _raise(unknown)
    ws.lake.ensure()
    with ws.lake.read(what="fetch") as con:
        doc_id = _page_of(con, item_id) if item_id.startswith("v") else item_id
        rows = records(
            con.execute(
                """
                SELECT doc_id, kind, page_id, title, text, url, domain, source, origin, first_at, last_at, visit_count
                FROM store.documents WHERE doc_id = ? AND state NOT IN ('removed', 'gone')""",
                [doc_id],
            )
        )
        if not rows:
            raise unknown
        row = rows[0]
        titles = _titles(con, row["page_id"]) if row["kind"] == "page" else []
    title = row["title"] or row["url"] or _opening(row["text"])
    metadata = {name: row[name] for name in ("kind", "domain", "source", "origin", "visit_count")}
    metadata |= {"first_at": iso(row["first_at"]), "last_at": iso(row["last_at"])}
    if len(titles) > 1:
        metadata["titles"] = titles
    text = row["text"] or _of_page(row, titles)
    return Item(
        row["doc_id"], row["kind"], title, text, row["url"] or f"brain://item/{row['doc_id']}", metadata
    )


def _thought(ws: Workspace, thought_id: str) -> Item | None:
    found = get_thought(ws, thought_id)
    if found is None or found.deleted_at:
        return None
    kept = (
        "type",
        "topics",
        "people",
        "action_items",
        "dates",
        "created_at",
        "version",
        "superseded_by",
        "same_as",
    )
    metadata = {"kind": "thought", "origin": found.source} | {name: getattr(found, name) for name in kept}
    return Item(
        found.id, "thought", _opening(found.content), found.content, f"brain://thought/{found.id}", metadata
    )


def _raise(error: UsageError) -> Item:
    raise error


def _page_of(con: Connection, visit_id: str) -> str | None:
    _, number = ids.parts(visit_id) or ("", 0)
    found = con.execute(
        "SELECT page_id FROM store.visits v JOIN store.urls u USING (url_id) WHERE v.visit_key = ?", [number]
    ).fetchall()
    return ids.text("p", found[0][0]) if found else None


def _titles(con: Connection, page_id: int | None) -> list[str]:
    found = con.execute(
        """
        SELECT title FROM (
            SELECT t.title, t.as_of FROM store.titles t JOIN store.urls u USING (url_id) WHERE u.page_id = $1
            UNION ALL SELECT title, title_as_of FROM store.urls WHERE page_id = $1 AND title IS NOT NULL)
        GROUP BY title ORDER BY max(as_of) DESC NULLS LAST LIMIT 20""",
        [page_id],
    ).fetchall()
    return [title for (title,) in found]


def _of_page(row: dict[str, Any], titles: list[str]) -> str:
    lines = titles or [row["url"]]
    if row["visit_count"]:
        first, last = (iso(row[name]) or "" for name in ("first_at", "last_at"))
        lines.append(f"Visited {row['visit_count']} times from {first[:10]} to {last[:10]}.")
    return "\n".join([*lines, "The page's own text was not captured."])


def _opening(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= 80 else line[:79].rstrip() + "…"
