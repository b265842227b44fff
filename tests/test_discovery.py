"""Finding history files: home folders as browsers lay them out on three systems, and folders a user names."""

import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from brain.discovery import Found, browser_of, discover, expand
from brain.models import BROWSERS

DATA = Path(__file__).parent / "data"


def place(home: Path, *paths: str, content: bytes = b"SQLite format 3\0") -> None:
    for path in paths:
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(content)


def summary(found: list[Found]) -> list[tuple[str, str | None, str]]:
    return [(item.browser, item.profile, item.kind) for item in found]


def test_linux_browsers_are_found_however_they_were_installed(tmp_path: Path) -> None:
    place(
        tmp_path,
        ".config/google-chrome/Default/History",
        ".config/google-chrome/Profile 2/History",
        ".config/google-chrome/System Profile/History",
        ".config/BraveSoftware/Brave-Browser/Default/History",
        ".config/opera/History",
        ".config/microsoft-edge/Default/History",
        "snap/chromium/common/chromium/Default/History",
        ".var/app/com.vivaldi.Vivaldi/config/vivaldi/Default/History",
        ".mozilla/firefox/abcd1234.default-release/places.sqlite",
        "snap/firefox/common/.mozilla/firefox/snap5678.default/places.sqlite",
        ".var/app/org.mozilla.firefox/.mozilla/firefox/flat5678.default/places.sqlite",
        ".config/mozilla/firefox/xdg45678.default/places.sqlite",
        ".librewolf/wolf5678.default/places.sqlite",
        ".local/share/qutebrowser/history.sqlite",
        ".config/unrelated/Default/History",
        "Library/Safari/History.db",
    )
    found = discover(tmp_path, "linux")
    assert summary(found) == [
        ("chrome", "Default", "chromium"),
        ("chrome", "Profile 2", "chromium"),
        ("chromium", "Default", "chromium"),
        ("brave", "Default", "chromium"),
        ("edge", "Default", "chromium"),
        ("vivaldi", "Default", "chromium"),
        ("opera", None, "chromium"),
        ("firefox", "abcd1234.default-release", "firefox"),
        ("firefox", "snap5678.default", "firefox"),
        ("firefox", "flat5678.default", "firefox"),
        ("firefox", "xdg45678.default", "firefox"),
        ("librewolf", "wolf5678.default", "firefox"),
        ("qutebrowser", None, "qutebrowser"),
    ]
    assert all(item.readable and item.reason is None and item.bytes == 16 for item in found)
    assert {item.browser for item in found} <= set(BROWSERS)
    assert [browser_of(item.path) for item in found] == [(item.browser, item.profile) for item in found]


def test_macos_browsers_are_found(tmp_path: Path) -> None:
    support = "Library/Application Support"
    place(
        tmp_path,
        f"{support}/Google/Chrome/Default/History",
        f"{support}/Microsoft Edge/Profile 1/History",
        f"{support}/com.operasoftware.Opera/Default/History",
        f"{support}/com.operasoftware.OperaGX/History",
        f"{support}/Arc/User Data/Default/History",
        f"{support}/Firefox/Profiles/abcd1234.default/places.sqlite",
        "Library/Safari/History.db",
        "Library/Containers/com.apple.Safari/Data/Library/Safari/Profiles/6F2C-11/History.db",
        ".config/google-chrome/Default/History",
    )
    found = discover(tmp_path, "darwin")
    assert summary(found) == [
        ("chrome", "Default", "chromium"),
        ("edge", "Profile 1", "chromium"),
        ("opera", "Default", "chromium"),
        ("opera", None, "chromium"),
        ("arc", "Default", "chromium"),
        ("firefox", "abcd1234.default", "firefox"),
        ("safari", None, "safari"),
        ("safari", "6F2C-11", "safari"),
    ]
    assert [browser_of(item.path) for item in found] == [(item.browser, item.profile) for item in found]


