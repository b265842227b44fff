"""Finding histories and bookmarks on this machine, and guessing what a given file or folder is. Nothing is written."""

import configparser
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from brain import archives, sniffing
from brain.browser_places import PLACES, Place

# What each family of browsers keeps in a profile: the kind, which is an importer's name, and the file.
SOURCE_FILES = {
    "chromium": (("chromium", "History"), ("chrome_bookmarks", "Bookmarks")),
    "firefox": (("firefox", "places.sqlite"),),
    "safari": (("safari", "History.db"), ("safari_bookmarks", "Bookmarks.plist")),
    "qutebrowser": (("qutebrowser", "history.sqlite"),),
}
_LOGS = ("-wal", "-shm", "-journal")
# Where Firefox keeps its bookmarks of the last days, one file a day with the date in its name.
_BACKUPS = "bookmarkbackups"
_DEPTH = 8
_MOST_ENTRIES = 50_000
# The profile behind the profile picker: it never visits a page.
_NO_PROFILE = "System Profile"
_WORDS = (
    "chromium",
    "chrome",
    "brave",
    "edge",
    "vivaldi",
    "opera",
    "librewolf",
    "waterfox",
    "floorp",
    "palemoon",
    "firefox",
    "safari",
    "qutebrowser",
)


@dataclass(frozen=True, slots=True)
class Found:
    """A history or the bookmarks of a browser on this machine; `kind` is the name of the importer it is for.

    `profile` is the profile's folder, which stays the same, and `name` what the user calls it. `reason` says why
    a file that is not `readable` cannot be imported now.
    """

    browser: str
    profile: str | None
    path: Path
    kind: str
    bytes: int
    readable: bool
    reason: str | None = None
    name: str | None = None


def discover(
    home_dir: Path | None = None, platform: str | None = None, env: Mapping[str, str] | None = None
) -> list[Found]:
    """All histories and bookmarks in the places where browsers keep them, in a fixed order, each once.

    `platform` is a `sys.platform`: linux, darwin or win32. With a `home_dir` of one's own the environment counts
    only as far as `env` is given.
    """
    if env is None:
        env = {} if home_dir else os.environ
    home = home_dir or Path.home()
    platform = platform or sys.platform
    bases = {
        "home": home,
        "config": Path(env.get("XDG_CONFIG_HOME") or home / ".config"),
        "support": home / "Library" / "Application Support",
        "local": Path(env.get("LOCALAPPDATA") or home / "AppData" / "Local"),
        "roaming": Path(env.get("APPDATA") or home / "AppData" / "Roaming"),
    }
    found: list[Found] = []
    seen: set[Path] = set()
    for place in PLACES:
        if place.platform != platform:
            continue
        for root in _roots(bases[place.base], place.path):
            for item in _profiles(place, root, platform):
                real = Path(os.path.realpath(item.path))
                if real not in seen:
                    seen.add(real)
                    found.append(item)
    return found


def browser_of(path: Path) -> tuple[str, str | None]:
    """The browser and the profile folder that a path speaks of; ("unknown", None) where it says nothing.

    Known places count wherever they stand in the path, so that copied folders are recognised too; failing that, a
    browser's name in a folder's or the file's name.
    """
    # A name that is not UTF-8 is still a name, and has to go into the lake as text.
    parts = tuple(part.encode("utf-8", "replace").decode() for part in path.absolute().parts)
    lower = [part.lower() for part in parts]
    best: tuple[int, int, str, str] | None = None
    for place in PLACES:
        wanted = place.path.lower().split("/")
        for start in range(len(lower) - len(wanted)):
            end = start + len(wanted)
            if all(_fits(part, want) for part, want in zip(lower[start:end], wanted, strict=True)):
                best = max(best or (0, 0, "", ""), (end, len(wanted), place.browser, place.kind))
    if best:
        end, _, browser, kind = best
        return browser, _profile_in(parts[end:-1], kind)
    for part in reversed(lower):
        words = re.split(r"[^a-z]+", part)
        for word in _WORDS:
            if word in words:
                return word, _named_profile(parts)
    return "unknown", _named_profile(parts)


def expand(path: Path) -> list[Path]:
    """What to import for a path the user names: the file itself, or the sources within the folder.

    Within a folder, down to eight levels: databases named as browsers name them, and files of any name that an
    importer knows by their content, archives too. Left out are logs (they go with their database) and the older
    copies that a browser keeps itself: they would bring back what was deleted, but can be named themselves.
    A folder that is a source as a whole, as a vault of notes is, stands before what else lies in it.
    Links are followed once, and no more than 50,000 entries are looked at. A folder's files come first, then its
    folders, each by name. A path that does not exist is returned as it is, so that whoever reads it says so.
    """
    if not _is_folder(path):
        return [path]
    return list(_sources(path))


def _roots(base: Path, path: str) -> Iterable[Path]:
    if "*" not in path:
        return (base / path,)
    try:
        return sorted(base.glob(path))
    except OSError:
        return ()


