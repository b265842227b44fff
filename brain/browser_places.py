"""Where browsers keep their history: one row per browser, platform and way of installing it.

Paths are relative to a base: `home`; `config` ($XDG_CONFIG_HOME or ~/.config); `support`
(~/Library/Application Support); `local` and `roaming` (%LOCALAPPDATA% and %APPDATA%). The folder of a Chromium
browser is its user data directory, that of a Firefox the one with profiles.ini.
"""

from collections.abc import Iterator
from typing import NamedTuple


class Place(NamedTuple):
    """A folder that may hold a browser's profiles."""

    browser: str
    kind: str
    platform: str
    base: str
    path: str


def _rows(browser: str, kind: str, platform: str, base: str, *paths: str) -> Iterator[Place]:
    for path in paths:
        yield Place(browser, kind, platform, base, path)


def _flatpak(browser: str, app: str, folder: str) -> Iterator[Place]:
    return _rows(browser, "chromium", "linux", "home", f".var/app/{app}/config/{folder}")


def _windows(browser: str, *vendors: str) -> Iterator[Place]:
    return _rows(browser, "chromium", "win32", "local", *(f"{vendor}/User Data" for vendor in vendors))


PLACES: tuple[Place, ...] = (
    *_rows(
        "chrome",
        "chromium",
        "linux",
        "config",
        "google-chrome",
        "google-chrome-beta",
        "google-chrome-unstable",
    ),
    *_flatpak("chrome", "com.google.Chrome", "google-chrome"),
    *_rows(
        "chrome",
        "chromium",
        "darwin",
        "support",
        "Google/Chrome",
        "Google/Chrome Beta",
        "Google/Chrome Canary",
    ),
    *_windows("chrome", "Google/Chrome", "Google/Chrome Beta", "Google/Chrome SxS"),
    *_rows("chromium", "chromium", "linux", "config", "chromium"),
    *_rows("chromium", "chromium", "linux", "home", "snap/chromium/common/chromium"),
    *_flatpak("chromium", "org.chromium.Chromium", "chromium"),
    *_rows("chromium", "chromium", "darwin", "support", "Chromium"),
    *_windows("chromium", "Chromium"),
    *_rows(
        "brave",
        "chromium",
        "linux",
        "config",
        "BraveSoftware/Brave-Browser",
        "BraveSoftware/Brave-Browser-Beta",
    ),
    *_rows("brave", "chromium", "linux", "home", "snap/brave/current/.config/BraveSoftware/Brave-Browser"),
    *_flatpak("brave", "com.brave.Browser", "BraveSoftware/Brave-Browser"),
    *_rows("brave", "chromium", "darwin", "support", "BraveSoftware/Brave-Browser"),
    *_rows("brave", "chromium", "darwin", "support", "BraveSoftware/Brave-Browser-Beta"),
    *_windows("brave", "BraveSoftware/Brave-Browser", "BraveSoftware/Brave-Browser-Beta"),
    *_rows(
        "edge", "chromium", "linux", "config", "microsoft-edge", "microsoft-edge-beta", "microsoft-edge-dev"
    ),
    *_flatpak("edge", "com.microsoft.Edge", "microsoft-edge"),
    *_rows(
        "edge", "chromium", "darwin", "support", "Microsoft Edge", "Microsoft Edge Beta", "Microsoft Edge Dev"
    ),
    *_windows("edge", "Microsoft/Edge", "Microsoft/Edge Beta", "Microsoft/Edge Dev"),
    *_rows("vivaldi", "chromium", "linux", "config", "vivaldi", "vivaldi-snapshot"),
    *_flatpak("vivaldi", "com.vivaldi.Vivaldi", "vivaldi"),
    *_rows("vivaldi", "chromium", "darwin", "support", "Vivaldi"),
    *_windows("vivaldi", "Vivaldi"),
    *_rows("opera", "chromium", "linux", "config", "opera", "opera-beta", "opera-developer"),
    *_rows("opera", "chromium", "linux", "home", "snap/opera/current/.config/opera"),
    *_flatpak("opera", "com.opera.Opera", "opera"),
    *_rows("opera", "chromium", "darwin", "support", "com.operasoftware.Opera", "com.operasoftware.OperaGX"),
    *_rows(
        "opera",
        "chromium",
        "win32",
        "roaming",
        "Opera Software/Opera Stable",
        "Opera Software/Opera GX Stable",
    ),
    *_rows("arc", "chromium", "darwin", "support", "Arc/User Data"),
    *_rows(
        "arc", "chromium", "win32", "local", "Packages/TheBrowserCompany.Arc_*/LocalCache/Local/Arc/User Data"
    ),
    *_rows("firefox", "firefox", "linux", "home", ".mozilla/firefox", "snap/firefox/common/.mozilla/firefox"),
    *_rows("firefox", "firefox", "linux", "home", ".var/app/org.mozilla.firefox/.mozilla/firefox"),
    *_rows("firefox", "firefox", "linux", "home", ".var/app/org.mozilla.firefox/config/mozilla/firefox"),
    *_rows("firefox", "firefox", "linux", "config", "mozilla/firefox"),
    *_rows("firefox", "firefox", "darwin", "support", "Firefox"),
    *_rows("firefox", "firefox", "win32", "roaming", "Mozilla/Firefox"),
    *_rows("librewolf", "firefox", "linux", "home", ".librewolf"),
    *_rows("librewolf", "firefox", "linux", "home", ".var/app/io.gitlab.librewolf-community/.librewolf"),
    *_rows("librewolf", "firefox", "linux", "config", "librewolf/librewolf"),
    *_rows("librewolf", "firefox", "darwin", "support", "librewolf"),
    *_rows("librewolf", "firefox", "win32", "roaming", "librewolf"),
    *_rows("waterfox", "firefox", "linux", "home", ".waterfox", ".var/app/net.waterfox.waterfox/.waterfox"),
    *_rows("waterfox", "firefox", "darwin", "support", "Waterfox"),
    *_rows("waterfox", "firefox", "win32", "roaming", "Waterfox"),
    *_rows("floorp", "firefox", "linux", "home", ".floorp", ".var/app/one.ablaze.floorp/.floorp"),
    *_rows("floorp", "firefox", "darwin", "support", "Floorp"),
    *_rows("floorp", "firefox", "win32", "roaming", "Floorp"),
    *_rows("palemoon", "firefox", "linux", "home", ".moonchild productions/pale moon"),
    *_rows("palemoon", "firefox", "darwin", "support", "Pale Moon"),
    *_rows("palemoon", "firefox", "win32", "roaming", "Moonchild Productions/Pale Moon"),
    *_rows("safari", "safari", "darwin", "home", "Library/Safari"),
    *_rows("safari", "safari", "darwin", "home", "Library/Containers/com.apple.Safari/Data/Library/Safari"),
    *_rows("qutebrowser", "qutebrowser", "linux", "home", ".local/share/qutebrowser"),
    *_rows("qutebrowser", "qutebrowser", "darwin", "support", "qutebrowser"),
    *_rows("qutebrowser", "qutebrowser", "win32", "roaming", "qutebrowser/data"),
)