def test_windows_browsers_are_found(tmp_path: Path) -> None:
    local, roaming = "AppData/Local", "AppData/Roaming"
    arc = "Packages/TheBrowserCompany.Arc_ttt1ap7aakyb4/LocalCache/Local/Arc/User Data"
    place(
        tmp_path,
        f"{local}/Google/Chrome/User Data/Default/History",
        f"{local}/BraveSoftware/Brave-Browser/User Data/Profile 1/History",
        f"{local}/{arc}/Default/History",
        f"{roaming}/Opera Software/Opera Stable/History",
        f"{roaming}/Opera Software/Opera GX Stable/Default/History",
        f"{roaming}/Mozilla/Firefox/Profiles/abcd1234.default/places.sqlite",
        f"{roaming}/Moonchild Productions/Pale Moon/Profiles/moon1234.default/places.sqlite",
    )
    found = discover(tmp_path, "win32")
    assert summary(found) == [
        ("chrome", "Default", "chromium"),
        ("brave", "Profile 1", "chromium"),
        ("opera", None, "chromium"),
        ("opera", "Default", "chromium"),
        ("arc", "Default", "chromium"),
        ("firefox", "abcd1234.default", "firefox"),
        ("palemoon", "moon1234.default", "firefox"),
    ]
    assert [browser_of(item.path) for item in found] == [(item.browser, item.profile) for item in found]


def test_the_environment_moves_the_places(tmp_path: Path) -> None:
    place(tmp_path, "elsewhere/chromium/Default/History", "roam/Mozilla/Firefox/Profiles/a/places.sqlite")
    linux = {"XDG_CONFIG_HOME": str(tmp_path / "elsewhere")}
    windows = {"APPDATA": str(tmp_path / "roam")}
    assert summary(discover(tmp_path, "linux", linux)) == [("chromium", "Default", "chromium")]
    assert summary(discover(tmp_path, "win32", windows)) == [("firefox", "a", "firefox")]
    assert discover(tmp_path, "linux") == []


def test_profiles_carry_the_names_their_users_gave_them(tmp_path: Path) -> None:
    root = tmp_path / ".config/google-chrome"
    place(root, "Default/History", "Profile 1/History", "Profile 2/History")
    state = {"profile": {"info_cache": {"Default": {"name": "Ada"}, "Profile 1": {"name": "Arbeit 日本"}}}}
    (root / "Local State").write_text(json.dumps(state), "utf-8")
    place(tmp_path, ".mozilla/firefox/abcd1234.default/places.sqlite", "far/away/places.sqlite")
    (tmp_path / ".mozilla/firefox/profiles.ini").write_text(
        "[General]\nStartWithLastProfile=1\n"
        "[Profile0]\nName=home\nIsRelative=1\nPath=abcd1234.default\n"
        f"[Profile1]\nName=100% moved\nIsRelative=0\nPath={tmp_path}/far/away\n"
        "[Profile2]\nName=gone\nIsRelative=1\nPath=missing\n"
    )
    assert [(item.profile, item.name) for item in discover(tmp_path, "linux")] == [
        ("Default", "Ada"),
        ("Profile 1", "Arbeit 日本"),
        ("Profile 2", None),
        ("abcd1234.default", "home"),
        ("away", "100% moved"),
    ]


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"profile": {"info_cache": {"Default": 5}}}', b"\xff\xfe{"]
)
def test_broken_profile_lists_hide_no_history(content: bytes, tmp_path: Path) -> None:
    place(tmp_path, ".config/chromium/Default/History", ".mozilla/firefox/a.b/places.sqlite")
    (tmp_path / ".config/chromium/Local State").write_bytes(content)
    (tmp_path / ".mozilla/firefox/profiles.ini").write_bytes(content)
    assert [(item.profile, item.name) for item in discover(tmp_path, "linux")] == [
        ("Default", None),
        ("a.b", None),
    ]


