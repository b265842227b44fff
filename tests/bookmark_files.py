"""What the tests of bookmark importers share: reading a file through the registry, and damaging it."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from brain import importers
from brain.errors import SourceError
from brain.models import SOURCE_SCHEMAS, Batch, Rejected

Row = dict[str, Any]
Damage = tuple[list[tuple[float, bytes]], float]

# Bytes to write at places given as parts of the length, and how much of the file is left.
DAMAGES: st.SearchStrategy[Damage] = st.tuples(
    st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=6)), min_size=1, max_size=12),
    st.sampled_from([1.0, 1.0, 1.0, 0.9, 0.5, 0.1]),
)


def read(path: Path, importer: importers.Importer | None = None) -> tuple[list[Row], list[tuple[str, str]]]:
    """The bookmarks and the rejects of a file, after checking that each batch keeps its schema."""
    rows: list[Row] = []
    rejects: list[tuple[str, str]] = []
    for item in (importer or importers.pick(path)).read(path):
        if isinstance(item, Batch):
            assert item.record == "bookmarks"
            assert item.rows.schema == SOURCE_SCHEMAS["bookmarks"]
            item.rows.validate(full=True)
            rows += item.rows.to_pylist()
        else:
            assert isinstance(item, Rejected)
            rejects.append((item.where, item.reason))
    return rows, rejects


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def row(url: str, **known: object) -> Row:
    """A whole bookmark of which only this is known."""
    nothing: Row = dict.fromkeys(SOURCE_SCHEMAS["bookmarks"].names)
    return nothing | {"url": url, "folder": [], "tags": [], "shelf": "bookmarks"} | known


def damaged(content: bytes, damage: Damage) -> bytes:
    changed = bytearray(content)
    for part, new in damage[0]:
        at = int(part * len(changed))
        changed[at : at + len(new)] = new
    return bytes(changed[: int(len(changed) * damage[1])])


def takes_anything(importer: importers.Importer, path: Path, content: bytes) -> None:
    """Whatever the bytes, detecting answers and reading gives batches, rejects or a SourceError of one line."""
    path.write_bytes(content)
    assert importer.detect(path) in (True, False)
    assert "\n" not in refusal(path, importer)
    with suppress(SourceError):
        importers.pick(path)


def refusal(path: Path, importer: importers.Importer) -> str:
    """Why the importer refuses the file; '' when it does not."""
    try:
        read(path, importer)
    except SourceError as error:
        return str(error)
    return ""
