"""A query's rows in the form asked for: table, JSON, CSV or Parquet, on the screen or in a file."""

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain.errors import UsageError
from brain.render import Column, Screen, plain, to_json

if TYPE_CHECKING:
    import polars as pl


def write(frame: "pl.DataFrame", form: str, path: Path | None, screen: Screen) -> None:
    """Write all of `frame`. A file appears whole or not at all.

    Raises UsageError for Parquet on a terminal and for a file that cannot be written.
    """
    if path is None and form == "table":
        screen.table(_columns(frame), frame.rows())
    elif path is None and form == "parquet":
        if screen.is_terminal:
            raise UsageError("Parquet is no text: name a file with -o, or send it into a pipe")
        sys.stdout.buffer.write(_as_bytes(frame, form))
    elif path is None:
        sys.stdout.write(_as_bytes(frame, form).decode())
    else:
        _replace(path, _as_bytes(frame, form))


def _as_bytes(frame: "pl.DataFrame", form: str) -> bytes:
    if form == "json":
        return (to_json(frame.to_dicts()) + "\n").encode()
    held = io.BytesIO()
    if form == "csv":
        _texts(frame).write_csv(held)
    elif form == "parquet":
        frame.write_parquet(held)
    else:
        text = io.StringIO()
        Screen(text).table(frame.columns, frame.rows())
        return text.getvalue().encode()
    return held.getvalue()


def _columns(frame: "pl.DataFrame") -> list[Column | str]:
    """Numbers and instants keep their room on a narrow terminal; texts give way."""
    return [
        Column(n, flexible=not (kind.is_numeric() or kind.is_temporal())) for n, kind in frame.schema.items()
    ]


def _texts(frame: "pl.DataFrame") -> "pl.DataFrame":
    """CSV knows texts and numbers only: instants, lists and structs become what they are in JSON."""
    import polars as pl

    def text(value: Any) -> str | None:
        value = plain(value)
        return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    simple = (pl.String, pl.Boolean)
    odd = [n for n, kind in frame.schema.items() if not (kind.is_numeric() or kind in simple)]
    return frame.with_columns(
        pl.Series(name, [text(v) for v in frame[name].to_list()], dtype=pl.String) for name in odd
    )


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
