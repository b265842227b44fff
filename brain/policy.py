"""Which addresses are never stored: the deny list, its exceptions, and the pause switch.

An entry of either list is one of

    chase.com               the host and every host below it (never purchase.com)
    example.org/private     the same hosts, paths /private and /private/... (not /privateer)
    localhost:3000          that port only
    file:                   a scheme; file:///home/me/work is a path of it and what lies below

The most specific entry decides: a longer host before a shorter one, then a port, then a longer path, all of them
before a scheme. Of two equals the allow list wins, so `allow = ["file:"]` lets files in although the scheme is denied
by default, and `deny = ["example.org/private"]` holds beside `allow = ["example.org"]`.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

import numpy as np
import polars as pl

from brain.config import Home, Settings
from brain.errors import UsageError
from brain.origins import Origin, Origins, ascii_host, is_public_suffix, origins

# Pages of the browser itself, of its extensions and of no address: never history worth keeping.
DENIED_SCHEMES = (
    "about", "blob", "brave", "chrome", "chrome-devtools", "chrome-error", "chrome-extension", "chrome-native",
    "chrome-search", "chrome-untrusted", "data", "devtools", "edge", "extension", "file", "javascript",
    "moz-extension", "ms-browser-extension", "opera", "resource", "safari-web-extension", "view-source", "vivaldi",
)  # fmt: skip

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_HOST = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?|\[[0-9a-f:.]+\]"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a list, parsed. `path` has no trailing slash and is percent-decoded."""

    allow: bool
    scheme: str | None = None
    host: str | None = None
    port: int | None = None
    path: str = ""

    @property
    def rank(self) -> tuple[int, bool, int, bool]:
        labels = 0 if self.host is None else self.host.count(".") + 1
        return labels, self.port is not None, self.path.count("/"), self.allow

    def covers_path(self, path: str) -> bool:
        return path == self.path or path.startswith(f"{self.path}/")


class Policy:
    """Deny and allow lists, ready to be asked. Immutable."""

    def __init__(self, deny: Iterable[str] = (), allow: Iterable[str] = ()) -> None:
        """Raises UsageError naming the first entry that cannot be meant."""
        listed = [parse_entry(text, allow=False) for text in deny] + [
            parse_entry(text, allow=True) for text in allow
        ]
        builtin = [Entry(allow=False, scheme=scheme) for scheme in DENIED_SCHEMES]
        self._entries = tuple(sorted({*listed, *builtin}, key=lambda entry: entry.rank, reverse=True))
        # By what an origin can look up: its scheme, its host and every parent of that.
        self._by_name: dict[str, list[Entry]] = {}
        for entry in self._entries:
            self._by_name.setdefault(f"{entry.scheme}:" if entry.host is None else entry.host, []).append(
                entry
            )

    @classmethod
    def from_settings(cls, settings: Settings) -> "Policy":
        """The policy that `deny` and `allow` of the configuration ask for. Raises UsageError for a bad entry."""
        return cls(settings.deny, settings.allow)

    @cached_property
    def fingerprint(self) -> str:
        """12 hex digits that change whenever another set of addresses may be denied."""
        # Entries of equal rank come out of a set, in another order in every process.
        return hashlib.sha256(repr(sorted(map(repr, self._entries))).encode()).hexdigest()[:12]

    def denied(self, urls: pl.Series, split: Origins | None = None) -> pl.Series:
        """Which of these raw URLs must not be stored. NULL and what is no URL are not denied.

        `split` takes the `origins` of the same column where the caller has them already.
        """
        split = split or origins(urls)
        # Entries without a path decide once per origin; those with one need a look at each of its rows.
        verdicts: list[bool] = []
        doubtful: dict[int, list[Entry]] = {}
        for number, origin in enumerate(split.distinct):
            entries = self._deciding(origin)
            verdicts.append(bool(entries) and not entries[0].allow)
            if entries and entries[0].path:
                doubtful[number] = entries
        answer = np.array(verdicts, bool)[split.codes]
        if doubtful:
            codes = split.codes.tolist()
            rows = np.flatnonzero(np.isin(split.codes, list(doubtful)))
            for row, tail in zip(rows.tolist(), split.tails.gather(rows), strict=True):
                answer[row] = _decide(doubtful[codes[row]], tail)
        return pl.Series("denied", answer)

    def _deciding(self, origin: Origin) -> list[Entry]:
        """Entries that may decide for this origin, most specific first, up to the first without a path."""
        found: list[Entry] = []
        for name in _parents(origin):
            for entry in self._by_name.get(name, ()):
                if entry.port is not None and entry.port != origin.port:
                    continue
                found.append(entry)
                if not entry.path:
                    return found
        return found


def _parents(origin: Origin) -> Iterator[str]:
    """The host, each host above it, then the scheme: from the most specific to the least."""
    host = origin.host
    while host:
        yield host
        host = "" if host.startswith("[") else host.partition(".")[2]
    yield f"{origin.scheme}:"


def _decide(entries: list[Entry], tail: str) -> bool:
    path = _plain_path(re.split(r"[?#]", tail, maxsplit=1)[0])
    return next((not entry.allow for entry in entries if not entry.path or entry.covers_path(path)), False)


def _plain_path(path: str) -> str:
    """The path that a server would see: decoded, with dot segments and doubled slashes resolved."""
    kept: list[str] = []
    for part in unquote(path, errors="replace").replace("\\", "/").split("/"):
        if part == "..":
            kept = kept[:-1]
        elif part not in ("", "."):
            kept.append(part)
    return "/" + "/".join(kept) if kept else ""


def parse_entry(text: str, *, allow: bool) -> Entry:
    """One entry as written in a list (see the module). Raises UsageError naming it."""
    entry = text.strip() if isinstance(text, str) else ""
    if not entry or re.search(r"[\s?#@*]", entry):
        raise _bad(text, "write a domain, a domain/path or a scheme: such as file:")
    if _SCHEME.fullmatch(entry):
        return Entry(allow, scheme=entry[:-1].lower())
    scheme, mark, rest = entry.partition("://")
    if mark and scheme.lower() == "file":
        return Entry(allow, scheme="file", path=_plain_path(rest.partition("/")[1] + rest.partition("/")[2]))
    if mark and scheme.lower() not in ("http", "https"):
        raise _bad(text, f"of other schemes only the whole can be listed, as {scheme}:")
    authority, _, path = (rest if mark else entry).partition("/")
    host, port = _parse_authority(text, authority)
    return Entry(allow, host=host, port=port, path=_plain_path(path))


def _parse_authority(text: str, authority: str) -> tuple[str, int | None]:
    name, digits = authority, ""
    if not authority.endswith("]"):
        before, colon, after = authority.rpartition(":")
        if colon:
            name, digits = before, after
            if not (digits.isascii() and digits.isdigit() and len(digits) < 6 and 0 < int(digits) < 65536):
                raise _bad(text, "the port must be a number below 65536")
    host = ascii_host(name)
    if not _HOST.fullmatch(host) or len(host) > 253:
        raise _bad(text, "that is no host name")
    if is_public_suffix(host):
        raise _bad(text, "that is a whole top-level domain; name a site below it")
    return host, int(digits) if digits else None


def _bad(text: Any, why: str) -> UsageError:
    return UsageError(f"deny or allow entry {text!r} cannot be used: {why}")


def paused(home: Home) -> bool:
    """Whether taking in new events is switched off: the file `paused` stands in the home."""
    return (home.root / "paused").exists()
