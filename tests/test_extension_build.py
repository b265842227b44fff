"""What `make extension` makes: the same each time, complete, with no more permissions than are told."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from extension_browser import SOURCE

README = (SOURCE / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, SOURCE / "build.py", folder], check=True, capture_output=True)
    return folder


def manifest(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "manifest.json").read_text("utf-8")))


def files_named_in(told: Any) -> set[str]:
    if isinstance(told, dict):
        return set().union(*map(files_named_in, told.values()))
    if isinstance(told, list):
        return set().union(*map(files_named_in, told))
    return {told} if isinstance(told, str) and re.fullmatch(r"[\w./-]+\.(js|html|png|css)", told) else set()


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_every_file_that_is_named_is_there(built: Path, browser: str) -> None:
    folder = built / browser
    named = files_named_in(manifest(folder))
    assert len(named) >= 6
    for page in folder.rglob("*.html"):
        links = re.findall(r'(?:src|href)="([^"]+)"', page.read_text("utf-8"))
        named |= {(page.parent / link).resolve().relative_to(folder.resolve()).as_posix() for link in links}
    for script in (folder / "src").glob("*.js"):
        imported = re.findall(r'from "\./([^"]+)"', script.read_text("utf-8"))
        named |= {f"src/{name}" for name in imported}
    assert {name for name in named if not (folder / name).is_file()} == set()


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_it_asks_for_what_the_readme_tells_and_no_more(built: Path, browser: str) -> None:
    told = manifest(built / browser)
    table = README.partition("## Permissions")[2].partition("## ")[0]
    for permission in (*told["permissions"], *told["optional_permissions"]):
        assert f"`{permission}`" in table, permission
    assert told["host_permissions"] == ["http://127.0.0.1/*", "http://localhost/*"]
    assert set(told["optional_permissions"]) == {"bookmarks", "history", "tabGroups"}
    assert "content_scripts" not in told  # no page is touched before the person chooses so
    assert "incognito" not in told
    policy = told["content_security_policy"]["extension_pages"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_code_and_nothing_else_comes_from_elsewhere(built: Path) -> None:
    for path in (built / "chromium").rglob("*"):
        if path.suffix in (".js", ".html", ".css") and "lib" not in path.parts:
            text = path.read_text("utf-8")
            addresses = set(re.findall(r"https?://[\w.-]+", text)) - {"http://127.0.0.1", "http://localhost"}
            assert addresses == set(), path
            assert not re.search(r"\b(eval|Function)\(|innerHTML|insertAdjacentHTML|document\.write", text), (
                path
            )


def test_the_zips_are_the_same_each_time_and_what_a_store_takes(built: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, SOURCE / "build.py", tmp_path], check=True, capture_output=True)
    for browser in ("chromium", "firefox"):
        name = f"brainlake-{browser}.zip"
        assert (built / name).read_bytes() == (tmp_path / name).read_bytes()
        with zipfile.ZipFile(built / name) as archive:
            assert "key" not in json.loads(archive.read("manifest.json"))
    assert "key" in manifest(built / "chromium")
    assert manifest(built / "firefox")["browser_specific_settings"]["gecko"]["id"] == "extension@brainlake"
