"""Rows of the `thoughts` table of Open Brain (OB1, 2026), as its database hands them out: JSON array or lines, or CSV.

A row is {id, content, metadata, created_at, updated_at, ...}; `metadata` is a JSON object with people, topics,
action_items, dates and type. Enhanced tables have `type` and others as columns, too: they fill what `metadata` lacks.
The array is what its backup recipe writes, the CSV what Supabase's table editor exports. Embeddings are left out: they
are another model's. (`taste_preferences` rows are taken by `brain prefs import`.)
"""

import csv
import io
import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from brain.importers._instants import from_iso
from brain.importers._json_stream import CutOff, items, shown
from brain.importers._text_rows import Text, batches
from brain.importers._whole_file import content, head, json_head
from brain.models import Batch, Rejected

NAME = "open_brain"
SOURCE = "import"
BROWSER = "unknown"
VERSION = 1  # raised when the same bytes are read differently

_COLUMNS = ("type", "source_type", "importance", "sensitivity_tier")


def detect(path: Path) -> bool:
    """Whether the file begins with rows that have both `content` and `metadata`, and `created_at`."""
    text = json_head(path)[:60_000]
    if text:
        first = text.lstrip("[ \t\r\n")[:50_000]
        return first.startswith("{") and all(
            f'"{name}"' in first for name in ("content", "metadata", "created_at")
        )
    line = head(path).removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0][:2_000].decode("utf-8", "replace")
    return {"content", "metadata", "created_at"} <= {name.strip('" \r') for name in line.split(",")}


def read(path: Path) -> Generator[Batch | Rejected]:
    """Thoughts in batches. Raises SourceError and EmptySource as all do."""
    yield from batches(path.name, _found(path))


def _found(path: Path) -> Iterator[Text | Rejected]:
    try:
        for number, row in enumerate(_rows(path)):
            yield _thought(number, row)
    except CutOff as error:
        yield Rejected("rows", f"the rest cannot be read: {error}")


def _rows(path: Path) -> Iterator[Any]:
    start = json_head(path)
    if start.startswith("["):
        yield from items(path)
    elif start.startswith("{"):
        for line in content(path).decode("utf-8-sig", "replace").split("\n"):
            if line.strip():
                try:
                    yield json.loads(line)
                except (ValueError, RecursionError):
                    yield line
    else:
        csv.field_size_limit(10_000_000)
        text = io.StringIO(content(path).decode("utf-8-sig", "replace"), newline="")
        try:
            yield from csv.DictReader(text)
        except csv.Error as error:
            raise CutOff(str(error)) from error


def _thought(number: int, row: object) -> Text | Rejected:
    where = f"row[{number}]"
    if not isinstance(row, dict):
        return Rejected(where, f"it is no row: {shown(row)}")
    text = row.get("content")
    if not isinstance(text, str) or not text.strip():
        return Rejected(where, "it has no content")
    created = from_iso(row.get("created_at"))
    if created is None:
        return Rejected(where, f"created_at {shown(row.get('created_at'))} is no plausible instant")
    details = row.get("metadata")
    if isinstance(details, str):
        try:
            details = json.loads(details)
        except (ValueError, RecursionError):
            details = None
    known = details if isinstance(details, dict) else {}
    known |= {name: row[name] for name in _COLUMNS if row.get(name) not in (None, "") and name not in known}
    kept = json.dumps(known, ensure_ascii=False, default=str) if known else None
    key = str(row.get("id") or f"{created}:{text[:200]}")
    return Text(
        where,
        key,
        "thought",
        text,
        created_us=created,
        modified_us=from_iso(row.get("updated_at")),
        details=kept,
    )
