"""Answers as a person or a program reads them: tables and lines, or one JSON document.

On a terminal tables are drawn with rich; in a pipe they are plain columns without boxes or truncation. Text that came
from the web is untrusted: `clean` takes out whatever could steer a terminal, and no markup is ever interpreted.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from brain.plaintext import clean

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# A flexible column is never made narrower than this; before that a table becomes records.
_LEAST = 12
_WIDE = re.compile("[\u0300-\u036f\u1100-\uffff\U0001f000-\U0003ffff\u200d]")


def to_json(value: Any) -> str:
    """One JSON document: dataclasses as objects, instants ISO 8601 UTC with six digits and Z, NaN as null."""
    return json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """`value` in JSON's own types. Durations become seconds, bytes hex, decimals numbers."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        # A lone surrogate (from an undecodable file name) cannot be written as UTF-8.
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(plain(k)): plain(v) for k, v in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes | bytearray):
        return [plain(v) for v in value]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, datetime):
        # An instant says so with its Z; a local time without zone must not claim to be one.
        text = (value.astimezone(UTC) if value.tzinfo else value).strftime("%Y-%m-%dT%H:%M:%S.%f")
        return text + "Z" if value.tzinfo else text
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if hasattr(value, "to_list"):
        return plain(value.to_list())
    return str(value)


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column. `flexible` ones give way, with an ellipsis, when a terminal is too narrow."""

    name: str
    justify: Literal["left", "right"] = "left"
    style: str | None = None
    flexible: bool = False


class Screen:
    """Where an answer goes: stdout as it is now, a terminal or not."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self.is_terminal = self._out.isatty()

    @cached_property
    def console(self) -> "Console":
        """The rich console; made only for terminals, since importing rich takes its time."""
        from rich.console import Console

        return Console(file=self._out, markup=False, highlight=False, emoji=False)

    def line(self, *parts: str | tuple[str, str]) -> None:
        """One line of texts and (text, style) pairs, all cleaned by the caller; a terminal wraps it itself."""
        if self.is_terminal:
            from rich.text import Text

            self.console.print(Text.assemble(*parts), soft_wrap=True)
        else:
            self._out.write("".join(p if isinstance(p, str) else p[0] for p in parts) + "\n")

    def lines(self, text: str) -> None:
        """Write text of several lines."""
        for line in text.splitlines():
            self.line(line)

    def draw(self, what: "RenderableType") -> None:
        """Something made with rich; terminals only."""
        self.console.print(what)

    def table(self, columns: Sequence[Column | str], rows: Sequence[Sequence[Any]]) -> None:
        """Rows under their headings; on a terminal too narrow for them, one row after the other."""
        heads = [Column(c) if isinstance(c, str) else c for c in columns]
        heads = [_numeric(c, [r[i] for r in rows]) for i, c in enumerate(heads)]
        cells = [[self._cell(v) for v in row] for row in rows]
        full = [max([width(h.name), *(width(row[i]) for row in cells)]) for i, h in enumerate(heads)]
        if not self.is_terminal:
            self._plain_table(heads, cells, full)
        elif room := _share(heads, full, self.console.width):
            self._drawn_table(heads, cells, room)
        else:
            self._records(heads, cells)

    def _cell(self, value: Any) -> str:
        if value is None:
            return "" if self.is_terminal else "-"
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, int):
            return f"{value:,}" if self.is_terminal else str(value)
        if isinstance(value, str):
            return clean(value)
        value = plain(value)
        return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))

    def _plain_table(self, heads: list[Column], cells: list[list[str]], room: list[int]) -> None:
        for line in ([h.name for h in heads], *cells):
            parts = (_fill(cell, n, head.justify) for cell, n, head in zip(line, room, heads, strict=True))
            self._out.write("  ".join(parts).rstrip() + "\n")

    def _drawn_table(self, heads: list[Column], cells: list[list[str]], room: list[int]) -> None:
        from rich.text import Text

        lines = Text("\n")
        titles = [_fill(h.name, n, h.justify) for h, n in zip(heads, room, strict=True)]
        drawn = [Text("  ".join(titles).rstrip(), style="bold")]
        for row in cells:
            parts = [
                Text(_fill(_cut(cell, n), n, head.justify), style=head.style or "")
                for cell, n, head in zip(row, room, heads, strict=True)
            ]
            drawn.append(Text("  ").join(parts))
            drawn[-1].rstrip()
        self.console.print(lines.join(drawn), no_wrap=True, overflow="ignore", crop=False)

    def _records(self, heads: list[Column], cells: list[list[str]]) -> None:
        from rich.text import Text

        wide = max(width(h.name) for h in heads)
        for number, row in enumerate(cells, 1):
            self.console.print(Text(f"— {number} " + "—" * 20, style="dim"))
            for head, cell in zip(heads, row, strict=True):
                name = head.name + " " * (wide - width(head.name))
                self.console.print(Text.assemble((name, "bold"), "  ", cell), soft_wrap=True)


def _share(heads: list[Column], full: list[int], room: int) -> list[int] | None:
    """Widths that fit into `room`, taken from the widest flexible columns; None when even that does not fit."""
    given = list(full)
    over = sum(given) + 2 * (len(given) - 1) - room
    while over > 0:
        widest = max(
            ((given[i], i) for i, h in enumerate(heads) if h.flexible and given[i] > _LEAST), default=None
        )
        if widest is None:
            return None
        given[widest[1]] -= 1
        over -= 1
    return given


def _cut(text: str, room: int) -> str:
    if width(text) <= room:
        return text
    from rich.cells import set_cell_size

    return set_cell_size(text, room - 1).rstrip() + "…"


def _fill(text: str, room: int, justify: str) -> str:
    blank = " " * (room - width(text))
    return blank + text if justify == "right" else text + blank


def _numeric(head: Column, values: list[Any]) -> Column:
    if any(isinstance(v, bool) or not isinstance(v, int | float | Decimal | None) for v in values):
        return head
    return (
        Column(head.name, "right", head.style, head.flexible) if any(v is not None for v in values) else head
    )


def width(text: str) -> int:
    """Terminal cells of a clean text: CJK and emoji take two, combining marks none."""
    if not _WIDE.search(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def size(bytes_: int) -> str:
    """Bytes for a person: 512 B, 3.4 MB."""
    number = float(bytes_)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError


def home_path(path: str | Path) -> str:
    """A path with the user's own folder as ~, cleaned."""
    text, own = str(path), str(Path.home())
    return clean("~" + text[len(own) :] if text.startswith(own + "/") else text)


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 visit`, `1,234 visits`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
