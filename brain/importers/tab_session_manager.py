"""The JSON that Tab Session Manager exports and backs up: saved sessions of windows and tabs.

As src/background/save.js and export.js of the extension write it: a list of sessions with `id`, `name`, `date` (in
milliseconds, in older versions ISO 8601), `tag` and `windows`, which holds for each window's id an object of tabs by
their ids; a tab is the browser's own `tabs.Tab`, with `index`, `url`, `title`, `lastAccessed` and `incognito`.
"""

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from brain.errors import SourceError
from brain.importers._bookmark_rows import Bookmark, Dated, batches, since_1970_ms, written_date
from brain.importers._whole_file import json_head, load_json, texts
from brain.models import Batch, Rejected

NAME = "tab_session_manager"
SOURCE = "bookmarks"
BROWSER = "unknown"  # the same in all browsers
VERSION = 1  # raised when the same bytes are read differently

# Tags that the extension itself gives to what it saves by clock or at the end of a window.
_OWN_TAGS = frozenset(("regular", "winclose", "browserexit", "temp"))
_WINDOWS = re.compile(r'"windows"\s*+:\s*+\{\s*+"-?\d+"\s*+:\s*+\{\s*+"-?\d+"\s*+:\s*+\{')
_COUNTED = re.compile(r'"(?:windowsNumber|tabsNumber|sessionStartTime|windowsInfo)"\s*+:')


def detect(path: Path) -> bool:
    """Whether the file begins like a list of saved sessions."""
    start = json_head(path)
    if not start.startswith("["):
        return False
    if _WINDOWS.search(start):
        return True
    return '"windows"' in start and len(set(_COUNTED.findall(start))) > 1


def read(path: Path) -> Generator[Batch | Rejected]:
    """Every tab of every session, windows in the order of the file and tabs by their place in the window.

    The folder is the session's name and `added_us` the moment it was saved. Tabs of private windows are rejected.
    Raises SourceError when the file is no whole JSON list, EmptySource when it holds no tab.
    """
    sessions = load_json(path)
    if not isinstance(sessions, list):
        raise SourceError(f"{path.name} holds no sessions: it is no list")
    yield from batches(path.name, _tabs(sessions))


def _tabs(sessions: list[Any]) -> Iterator[Bookmark | Rejected]:
    for at, session in enumerate(sessions):
        windows = session.get("windows") if isinstance(session, dict) else None
        if not isinstance(windows, dict):
            yield Rejected(f"session {at + 1}", "it has no windows")
            continue
        name, native, added = texts(session, "name"), texts(session, "id"), _date(session.get("date"))
        tags = _tags(session.get("tag"))
        for window, tabs in windows.items():
            where = f"session {at + 1}, window {window[:20]}"
            if not isinstance(tabs, dict):
                yield Rejected(where, "it has no tabs")
                continue
            for key, tab in sorted(tabs.items(), key=_place):
                tab_where = f"{where}, tab {key[:20]}"
                if not isinstance(tab, dict):
                    yield Rejected(tab_where, "it is no tab")
                elif tab.get("incognito") is True:
                    yield Rejected(tab_where, "it was in a private window")
                else:
                    yield Bookmark(
                        where=tab_where,
                        url=tab.get("url"),
                        title=texts(tab, "title"),
                        folder=(name,) if name else (),
                        tags=tags,
                        added=added,
                        last_used_us=since_1970_ms(tab.get("lastAccessed")),
                        shelf="saved_tabs",
                        native_id=f"{native[:100]}/{key[:20]}" if native else None,
                    )


def _place(item: tuple[str, Any]) -> float:
    index = item[1].get("index") if isinstance(item[1], dict) else None
    return index if isinstance(index, int | float) and index == index else float("inf")


def _date(value: object) -> Dated:
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return written_date(value)
    instant = since_1970_ms(value)
    return (instant, None) if instant else written_date(value if isinstance(value, int) else None)


def _tags(value: object) -> list[str]:
    """The person's own tags; in the oldest versions there was one, as a text."""
    given = value if isinstance(value, list) else [value]
    tags = [tag.strip() for tag in given if isinstance(tag, str) and tag.lower() not in _OWN_TAGS]
    return list(dict.fromkeys(filter(None, tags)))