def test_an_empty_file_is_listed_with_its_reason(tmp_path: Path) -> None:
    place(tmp_path, ".mozilla/firefox/empty/places.sqlite", content=b"")
    place(tmp_path, ".mozilla/firefox/young/places.sqlite", content=b"")
    place(tmp_path, ".mozilla/firefox/young/places.sqlite-wal")
    assert [(item.readable, item.reason) for item in discover(tmp_path, "linux")] == [
        (False, "it has zero bytes"),
        (True, None),
    ]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_listed_with_its_reason(tmp_path: Path) -> None:
    place(tmp_path, "Library/Safari/History.db", ".config/chromium/Default/History")
    (tmp_path / "Library/Safari/History.db").chmod(0)
    (tmp_path / ".config/chromium/Default/History").chmod(0)
    [safari] = discover(tmp_path, "darwin")
    assert not safari.readable
    assert "Full Disk Access" in str(safari.reason)
    [chromium] = discover(tmp_path, "linux")
    assert (chromium.readable, chromium.reason) == (False, "permission denied")


def test_one_profile_reached_by_two_ways_is_listed_once(tmp_path: Path) -> None:
    place(tmp_path, ".config/chromium/Default/History")
    (tmp_path / "snap/chromium/common").mkdir(parents=True)
    (tmp_path / "snap/chromium/common/chromium").symlink_to(tmp_path / ".config/chromium")
    assert len(discover(tmp_path, "linux")) == 1


def test_nothing_is_found_in_an_empty_home(tmp_path: Path) -> None:
    for platform in ("linux", "darwin", "win32", "freebsd14"):
        assert discover(tmp_path, platform) == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/mnt/old/home/me/.config/BraveSoftware/Brave-Browser/Profile 1/History", ("brave", "Profile 1")),
        ("/mnt/c/Users/Me/AppData/Local/Microsoft/Edge/User Data/Default/History", ("edge", "Default")),
        (
            "/backup/Library/Application Support/Firefox/Profiles/ab12cd34.x/places.sqlite",
            ("firefox", "ab12cd34.x"),
        ),
        ("/backup/my-chrome/Profile 3/History", ("chrome", "Profile 3")),
        ("/backup/brave-History.sqlite", ("brave", None)),
        ("/backup/2024/ab12cd34.default-release/places.sqlite", ("unknown", "ab12cd34.default-release")),
        ("/backup/knowledge/History", ("unknown", None)),
        ("/History", ("unknown", None)),
    ],
)
def test_a_path_tells_its_browser(path: str, expected: tuple[str, str | None]) -> None:
    assert browser_of(Path(path)) == expected


def test_a_file_expands_to_itself_and_so_does_what_is_missing(tmp_path: Path) -> None:
    place(tmp_path, "anything.bin")
    assert expand(tmp_path / "anything.bin") == [tmp_path / "anything.bin"]
    assert expand(tmp_path / "missing") == [tmp_path / "missing"]


