"""Which table is live, and whose vectors each one holds: `live.json`, replaced as a whole by rename."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from brain.embedding.protocol import ModelIdentity
from brain.errors import IndexUnavailable

_FILE = "live.json"


@dataclass(frozen=True, slots=True)
class Pointer:
    """The live table's name, its vectors' dimension, the model that made them (None: no vectors yet)."""

    table: str
    dimension: int
    model: ModelIdentity | None
    ann_rows: int = 0  # vectors there were when the vector index was last trained
    layout: int = 1  # of the table's columns; goes up when they change


def read(folder: Path) -> Pointer | None:
    """The pointer in `folder`, or None where there is none. Raises IndexUnavailable if it is damaged."""
    try:
        values: dict[str, Any] = json.loads((folder / _FILE).read_text("utf-8"))
        model = values.pop("model")
        return Pointer(model=ModelIdentity(**model) if model else None, **values)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise IndexUnavailable(
            f"the index's {_FILE} is damaged ({error}); `brain index --rebuild` makes it anew"
        ) from error


def write(folder: Path, pointer: Pointer) -> None:
    """Make `pointer` the one that every later `read` finds; a crash leaves the old one whole."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = folder / f".{_FILE}.{os.getpid()}"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(asdict(pointer), file)
        file.flush()
        os.fsync(file.fileno())
    draft.chmod(0o600)
    draft.replace(folder / _FILE)


def forget(folder: Path) -> None:
    """Remove the pointer; the index counts as missing from then on."""
    (folder / _FILE).unlink(missing_ok=True)


def stamp(folder: Path) -> tuple[int, int] | None:
    """Changes whenever the pointer does; None when there is none."""
    try:
        found = (folder / _FILE).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino
