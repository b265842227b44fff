"""Assemble the extension for each browser: python extension/build.py [FOLDER]

chromium and firefox in FOLDER (by default dist, beside this file) are to be loaded, brainlake-*.zip what a store takes.
Libraries come from npm; without it the extension is whole but for Readability, and takes the text of a page as it is
laid out.
"""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
SHIPPED = ("src", "content", "popup", "options", "icons", "ui.css")
LIBRARIES = {"@mozilla/readability": ("Readability.js", "LICENSE.md")}


def fetch_libraries() -> bool:
    """Have npm put the libraries into node_modules, where they are not yet; False where there is no npm."""
    fetched = MODULES / ".package-lock.json"
    if fetched.exists() and fetched.stat().st_mtime >= (HERE / "package.json").stat().st_mtime:
        return True
    npm = shutil.which("npm")
    if npm is None:
        return False
    options = ["--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run([npm, "install", *options], cwd=HERE, check=True, stdout=sys.stderr)
    return True


def manifest_for(browser: str) -> dict[str, object]:
    """The manifest of a browser. Firefox runs the worker as a page, has ids of its own, and knows no key."""
    manifest: dict[str, object] = json.loads((HERE / "manifest.json").read_text("utf-8"))
    if browser == "firefox":
        del manifest["key"], manifest["minimum_chrome_version"]
        manifest["background"] = {"scripts": ["src/background.js"], "type": "module"}
        manifest["browser_specific_settings"] = {
            "gecko": {
                "id": "extension@brainlake",
                "strict_min_version": "140.0",
                "data_collection_permissions": {"required": ["none"]},
            }
        }
    return manifest


def assemble(browser: str, out: Path, with_libraries: bool) -> Path:
    """Make the folder and the zip of one browser anew; the folder."""
    folder = out / browser
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in SHIPPED:
        source = HERE / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    for package, files in LIBRARIES.items() if with_libraries else ():
        (folder / "lib").mkdir(exist_ok=True)
        for name in files:
            shutil.copy(MODULES / package / name, folder / "lib" / name)
    manifest = manifest_for(browser)
    (folder / "manifest.json").write_text(_json(manifest), "utf-8")
    with zipfile.ZipFile(out / f"brainlake-{browser}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                name = path.relative_to(folder).as_posix()
                entry = zipfile.ZipInfo(name)  # without a date: the same content makes the same file
                entry.compress_type = zipfile.ZIP_DEFLATED
                # Stores give the id themselves; the key gives it to a folder that is loaded.
                without_key = {field: value for field, value in manifest.items() if field != "key"}
                archive.writestr(entry, _json(without_key) if name == "manifest.json" else path.read_bytes())
    return folder


def _json(manifest: dict[str, object]) -> str:
    return json.dumps(manifest, indent=2) + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "dist"
    complete = fetch_libraries()
    for name in ("chromium", "firefox"):
        sys.stdout.write(f"{assemble(name, target, complete)}\n")
    if not complete:
        sys.stderr.write("npm was not found: built without Readability\n")
