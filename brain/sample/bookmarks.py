"""The same person's bookmarks and saved tabs, in the forms that browsers and extensions write.

    chrome/Default/Bookmarks        beside the history, most of its pages visited
    bookmarks/bookmarks.html        an older export of the same, by another name for some pages
    safari/Bookmarks.plist          bookmarks without dates, and a reading list with them
    tabs/onetab.txt                 groups of tabs with neither dates nor names
    tabs/sessions.json              what Tab Session Manager exports

About a third of the pages were never visited. All is made up, and the same for the same pages and seed.
"""

import html
import json
import plistlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import numpy as np

from brain.sample.pages import World, slug
from brain.sample.sessions import SECOND
from brain.sample.trail import Trail

WINDOWS_EPOCH_US = 11_644_473_600_000_000  # 1601-01-01 to 1970-01-01
FOLDERS = ("Read later", "Work/Data", "Kitchen", "Trips", "Tools & reference")
# The names of the browser's own folders, as its file and its export have them.
BAR, OTHER, MOBILE = "Bookmarks bar", "Other bookmarks", "Mobile bookmarks"

_SUBJECTS = (
    *(
        "Sourdough timetable",
        "Mending a wool jumper",
        "Balcony tomatoes",
        "Sharpening a chisel",
        "Allotment year",
    ),
    *(
        "Bicycle wheel truing",
        "Night train map",
        "Sea swimming in autumn",
        "Small kitchen layouts",
        "Tide tables",
    ),
)
_ANGLES = (
    "the long version",
    "a checklist",
    "what it costs",
    "in pictures",
    "questions answered",
    "for beginners",
)
_SHARE_UNVISITED = 3  # one in so many


@dataclass(frozen=True, slots=True)
class Kept:
    """One page someone kept, when, and in which of `FOLDERS`."""

    url: str
    title: str
    at: int
    folder: int
    id: UUID


def write(
    folder: Path, world: World, trail: Trail, rng: np.random.Generator, end_us: int
) -> list[tuple[Path, str, str, dict[str, int]]]:
    """Write the five files; for each its path, kind, browser and rows per record."""
    kept = _kept(world, trail, rng, end_us)
    older = kept[: len(kept) // 2]
    saved = kept[2::5]
    places: list[tuple[str, str, str, str, int]] = [
        ("chrome/Default/Bookmarks", "bookmarks", "chrome", _chrome(kept), len(kept)),
        ("bookmarks/bookmarks.html", "bookmarks", "unknown", _html(older), len(older)),
        ("tabs/onetab.txt", "tabs", "unknown", _onetab(kept[1::4]), len(kept[1::4])),
        ("tabs/sessions.json", "tabs", "unknown", _sessions(saved), len(saved)),
    ]
    written = []
    for name, kind, browser, text, rows in places:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        written.append((path, kind, browser, {"bookmarks": rows}))
    path = folder / "safari" / "Bookmarks.plist"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_safari(kept[3::6], kept[::7]))
    written.append((path, "bookmarks", "safari", {"bookmarks": len(kept[3::6]) + len(kept[::7])}))
    return written


