"""Pairing of browsers: a code shown to the person, good once and for five minutes, is exchanged for a key.

The code's hash alone is kept. After five wrong tries all waiting codes are void.
"""

import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from brain import private_files
from brain.errors import UsageError
from brain.intervals import iso
from brain.locks import lock
from brain.models import BROWSERS
from brain.plaintext import clean
from brain.services import access
from brain.workspace import Workspace

_GOOD_FOR = timedelta(minutes=5)
_TRIES = 5
_LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ23456789"  # without those that look like another


@dataclass(frozen=True, slots=True)
class Code:
    """A code to type into the extension, such as ABCD-EFGH."""

    text: str
    expires_at: str


def make_code(ws: Workspace) -> Code:
    """A new code; earlier ones stay good for their time."""
    text = "".join(secrets.choice(_LETTERS) for _ in range(8))
    expires = ws.settings.now() + _GOOD_FOR
    ws.home.ensure()
    with lock(ws.home.locks / "pairing.lock", what="pair"):
        waiting, _ = _read(ws)
        _write(ws, [*waiting, (_hash(text), expires)], 0)
    return Code(f"{text[:4]}-{text[4:]}", iso(expires))


def pair(
    ws: Workspace, code: str, name: str, *, browser: str = "", profile: str = "", origin: str | None = None
) -> access.NewKey:
    """Exchange a code for a key of scope write. Raises UsageError for a code that is wrong, used or too old."""
    given = _hash("".join(code.upper().split()).replace("-", ""))
    if browser and browser not in BROWSERS:
        browser = "unknown"
    ws.home.ensure()
    with lock(ws.home.locks / "pairing.lock", what="pair"):
        waiting, wrong = _read(ws)
        found = [one for one in waiting if hmac.compare_digest(one[0], given)]
        if not found:
            void = wrong + 1 >= _TRIES
            _write(ws, [] if void else waiting, 0 if void else wrong + 1)
            raise UsageError(
                "the code is wrong, used or older than five minutes; `brain extension pair` shows a new one"
            )
        _write(ws, [one for one in waiting if one not in found], 0)
    wanted = clean(name)[:80] or browser or "browser"
    taken = {key.name for key in access.list_keys(ws) if key.revoked_at is None}
    name = next(n for n in (wanted, *(f"{wanted} {i}" for i in range(2, 10_000))) if n not in taken)
    return access.add_key(
        ws, name, "write", browser=browser or "unknown", profile=clean(profile)[:80], origin=origin
    )


def _path(ws: Workspace) -> Path:
    return ws.home.keys / "pairing.json"


def _read(ws: Workspace) -> tuple[list[tuple[str, datetime]], int]:
    """The codes still good, and how many wrong ones came since the last right one."""
    try:
        content = json.loads(_path(ws).read_text("utf-8"))
        codes = [(str(digest), datetime.fromisoformat(until)) for digest, until in content["codes"]]
        return [code for code in codes if code[1] > ws.settings.now()], int(content["wrong"])
    except (OSError, ValueError, LookupError, TypeError):
        return [], 0  # without a code nobody pairs


def _write(ws: Workspace, codes: list[tuple[str, datetime]], wrong: int) -> None:
    content = {"codes": [[digest, iso(until)] for digest, until in codes], "wrong": wrong}
    private_files.replace(_path(ws), json.dumps(content))


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