def _profiles(place: Place, root: Path, platform: str) -> Iterator[Found]:
    if place.kind == "chromium":
        named = _chromium_names(root)
        folders = [(root, None), *((folder, folder.name) for folder in _subfolders(root))]
    elif place.kind == "firefox":
        listed = dict(_firefox_profiles(root))
        beside = [*_subfolders(root), *_subfolders(root / "Profiles")]
        folders = [(folder, folder.name) for folder in dict.fromkeys([*listed, *beside])]
        named = {folder.name: title for folder, title in listed.items()}
    else:
        named = {}
        folders = [(root, None), *((folder, folder.name) for folder in _subfolders(root / "Profiles"))]
    for folder, profile in folders:
        if profile == _NO_PROFILE:
            continue
        for kind, name in SOURCE_FILES[place.kind]:
            item = _found(place, kind, profile, folder / name, named.get(profile or ""), platform)
            if item:
                yield item


def _found(
    place: Place, kind: str, profile: str | None, path: Path, name: str | None, platform: str
) -> Found | None:
    """The file at `path` and whether it can be read; None when there is none."""
    size = 0
    reason: str | None = None
    try:
        size = path.stat().st_size
        if not path.is_file():
            return None
        with path.open("rb") as file:
            file.read(1)
        log = path.with_name(path.name + "-wal")
        if not size and not (log.exists() and log.stat().st_size):
            reason = "it has zero bytes"
    except PermissionError:
        reason = "permission denied"
        if platform == "darwin" and place.kind == "safari":
            reason = "allow Full Disk Access for this terminal in System Settings, Privacy & Security"
    except OSError as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            return None
        reason = error.strerror or str(error)
    return Found(place.browser, profile, path, kind, size, reason is None, reason, name)


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if entry.is_dir())
    except OSError:
        return []


def _chromium_names(root: Path) -> dict[str, str]:
    """What the user calls each profile folder, out of the browser's `Local State`."""
    try:
        state = json.loads((root / "Local State").read_bytes())
        cache = state["profile"]["info_cache"]
        return {
            folder: entry["name"] for folder, entry in cache.items() if isinstance(entry.get("name"), str)
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _firefox_profiles(root: Path) -> Iterator[tuple[Path, str]]:
    """The profile folders that profiles.ini names, wherever they lie, and their names."""
    ini = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        ini.read_string((root / "profiles.ini").read_text("utf-8-sig", errors="replace"))
    except (OSError, configparser.Error):
        return
    for section in ini.sections():
        values = ini[section]
        path = values.get("Path")
        if not section.startswith("Profile") or not path or "\0" in path:
            continue
        folder = root / path if values.get("IsRelative", "1") == "1" else Path(path)
        yield folder, values.get("Name") or folder.name


def _fits(part: str, want: str) -> bool:
    return part.startswith(want.split("*")[0]) if "*" in want else part == want


def _profile_in(between: tuple[str, ...], kind: str) -> str | None:
    """The profile folder, given the folders between a browser's root and the file."""
    if between and between[0] == "Profiles" and kind != "chromium":
        between = between[1:]
    return between[0] if between else None


def _named_profile(parts: tuple[str, ...]) -> str | None:
    """The file's folder, where it is named as browsers name profiles."""
    folder = parts[-2] if len(parts) > 1 else ""
    known = re.fullmatch(r"Default|Profile \d+|Guest Profile|[a-z0-9]{8}\.[\w. -]+", folder)
    return folder if known else None


def _sources(top: Path) -> Iterator[Path]:
    from brain.importers import pick_folder

    entries = 0
    seen: set[tuple[int, int]] = set()
    waiting = [(top, 0, False)]
    while waiting:
        folder, depth, taken = waiting.pop()
        try:
            status = folder.stat()
            inside = sorted(folder.iterdir())
        except OSError:
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        if not taken and pick_folder(folder):
            taken = True
            yield folder
        if folder.name == _BACKUPS:
            inside = inside[-1:]
        names = {entry.name for entry in inside}
        deeper = []
        for entry in inside:
            entries += 1
            if entries > _MOST_ENTRIES:
                return
            if _is_spare(entry.name, names):
                continue
            if _is_folder(entry):
                deeper.append((entry, depth + 1, taken))
            elif _is_source(entry):
                yield entry
        if depth < _DEPTH:
            waiting += reversed(deeper)


def _is_spare(name: str, beside: set[str]) -> bool:
    """Whether this is an older copy that a browser itself keeps of what lies beside it."""
    return name.endswith(".bak") and name.removesuffix(".bak") in beside


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _is_source(path: Path) -> bool:
    name = path.name
    if name.endswith(_LOGS) or not sniffing.plausible_name(name):
        return False
    if name in sniffing.DATABASES:
        try:
            return path.is_file()
        except OSError:
            return False
    head = sniffing.head_of(path)
    if not head or not sniffing.plausible_head(name, head):
        return False
    return archives.is_archive(path) or sniffing.reader_of(path) is not None
