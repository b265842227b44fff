"""The JSON that Session Buddy, an extension for Chromium browsers, exports: saved collections or sessions of tabs.

Version 4 writes an object with `format` ("nxs.json.v1") and `collections`, each with `id`, `title`, `created` in
milliseconds and `folders` (one a window, with a title) of `links`. Version 3 wrote an object with `sessions`, each with
`gid`, `name`, `type` ("saved", "previous" or "current"), `generated` in ISO 8601 and `windows` of `tabs`, which are the
browser's own `tabs.Tab` (https://developer.chrome.com/docs/extensions/reference/api/tabs). No reference for the export
itself is known.
"""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brain.errors import SourceError
from brain.importers._bookmark_rows import Bookmark, Dated, batches, written_date
from brain.importers._json_stream import CutOff, members, shown
from brain.importers._whole_file import json_head, texts
from brain.models import Batch, Rejected

NAME = "session_buddy"
SOURCE = "bookmarks"
BROWSER = "unknown"  # the same in all Chromium browsers
VERSION = 1  # raised when the same bytes are read differently


@dataclass(frozen=True, slots=True)
class _Form:
    """What one version calls things: a saved set of windows, its windows and their tabs."""

    one: str
    id: str
    name: str
    date: str
    windows: str
    window: str
    tabs: str
    tab: str


_FORMS = {
    "collections": _Form("collection", "id", "title", "created", "folders", "folder", "links", "link"),
    "sessions": _Form("session", "gid", "name", "generated", "windows", "window", "tabs", "tab"),
}
# An object that begins with keys of plain values, or at once with the key that follows.
_BEGINNING = r'\{\s*+(?:"[^"\\]*+"\s*+:\s*+(?:"[^"\\]*+"|[\w.+-]++)\s*+,\s*+)*?'
_COLLECTIONS = re.compile(_BEGINNING + r'"format"\s*+:\s*+"nxs\.json\.v1"')
_SESSIONS = re.compile(_BEGINNING + r'"sessions"\s*+:\s*+\[\s*+\{')
_WINDOWS = re.compile(r'"windows"\s*+:\s*+\[')
_KIND = re.compile(r'"gid"\s*+:|"type"\s*+:\s*+"(?:saved|previous|current)"')


def detect(path: Path) -> bool:
    """Whether the file begins like an export of version 4 or 3."""
    start = json_head(path)
    if _COLLECTIONS.match(start):
        return True
    return all((_SESSIONS.match(start), _WINDOWS.search(start), _KIND.search(start)))


def read(path: Path) -> Generator[Batch | Rejected]:
    """Every tab of every collection or session, in the order of the file.

    The folder is the name of the collection or session, then the window's title where it has one; `added_us` is the
    moment the set was saved. Tabs of the session that ran during the export are open tabs, without a date. Tabs of
    private windows are rejected. Raises SourceError for what is no whole JSON before the first set has ended,
    EmptySource when there is no tab.
    """
    yield from batches(path.name, _found(path))


def _found(path: Path) -> Iterator[Bookmark | Rejected]:
    number = 0
    key = ""
    try:
        for key, values in members(path, _FORMS):
            for value in values:
                number += 1
                yield from _tabs(_FORMS[key], f"{_FORMS[key].one} {number}", value)
    except CutOff as error:
        if not number:
            raise SourceError(f"{path.name} is no whole JSON: {error}") from error
        yield Rejected(key, f"the rest cannot be read: {error}")


def _tabs(form: _Form, where: str, kept: object) -> Iterator[Bookmark | Rejected]:
    windows = kept.get(form.windows) if isinstance(kept, dict) else None
    if not isinstance(kept, dict) or not isinstance(windows, list):
        reason = f"it has no {form.windows}" if isinstance(kept, dict) else f"it is no object: {shown(kept)}"
        yield Rejected(where, reason)
        return
    is_open = form.one == "session" and kept.get("type") == "current"
    name, native = texts(kept, form.name), _id(kept.get(form.id))
    added = (None, None) if is_open else _date(kept.get(form.date))
    for at, window in enumerate(windows, 1):
        window_where = f"{where}, {form.window} {at}"
        tabs = window.get(form.tabs) if isinstance(window, dict) else None
        if not isinstance(tabs, list):
            yield Rejected(window_where, f"it has no {form.tabs}")
            continue
        folder = tuple(filter(None, (name, texts(window, "title"))))
        for place, tab in enumerate(tabs, 1):
            tab_where = f"{window_where}, {form.tab} {place}"
            if not isinstance(tab, dict):
                yield Rejected(tab_where, f"it is no {form.tab}")
            elif _is_private(window) or _is_private(tab):
                yield Rejected(tab_where, "it was in a private window")
            else:
                own = _id(tab.get("id"))
                yield Bookmark(
                    where=tab_where,
                    url=tab.get("url"),
                    title=texts(tab, "title"),
                    folder=folder,
                    added=added,
                    shelf="open_tabs" if is_open else "saved_tabs",
                    native_id=f"{native}/{own}" if native and own else None,
                )


def _is_private(what: dict[str, Any]) -> bool:
    return what.get("incognito") is True


def _id(value: object) -> str | None:
    is_one = isinstance(value, str | int) and not isinstance(value, bool)
    return str(value)[:100] if is_one else None


def _date(value: object) -> Dated:
    return written_date(value) if isinstance(value, str | int | float) else (None, None)
