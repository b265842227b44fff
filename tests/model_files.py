"""The published model files for tests that build from them: fetched once, then kept in pytest's cache."""

from pathlib import Path

import pytest

from brain.embedding import install, installed


def published(config: pytest.Config) -> Path:
    """A folder with the published files. Fails, and does not skip, where they cannot be fetched."""
    folder = config.cache.mkdir("minilm-published")
    whole = all(
        (folder / name).is_file() and installed.sha256(folder / name) == expected
        for name, expected in installed.SOURCE_SHA256.items()
    )
    return folder if whole else install.fetch(folder)
