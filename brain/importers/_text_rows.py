"""What readers of texts share: rows checked one by one, and batches of bounded size."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from brain.errors import EmptySource, SourceError
from brain.importers._json_stream import text_array
from brain.models import TEXT_KINDS, Batch, Rejected, as_record_batch

_LONGEST = 2_000_000
_CHARACTERS = 8_000_000


@dataclass(slots=True)
class Text:
    """One text as a reader found it; `where` names its place in the file."""

    where: str
    native_id: str
    kind: str
    text: str
    url: str | None = None
    title: str | None = None
    created_us: int | None = None
    modified_us: int | None = None
    tags: list[str] = field(default_factory=list)
    details: str | None = None


def batches(name: str, found: Iterable[Text | Rejected]) -> Iterator[Batch | Rejected]:
    """The texts of the file `name` in batches, and a reject for each that cannot be taken.

    A text over two million characters is cut off and said so. Raises EmptySource when there is none at all, SourceError
    when there are, and none could be taken.
    """
    rows: list[Text] = []
    held = taken = refused = 0
    for item in found:
        if isinstance(item, Rejected) or not item.text.strip():
            refused += 1
            yield item if isinstance(item, Rejected) else Rejected(item.where, "it has no text")
            continue
        if len(item.text) > _LONGEST:
            yield Rejected(item.where, f"its text is cut off after {_LONGEST:,} characters")
            item.text = item.text[:_LONGEST]
        rows.append(item)
        held += len(item.text)
        taken += 1
        if held >= _CHARACTERS or len(rows) >= 4_096:
            yield _batch(rows)
            rows, held = [], 0
    if rows:
        yield _batch(rows)
    if not taken:
        raise (
            SourceError(f"none of the {refused} texts of {name} could be taken")
            if refused
            else EmptySource(f"{name} holds no texts")
        )


def _batch(rows: list[Text]) -> Batch:
    kinds = pa.DictionaryArray.from_arrays(
        pa.array([TEXT_KINDS.index(row.kind) for row in rows], pa.int8()), pa.array(TEXT_KINDS)
    )
    columns = {
        "native_id": text_array([row.native_id for row in rows]),
        "kind": kinds,
        "created_us": pa.array([row.created_us for row in rows], pa.int64()),
        "modified_us": pa.array([row.modified_us for row in rows], pa.int64()),
        "tags": pa.array(
            [[t.encode("utf-8", "replace").decode() for t in row.tags] for row in rows], pa.list_(pa.string())
        ),
    }
    columns |= {n: text_array([getattr(row, n) for row in rows]) for n in ("url", "title", "text", "details")}
    return Batch("texts", as_record_batch("texts", columns))
