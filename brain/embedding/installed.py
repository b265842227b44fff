"""The default model as it lies in the user's cache: where, which files, and whether they are whole.

    <root>/all-MiniLM-L6-v2-<revision>-<variant>/
        model.onnx      the graph that minilm_graph wrote
        tokenizer.json  as published
        manifest.json   identity, and size and SHA-256 of both files

`root` is `$BRAIN_MODEL_DIR`, else `models` in the platform's user cache. The files are public, so they lie
outside of any lake and all lakes share them.
"""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from brain.embedding.protocol import ModelIdentity
from brain.errors import ModelUnavailable

# Goes up whenever minilm_graph writes other bytes for the same weights, so that old graphs are not taken
# for new.
GRAPH_FORMAT = 1
# The last revision of https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2, whose files these are.
REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
SOURCE_SHA256 = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
IDENTITY = ModelIdentity(
    id="all-MiniLM-L6-v2",
    revision=REVISION,
    dimension=384,
    weights_sha256=SOURCE_SHA256["model.safetensors"],
    variant=f"int8-{GRAPH_FORMAT}",
)
FOLDER = f"{IDENTITY.id}-{REVISION[:8]}-{IDENTITY.variant}"
GRAPH, TOKENIZER, MANIFEST = "model.onnx", "tokenizer.json", "manifest.json"

_INSTALL = "run `brain model install`"


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A usable model in the cache. `fetched_from` is None when it had been there already."""

    folder: Path
    identity: ModelIdentity
    size: int  # bytes on disk
    fetched_from: str | None = None

    @property
    def graph(self) -> Path:
        return self.folder / GRAPH

    @property
    def tokenizer(self) -> Path:
        return self.folder / TOKENIZER


def model_root() -> Path:
    """`$BRAIN_MODEL_DIR`, else the platform's user cache folder for Brainlake's models."""
    if named := os.environ.get("BRAIN_MODEL_DIR"):
        return Path(named).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("brainlake", appauthor=False) / "models"


def find(root: Path | None = None, *, thorough: bool = False) -> InstalledModel:
    """The installed model, its files compared with the manifest: by size, or by content when `thorough`.

    Raises ModelUnavailable when it is not installed or its files are not as they were written.
    """
    folder = (root or model_root()) / FOLDER
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        expected = {name: manifest["files"][name] for name in (GRAPH, TOKENIZER)}
        known = manifest["identity"] == asdict(IDENTITY)
    except FileNotFoundError:
        state = "is damaged (no manifest)" if folder.is_dir() else "is not installed"
        raise ModelUnavailable(f"the embedding model {state}; {_INSTALL}") from None
    except OSError as error:
        raise ModelUnavailable(f"the embedding model in {folder} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ModelUnavailable(
            f"the embedding model in {folder} is damaged (manifest); {_INSTALL}"
        ) from error
    for name, file in expected.items():
        if not known or not _is_whole(folder / name, file, thorough=thorough):
            raise ModelUnavailable(f"the embedding model in {folder} is damaged ({name}); {_INSTALL}")
    return InstalledModel(folder, IDENTITY, sum(file["bytes"] for file in expected.values()))


def write_manifest(folder: Path) -> None:
    """Record identity, sizes and hashes of the files in `folder`, the last step of building it."""
    files = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": sha256(folder / name)}
        for name in (GRAPH, TOKENIZER)
    }
    text = json.dumps({"identity": asdict(IDENTITY), "files": files}, indent=2)
    (folder / MANIFEST).write_text(text + "\n", "utf-8")


def sha256(path: Path) -> str:
    """Hex SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_whole(path: Path, expected: dict[str, Any], *, thorough: bool) -> bool:
    try:
        if path.stat().st_size != expected["bytes"]:
            return False
        return not thorough or sha256(path) == expected["sha256"]
    except OSError:
        return False
