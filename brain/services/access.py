"""Keys for clients that come over HTTP: named, scoped, hashed at rest, revocable.

A key is `brain_<id>_<secret>`: the id is public and finds the record, the secret has 256 random bits and is shown
once. Only its SHA-256 is kept, in `<home>/keys/clients.json` (0600). Every process of the home sees a new or revoked
key at its next request.
"""

import hashlib
import hmac
import json
import re
import secrets
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from brain import private_files
from brain.errors import LakeError, UsageError, first_line
from brain.intervals import iso
from brain.locks import lock
from brain.plaintext import clean
from brain.workspace import Workspace

Scope = Literal["read", "write", "admin"]
SCOPES: tuple[str, ...] = get_args(Scope)
_KEY = re.compile(r"brain_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Key:
    """One client's key, without its secret. `revoked_at` is None while it is good.

    `browser` is set for a paired browser: what it tells is told of that browser and `profile`, and pages of `origin`
    (its extension) may use it.
    """

    id: str
    name: str
    scope: str
    created_at: str
    revoked_at: str | None = None
    browser: str | None = None
    profile: str | None = None
    origin: str | None = None

    @property
    def scopes(self) -> list[str]:
        """What it may do: admin includes write, write includes read."""
        return list(SCOPES[: SCOPES.index(self.scope) + 1])


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made, with the only copy of its secret."""

    key: Key
    secret: str


def add_key(
    ws: Workspace,
    name: str,
    scope: str = "read",
    *,
    browser: str | None = None,
    profile: str | None = None,
    origin: str | None = None,
) -> NewKey:
    """Make a key. Raises UsageError for an unknown scope, an empty or overlong name, or one in use."""
    name = clean(name)
    if not name or len(name) > _LONGEST_NAME:
        raise UsageError(f"a key needs a name of 1 to {_LONGEST_NAME} characters")
    if scope not in SCOPES:
        raise UsageError(f"unknown scope {scope!r}; choose {', '.join(SCOPES)}")
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    key = Key(key_id, name, scope, iso(ws.settings.now()), None, browser, profile, origin)
    with _changing(ws):
        records = _read(_path(ws))
        if any(known.name == name and known.revoked_at is None for known, _ in records.values()):
            raise UsageError(f"there is a key named {name!r}; revoke it first, or choose another name")
        records[key_id] = (key, _hash(secret))
        _write(ws, records)
    return NewKey(key, f"brain_{key_id}_{secret}")


def list_keys(ws: Workspace) -> list[Key]:
    """All keys, revoked ones too, in the order they were made."""
    return [key for key, _ in _read(_path(ws)).values()]


def revoke_key(ws: Workspace, name_or_id: str) -> Key:
    """Make a key useless at once, in every process. Raises UsageError when there is no such good key."""
    with _changing(ws):
        records = _read(_path(ws))
        for key, digest in records.values():
            if name_or_id in (key.id, key.name) and key.revoked_at is None:
                revoked = replace(key, revoked_at=iso(ws.settings.now()))
                records[key.id] = (revoked, digest)
                _write(ws, records)
                return revoked
    raise UsageError(f"there is no key {name_or_id!r} in use; `brain keys list` names them")


def verify(ws: Workspace, presented: str) -> Key | None:
    """The good key that `presented` is, or None. Takes the same time for a wrong secret as for a right one."""
    found = _KEY.fullmatch(presented)
    if not found:
        return None
    key, digest = _read(_path(ws)).get(found[1], (None, _hash("")))
    same = hmac.compare_digest(_hash(found[2]), digest)
    return key if key and same and key.revoked_at is None else None


def has_keys(ws: Workspace) -> bool:
    """Whether any key is in use."""
    return any(key.revoked_at is None for key in list_keys(ws))


def _path(ws: Workspace) -> Path:
    return ws.home.keys / "clients.json"


def _changing(ws: Workspace) -> AbstractContextManager[None]:
    ws.home.ensure()
    return lock(ws.home.locks / "clients.lock", what="change keys")


def _hash(secret: str) -> str:
    # The secret is random and long: a slow hash would add nothing.
    return hashlib.sha256(secret.encode()).hexdigest()


def _read(path: Path) -> dict[str, tuple[Key, str]]:
    """Keys and the hashes of their secrets, by id. Read anew each time: another process may have revoked one."""
    try:
        records = json.loads(path.read_text("utf-8"))["keys"]
        return {
            record["id"]: (Key(**{n: record[n] for n in _FIELDS if n in record}), str(record["hash"]))
            for record in records
        }
    except FileNotFoundError:
        return {}
    except (ValueError, LookupError, TypeError, OSError) as error:
        raise LakeError(
            f"{path} cannot be read ({first_line(error)}); no client is let in until it is mended"
        ) from error


def _write(ws: Workspace, records: dict[str, tuple[Key, str]]) -> None:
    kept = [asdict(key) | {"hash": digest} for key, digest in records.values()]
    private_files.replace(_path(ws), json.dumps({"keys": kept}, indent=1))


_FIELDS = tuple(Key.__dataclass_fields__)
