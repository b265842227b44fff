"""Where the browser extension that ships with this version lies."""

from pathlib import Path

import brain
from brain.errors import UsageError


def extension_folder() -> Path:
    """The folder to load in the browser. Raises UsageError where it was not installed."""
    package = Path(brain.__file__).resolve().parent
    source = package.parent / "extension"
    for folder in (package / "extension", source / "dist" / "chromium", source):
        if (folder / "manifest.json").is_file():
            return folder
    raise UsageError(
        "the extension is not part of this installation; it is in the source's extension/ folder"
    )
