"""What events about preferences do to the lake, inside the drain's transaction. Every change is audited."""

import hashlib
from typing import Any

from brain import scrub
from brain.errors import EventRefused
from brain.events import Event
from brain.services._thought_events import audit
from brain.sql import Connection, records

CONSTRAINTS = ("domain rule", "quality standard", "business logic", "formatting")
LONGEST = 4_000
_SHOWN = ("name", "domain", "want", "reject", "constraint_type")


def id_of(domain: str, name: str) -> str:
    """The id of the preference of this name in this domain."""
    digest = hashlib.sha256(f"preference:{domain.casefold()}\0{name.casefold()}".encode()).hexdigest()
    return "r" + digest[:16]


def set_preference(con: Connection, event: Event, key: bytes) -> str:
    """Make a preference or change the one of that name and domain."""
    new = checked(event.data, key)
    found = id_of(str(new["domain"]), str(new["name"]))
    rows = records(con.execute("SELECT * FROM store.preferences WHERE preference_id = ?", [found]))
    if not rows:
        con.execute(
            "INSERT INTO store.preferences VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, NULL)",
            [
                *(found, new["name"], new["domain"], new["want"], new["reject"], new["constraint_type"]),
                event.at,
                event.at,
            ],
        )
        audit(con, event, "set", found, None, new)
        return found
    old = {name: rows[0][name] for name in _SHOWN}
    if rows[0]["removed_at"] is None and old == new:
        return found
    con.execute(
        """
        UPDATE store.preferences SET name = ?, domain = ?, want = ?, reject = ?, constraint_type = ?, updated_at = ?,
            version = version + 1, removed_at = NULL WHERE preference_id = ?""",
        [*new.values(), event.at, found],
    )
    audit(con, event, "set", found, None if rows[0]["removed_at"] else old, new)
    return found


def checked(data: dict[str, Any], key: bytes) -> dict[str, str | None]:
    """What is kept of a preference, scrubbed and on one line each. Raises EventRefused where it is none."""
    new = {name: _text(data, name, key) for name in _SHOWN}
    new["domain"] = new["domain"] or "general"
    new["constraint_type"] = new["constraint_type"] or "domain rule"
    if not new["name"]:
        raise EventRefused("a preference needs a name")
    if not (new["want"] or new["reject"]):
        raise EventRefused("a preference needs what is wanted, or what is to be rejected, or both")
    if new["constraint_type"] not in CONSTRAINTS:
        raise EventRefused(
            f"unknown constraint type {new['constraint_type']!r}; choose {', '.join(CONSTRAINTS)}"
        )
    return new


def remove_preference(con: Connection, event: Event) -> str:
    """Take a preference out of the registry; its history stays in the audit."""
    found = str(event.data.get("id") or "")
    rows = records(
        con.execute("SELECT * FROM store.preferences WHERE preference_id = ? AND removed_at IS NULL", [found])
    )
    if not rows:
        raise EventRefused(f"there is no preference {found!r}; get_preferences lists them")
    con.execute(
        "UPDATE store.preferences SET removed_at = ?, version = version + 1 WHERE preference_id = ?",
        [event.at, found],
    )
    audit(con, event, "removed", found, {name: rows[0][name] for name in _SHOWN}, None)
    return found


def _text(data: dict[str, Any], name: str, key: bytes) -> str | None:
    value = data.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise EventRefused(f"`{name}` must be text")
    if len(value) > LONGEST:
        raise EventRefused(f"`{name}` has {len(value):,} characters; at most {LONGEST:,} are kept")
    return scrub.scrub_text(" ".join(value.split()), key) or None