def test_a_folder_expands_to_the_histories_in_it(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("a-renamed.db", "b/History", "b/2024.bak"):
        shutil.copy(DATA / "chromium-156-History", tmp_path / name)
    for suffix in ("", "-wal"):
        shutil.copy(DATA / f"firefox-153-live-places.sqlite{suffix}", tmp_path / f"places.sqlite{suffix}")
    con = sqlite3.connect(tmp_path / "Cookies")
    con.execute("CREATE TABLE cookies(a)")
    con.close()
    place(tmp_path, "b/notes.txt", content=b"text")
    place(tmp_path, "b/places.sqlite-shm", "b/History-journal", "b/torn.db")
    before = sorted(entry.name for entry in tmp_path.iterdir())
    assert [str(found.relative_to(tmp_path)) for found in expand(tmp_path)] == [
        "a-renamed.db",
        "places.sqlite",
        "b/2024.bak",
        "b/History",
    ]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == before


def test_loops_of_links_end(tmp_path: Path) -> None:
    place(tmp_path, "x/y/History")
    (tmp_path / "x/y/up").symlink_to(tmp_path / "x")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert expand(tmp_path) == [tmp_path / "x/y/History"]


def test_folders_too_deep_are_left_alone(tmp_path: Path) -> None:
    place(tmp_path, "1/2/3/4/5/6/7/8/History", "1/2/3/4/5/6/7/8/9/History")
    assert expand(tmp_path) == [tmp_path / "1/2/3/4/5/6/7/8/History"]


def test_bookmarks_are_sources_of_their_own(tmp_path: Path) -> None:
    place(
        tmp_path,
        ".config/google-chrome/Default/Bookmarks",
        ".config/google-chrome/Default/Bookmarks.bak",
        ".config/google-chrome/Default/History",
        "Library/Safari/Bookmarks.plist",
        "Library/Containers/com.apple.Safari/Data/Library/Safari/Profiles/6F2C-11/History.db",
    )
    assert summary(discover(tmp_path, "linux")) == [
        ("chrome", "Default", "chromium"),
        ("chrome", "Default", "chrome_bookmarks"),
    ]
    assert summary(discover(tmp_path, "darwin")) == [
        ("safari", None, "safari_bookmarks"),
        ("safari", "6F2C-11", "safari"),
    ]


HTML = b'<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><A HREF="https://a.example/">A</A>\n</DL><p>\n'
BOOKMARKS = b'{"roots": {"other": {"type": "folder", "name": "O", "children": []}}, "version": 1}'


def test_a_folder_gives_every_kind_of_file_that_an_importer_knows(tmp_path: Path) -> None:
    contents = {
        "Bookmarks": BOOKMARKS,
        "Bookmarks.bak": BOOKMARKS,  # older than the one beside it
        "Preferences": b'{"browser": {}}',
        "list.txt": b"https://a.example/ | A\n",
        "marks/export.html": HTML,
        "marks/lonely.bak": HTML,
        "marks/page.html": b"<!doctype html><p>hello",
        "marks/picture.jpg": HTML,
        "marks/readme.md": b"# Notes\n",
        "takeout-001.zip": b"PK\x05\x06" + bytes(18),
        "takeout.tgz": b"\x1f\x8bno archive",
    }
    for name, content in contents.items():
        place(tmp_path, name, content=content)
    os.mkfifo(tmp_path / "History")
    os.mkfifo(tmp_path / "pipe.json")
    assert [str(found.relative_to(tmp_path)) for found in expand(tmp_path)] == [
        "Bookmarks",
        "list.txt",
        "takeout-001.zip",
        "marks/export.html",
        "marks/lonely.bak",
    ]


def test_of_dated_backups_the_newest_is_taken(tmp_path: Path) -> None:
    for day in (1, 3, 2):
        place(tmp_path, f"ab.default/bookmarkbackups/bookmarks-2026-11-0{day}_9.html", content=HTML)
    assert [found.name for found in expand(tmp_path)] == ["bookmarks-2026-11-03_9.html"]


def test_a_database_is_known_by_its_tables_and_left_as_it_was(tmp_path: Path) -> None:
    source = Path(shutil.copy(DATA / "chromium-156-History", tmp_path / "renamed #1?x.bin"))
    before = (source.read_bytes(), source.stat().st_mtime_ns)
    (tmp_path / "odd").mkdir()
    con = sqlite3.connect(tmp_path / "odd" / "other.db")
    con.execute('CREATE TABLE "urls ""x"(a, "b "" c")')
    con.execute("CREATE TABLE urls(id, url)")
    con.execute("CREATE VIEW visits AS SELECT id, url, 1 AS visit_time, 2 AS transition FROM urls")
    con.close()
    assert expand(tmp_path) == [source]
    assert (source.read_bytes(), source.stat().st_mtime_ns) == before