def _kept(world: World, trail: Trail, rng: np.random.Generator, end_us: int) -> list[Kept]:
    """Pages by the moment they were kept: visited ones soon after the first visit, others at any time."""
    pages, first = np.unique(trail.page, return_index=True)
    shown = np.zeros(len(world.urls), np.bool_)
    for span in (world.anchors, *world.articles):
        shown[span.start : span.stop] = True
    eligible = np.flatnonzero(shown[pages])
    count = min(len(eligible), 4_000, 16 + len(eligible) // 12)
    chosen = np.sort(rng.choice(eligible, count, replace=False)).tolist()
    begin = int(trail.at.min())
    found = [
        (world.urls[pages[i]], world.titles[pages[i]], min(int(trail.at[first[i]]) + 20 * SECOND, end_us))
        for i in chosen
    ]
    instants = rng.integers(begin, end_us, count // (_SHARE_UNVISITED - 1)).tolist()
    found += [(*_unvisited(n), at) for n, at in enumerate(instants)]
    found.sort(key=lambda page: (page[2], page[0]))
    folders = rng.integers(0, len(FOLDERS) + 1, len(found)).tolist()
    ids = [UUID(bytes=rng.bytes(16), version=4) for _ in found]
    return [Kept(*page, folder, native) for page, folder, native in zip(found, folders, ids, strict=True)]


def _unvisited(number: int) -> tuple[str, str]:
    subject, angle = _SUBJECTS[number % len(_SUBJECTS)], _ANGLES[number // len(_SUBJECTS) % len(_ANGLES)]
    title = f"{subject}: {angle}"
    turn = number // (len(_SUBJECTS) * len(_ANGLES))
    return f"https://kept.example/{slug(title)}{f'-{turn + 1}' if turn else ''}", title


def _by_folder(kept: list[Kept]) -> Iterator[tuple[str, list[Kept]]]:
    for number, name in enumerate(FOLDERS):
        yield name, [page for page in kept if page.folder == number]


def _loose(kept: list[Kept]) -> list[Kept]:
    return [page for page in kept if page.folder == len(FOLDERS)]


def _chrome(kept: list[Kept]) -> str:
    """`Bookmarks` as Chromium writes it, but for the checksum, which no one has to give."""
    numbers = iter(range(4, len(kept) + len(FOLDERS) + 4))

    def folder(name: str, native: str, guid: str, children: list[dict[str, object]]) -> dict[str, object]:
        common: dict[str, object] = {
            "date_added": "13300000000000000",
            "date_last_used": "0",
            "date_modified": "0",
            "guid": guid,
        }
        return common | {"children": children} | {"id": native, "name": name, "type": "folder"}

    def page(kept: Kept) -> dict[str, object]:
        return {
            "date_added": str(kept.at + WINDOWS_EPOCH_US),
            "date_last_used": "0",
            "guid": str(kept.id),
            "id": str(next(numbers)),
            "meta_info": {"power_bookmark_meta": ""},
            "name": kept.title,
            "type": "url",
            "url": kept.url,
        }

    named = [
        folder(name, str(next(numbers)), str(UUID(int=100 + at)), [page(p) for p in pages])
        for at, (name, pages) in enumerate(_by_folder(kept))
    ]
    roots = {
        "bookmark_bar": folder(BAR, "1", "0bc5d13f-2cba-5d74-951f-3f233fe6c908", [*named[:3]]),
        "other": folder(
            OTHER, "2", "82b081ec-3dd3-529c-8475-ab6c344590dd", [*named[3:], *map(page, _loose(kept))]
        ),
        "synced": folder(MOBILE, "3", "4cf2e351-0e85-532b-bb37-df045d8f8d0f", []),
    }
    return json.dumps({"roots": roots, "version": 1}, indent=3, ensure_ascii=False) + "\n"


def _html(kept: list[Kept]) -> str:
    """An export as Chromium's browsers write it: other bookmarks stand at the end, in no folder of their own."""
    lines = [
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>",
        "<!-- This is an automatically generated file.",
        "     It will be read and overwritten.",
        "     DO NOT EDIT! -->",
        '<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">',
        "<TITLE>Bookmarks</TITLE>",
        "<H1>Bookmarks</H1>",
        "<DL><p>",
        f'    <DT><H3 ADD_DATE="1655526400" LAST_MODIFIED="0" PERSONAL_TOOLBAR_FOLDER="true">{BAR}</H3>',
        "    <DL><p>",
    ]
    for number, (name, pages) in enumerate(_by_folder(kept)):
        if number == 3:
            lines.append("    </DL><p>")
        indent = " " * (8 if number < 3 else 4)
        lines.append(f'{indent}<DT><H3 ADD_DATE="1655526400" LAST_MODIFIED="0">{html.escape(name)}</H3>')
        lines.append(f"{indent}<DL><p>")
        lines += [f"{indent}    {_link(page)}" for page in pages]
        lines.append(f"{indent}</DL><p>")
    lines += [f"    {_link(page)}" for page in _loose(kept)]
    return "\n".join([*lines, "</DL><p>", ""])


def _link(page: Kept) -> str:
    # An older export has some pages under the names a person gave them since.
    title = page.title if page.at % 9 else f"{page.title} (old)".strip()
    return f'<DT><A HREF="{html.escape(page.url)}" ADD_DATE="{page.at // SECOND}">{html.escape(title)}</A>'


def _safari(kept: list[Kept], saved: list[Kept]) -> bytes:
    """A binary property list; an ordinary bookmark has no date there."""

    def page(kept: Kept) -> dict[str, object]:
        return {
            "URIDictionary": {"title": kept.title},
            "URLString": kept.url,
            "WebBookmarkType": "WebBookmarkTypeLeaf",
            "WebBookmarkUUID": str(UUID(int=kept.id.int ^ 1)).upper(),
        }

    def saved_page(kept: Kept) -> dict[str, object]:
        added = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=kept.at // SECOND)
        reading = {
            "DateAdded": added.replace(tzinfo=None),
            "PreviewText": f"{kept.title}, saved for a quiet hour.",
        }
        return page(kept) | {
            "ReadingList": reading,
            "ReadingListNonSync": {"neverFetchMetadata": False},
            "WebBookmarkUUID": str(UUID(int=kept.id.int ^ 2)).upper(),
        }

    def folder(title: str, number: int, children: list[dict[str, object]]) -> dict[str, object]:
        known = {"Title": title, "WebBookmarkType": "WebBookmarkTypeList"}
        return known | {"Children": children, "WebBookmarkUUID": str(UUID(int=number)).upper()}

    lists = [
        folder("BookmarksBar", 1, [page(p) for p in kept]),
        folder("BookmarksMenu", 2, []),
        folder("com.apple.ReadingList", 3, [saved_page(p) for p in saved]),
    ]
    return plistlib.dumps(folder("", 0, lists) | {"WebBookmarkFileVersion": 1}, fmt=plistlib.FMT_BINARY)


def _onetab(kept: list[Kept]) -> str:
    groups = [kept[at : at + 6] for at in range(0, len(kept), 6)]
    return "\n".join(
        "".join(f"{p.url} | {p.title}\n" if p.title else f"{p.url}\n" for p in group)
        for group in reversed(groups)
    )


def _sessions(kept: list[Kept]) -> str:
    """A session for every eight tabs, in two windows, saved a little after its last tab was opened."""
    sessions = []
    for at in range(0, len(kept), 8):
        group = kept[at : at + 8]
        windows: dict[str, dict[str, object]] = {}
        for index, page in enumerate(group):
            window = 1 + 2 * at + index // 4
            windows.setdefault(str(window), {})[str(1_000 + at + index)] = {
                "id": 1_000 + at + index,
                "index": index % 4,
                "windowId": window,
                "active": index % 4 == 0,
                "pinned": False,
                "incognito": False,
                "lastAccessed": page.at // 1_000,
                "title": page.title,
                "url": page.url,
            }
        sessions.append(
            {
                "windows": windows,
                "windowsNumber": len(windows),
                "windowsInfo": {},
                "tabsNumber": len(group),
                "name": f"Session {at // 8 + 1}",
                "date": group[-1].at // 1_000,
                "tag": ["research"] if at % 16 else ["regular"],
                "sessionStartTime": group[0].at // 1_000,
                "id": str(UUID(int=group[0].id.int ^ 3)),
            }
        )
    return json.dumps(sessions, indent=2, ensure_ascii=False)
