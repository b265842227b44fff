"""What is printed: nothing that steers a terminal, nothing cut in a pipe, JSON that any program reads."""

import io
import json
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.plaintext import clean
from brain.render import Column, Screen, count, size, to_json, width


@pytest.mark.parametrize(
    ("dirty", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;owned\x07title", "title"),
        ("\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jgone", "gone"),
        ("a\u202egnp.exe", "agnp.exe"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("bell\x07 back\x08space", "bell backspace"),
        ("[bold]no markup[/bold]", "[bold]no markup[/bold]"),
        ("👩\u200d🔬 日本語 café", "👩\u200d🔬 日本語 café"),
    ],
)
def test_text_from_the_web_cannot_steer_a_terminal(dirty: str, shown: str) -> None:
    assert clean(dirty) == shown


@settings(deadline=None)
@given(st.text())
def test_clean_text_is_printable_and_stays_so(text: str) -> None:
    shown = clean(text)
    assert clean(shown) == shown
    assert not {c for c in shown if c < " " or "\x7f" <= c <= "\x9f"}


def test_json_holds_exact_instants_in_utc_and_no_nan() -> None:
    @dataclass
    class Row:
        at: datetime
        there: datetime
        local: datetime
        day: date
        ratio: float
        took: timedelta
        total: Decimal
        raw: bytes

    vienna = timezone(timedelta(hours=1))
    row = Row(
        datetime(2026, 11, 30, 12, tzinfo=UTC),
        datetime(2026, 11, 30, 12, 0, 0, 1, tzinfo=vienna),
        datetime(2026, 11, 30),
        date(2026, 11, 30),
        float("nan"),
        timedelta(minutes=1, microseconds=1),
        Decimal(12),
        b"\x00\xff",
    )
    assert json.loads(to_json({"rows": [row]})) == {
        "rows": [
            {
                "at": "2026-11-30T12:00:00.000000Z",
                "there": "2026-11-30T11:00:00.000001Z",
                "local": "2026-11-30T00:00:00.000000",
                "day": "2026-11-30",
                "ratio": None,
                "took": 60.000001,
                "total": 12,
                "raw": "00ff",
            }
        ]
    }


def test_json_of_an_undecodable_file_name_can_be_written() -> None:
    assert json.loads(to_json({"path": "a\udcff"}).encode()) == {"path": "a?"}


def test_a_piped_table_is_aligned_by_what_is_seen_and_cuts_nothing() -> None:
    out = io.StringIO()
    long = "x" * 300
    Screen(out).table(["name", "n", Column("text")], [["日本", 1, long], ["a\nb", 12345, None]])
    assert out.getvalue() == f"name      n  text\n日本      1  {long}\na b   12345  -\n"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _drawn(
    columns: list[Column | str], rows: list[list[object]], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    out = _Terminal()
    Screen(out).table(columns, rows)
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).rstrip("\n").split("\n")


def test_on_a_narrow_terminal_flexible_columns_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _drawn(["id", Column("title", flexible=True)], [["p0123456789abcdef", "t" * 100]], monkeypatch)
    assert len(lines) == 2
    assert lines[1].startswith("p0123456789abcdef  ttt")
    assert lines[1].rstrip().endswith("t…")
    assert max(map(width, lines)) <= 40


def test_a_table_too_wide_for_the_terminal_is_shown_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _drawn([f"column{i}" for i in range(8)], [["v" * 30, *range(7)]], monkeypatch)
    assert lines[1].split() == ["column0", "v" * 30]
    assert lines[8].split() == ["column7", "6"]


def test_markup_in_a_cell_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "[red]x[/red]" in "\n".join(_drawn(["title"], [["[red]x[/red]"]], monkeypatch))


def test_sizes_and_counts_read_as_people_say_them() -> None:
    assert [size(n) for n in (0, 999, 1500, 23_900_000)] == ["0 B", "999 B", "1.5 kB", "23.9 MB"]
    assert [count(n, "visit") for n in (0, 1, 1234)] == ["0 visits", "1 visit", "1,234 visits"]
