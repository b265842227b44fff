"""The preference registry: what a person wants and rejects, by domain, looked up word for word.

Nothing is guessed here, and nothing that was read on the web or in a chat ever writes it.
"""

import csv
import io
import json
from dataclasses import asdict, dataclass
from typing import Any

from brain.errors import EventRefused, UsageError
from brain.intervals import iso
from brain.services._preference_events import CONSTRAINTS, checked
from brain.services.thoughts import submit
from brain.sql import records
from brain.workspace import Workspace

_COLUMNS = "preference_id AS id, domain, name, want, reject, constraint_type, created_at, updated_at, version"
_KEPT = ("domain", "name", "want", "reject", "constraint_type")


@dataclass(frozen=True, slots=True)
class Preference:
    """One preference; `want` or `reject` may be None, never both. Instants are ISO 8601 UTC."""

    id: str
    domain: str
    name: str
    want: str | None
    reject: str | None
    constraint_type: str
    created_at: str
    updated_at: str
    version: int


@dataclass(frozen=True, slots=True)
class Registry:
    """Preferences by domain and name, and the same as text ready for a context."""

    preferences: list[Preference]
    text: str


@dataclass(frozen=True, slots=True)
class Taken:
    """What an import of preferences did or would do: names by what became of them."""

    new: list[str]
    kept: list[str]
    refused: list[str]


def get_preferences(ws: Workspace, domain: str | None = None, constraint_type: str | None = None) -> Registry:
    """The registry, or what of it concerns a domain (with `general`) or a constraint type. Raises UsageError.

    A domain is matched whole and without regard to case.
    """
    if constraint_type is not None and constraint_type not in CONSTRAINTS:
        raise UsageError(f"unknown constraint type {constraint_type!r}; choose {', '.join(CONSTRAINTS)}")
    if not ws.lake.exists:
        return Registry([], "")
    ws.lake.ensure()
    with ws.lake.read(what="preferences") as con:
        rows = records(
            con.execute(
                f"""
                SELECT {_COLUMNS} FROM store.preferences
                WHERE removed_at IS NULL AND ($domain::VARCHAR IS NULL OR lower(domain) IN (lower($domain), 'general'))
                    AND ($kind::VARCHAR IS NULL OR constraint_type = $kind)
                ORDER BY lower(domain), lower(name)""",
                {"domain": domain, "kind": constraint_type},
            )
        )
    found = [Preference(**row | {n: iso(row[n]) for n in ("created_at", "updated_at")}) for row in rows]
    return Registry(found, as_text(found))


def set_preference(
    ws: Workspace,
    name: str,
    *,
    domain: str = "general",
    want: str | None = None,
    reject: str | None = None,
    constraint_type: str = "domain rule",
    reason: str | None = None,
    client: str | None = None,
) -> Preference:
    """Make a preference, or change the one of that name in that domain; who, what and why are kept.

    Raises UsageError when there is nothing to want or reject, or the type is unknown.
    """
    data = {
        "name": name,
        "domain": domain,
        "want": want,
        "reject": reject,
        "constraint_type": constraint_type,
    }
    made = submit(ws, "preference_set", data | {"reason": reason}, client)
    return next(p for p in get_preferences(ws).preferences if p.id == made)


def remove_preference(
    ws: Workspace, preference_id: str, *, reason: str | None = None, client: str | None = None
) -> str:
    """Take a preference out; returns its id. Raises UsageError for an unknown one."""
    return submit(ws, "preference_remove", {"id": preference_id, "reason": reason}, client)


def as_text(preferences: list[Preference]) -> str:
    """Preferences as lines ready for a context: one heading a domain, one line a preference."""
    lines: list[str] = []
    domain = None
    for one in preferences:
        if one.domain != domain:
            domain = one.domain
            lines.append(f"## {domain}")
        parts = [f"want: {one.want}" if one.want else "", f"reject: {one.reject}" if one.reject else ""]
        lines.append(f"- {one.name} ({one.constraint_type}): {'; '.join(part for part in parts if part)}")
    return "\n".join(lines)


def export_preferences(ws: Workspace) -> str:
    """The registry as JSON that `import_preferences` takes."""
    rows = [{k: v for k, v in asdict(p).items() if k in _KEPT} for p in get_preferences(ws).preferences]
    return json.dumps({"preferences": rows}, ensure_ascii=False, indent=2)


def import_preferences(
    ws: Workspace, text: str, *, dry_run: bool = False, client: str | None = None
) -> Taken:
    """Take preferences that the registry lacks; those it has under the same domain and name are kept as they are.

    Takes its own export and rows of other registries (`preference_name`, `domain`, `want`, `reject`,
    `constraint_type`) as JSON, JSON lines or CSV. A row that is no preference is refused, and the rest goes on. Raises
    UsageError for text that is neither.
    """
    known = {(p.domain.casefold(), p.name.casefold()) for p in get_preferences(ws).preferences}
    taken = Taken([], [], [])
    for number, row in enumerate(_rows(text), 1):
        try:
            one = _checked(row, ws.key)
        except EventRefused as error:
            taken.refused.append(f"row {number}: {error}")
            continue
        label = f"{one['domain']}: {one['name']}"
        place = (str(one["domain"]).casefold(), str(one["name"]).casefold())
        if place in known:
            taken.kept.append(label)
            continue
        known.add(place)
        if not dry_run:
            submit(ws, "preference_set", one | {"reason": "import"}, client)
        taken.new.append(label)
    return taken


def _checked(row: object, key: bytes) -> dict[str, str | None]:
    if not isinstance(row, dict):
        raise EventRefused("it is no preference")
    told = row | {"name": row.get("name") or row.get("preference_name")}
    # A table has an empty text where there is no value; JSON can spell halves of surrogate pairs, which no text holds.
    kept = {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name in _KEPT
        if (value := told.get(name) or None) is not None
    }
    return checked(kept, key)


def _rows(text: str) -> list[Any]:
    text = text.removeprefix("\ufeff").strip()
    if text[:1] not in ("{", "[") and "domain" in text.split("\n", 1)[0]:
        try:
            return list(csv.DictReader(io.StringIO(text, newline="")))
        except csv.Error as error:
            raise UsageError(f"this CSV cannot be read: {error}") from error
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = [_line(line) for line in text.split("\n") if line.strip()]
        if isinstance(lines[0] if lines else None, dict):
            return lines
        raise UsageError(f"this is neither JSON nor CSV: {error}") from error
    for name in ("preferences", "taste_preferences"):
        if isinstance(read, dict) and name in read:
            read = read[name]
    if isinstance(read, dict) and ("name" in read or "preference_name" in read):
        return [read]
    if not isinstance(read, list) or (read and not any(isinstance(row, dict) for row in read)):
        raise UsageError("this is no list of preferences")
    return read


def _line(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
