"""How the demo looks: what was done, what is in the lake, three questions and their answers, what comes next."""

from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from brain.plaintext import clean
from brain.render import Screen, count, home_path, size

if TYPE_CHECKING:
    from brain.cli.demo import Demo
    from brain.config import Settings

_BLOCKS = "▁▂▃▄▅▆▇█"
_BAR = 28


def draw(screen: Screen, shown: "Demo", settings: "Settings") -> None:
    """The whole demo, top to bottom."""
    screen.line()
    screen.line(("Brainlake", "bold cyan"), ("  everything you read, searchable on your own machine", "dim"))
    _steps(screen, shown)
    _summary(screen, shown.summary)
    _searches(screen, shown, settings)
    _next(screen, shown)


def _heading(screen: Screen, text: str) -> None:
    screen.line()
    screen.line((text, "bold"))


def _steps(screen: Screen, shown: "Demo") -> None:
    _heading(screen, "What just happened")
    files, visits = shown.sample["files"], shown.sample["visits"]
    _step(
        screen,
        "sample",
        f"{visits:,} visits in {count(files, 'browser history', 'browser histories')}, all made up",
    )
    for row in shown.flows.rows:
        _step(screen, row["step"], _done(row), row["seconds"], well=row["state"] == "completed")
    for problem in shown.flows.problems:
        screen.line(("    note: ", "yellow"), clean(problem))


def _step(screen: Screen, name: str, what: str, seconds: float | None = None, *, well: bool = True) -> None:
    took = f"  {seconds:.1f} s" if seconds is not None else ""
    screen.line(
        ("  ✓ " if well else "  ! ", "green" if well else "yellow"), f"{name:<10}{what}", (took, "dim")
    )


def _done(row: dict[str, Any]) -> str:
    if row["step"] == "import":
        new = f"{row['new']:,} new" if row.get("new") else "nothing new"
        return (
            f"{row.get('seen', 0):,} visits read, {row.get('visible', 0):,} of them seen by a person, {new}"
        )
    if row["step"] == "index":
        if not row.get("indexed") and not row.get("embedded"):
            return "nothing new"
        return f"{row.get('indexed', 0):,} pages by their words, {row.get('embedded', 0):,} by their meaning"
    failed = row.get("failed_checks", 0)
    return f"{row.get('checks', 0)} checks, {f'{failed} with a note' if failed else 'all is well'}"


def _summary(screen: Screen, summary: dict[str, Any]) -> None:
    zone = ZoneInfo(summary["zone"])
    first, last = (
        f"{datetime.fromisoformat(summary[end]).astimezone(zone):%d %B %Y}".lstrip("0")
        for end in ("first", "last")
    )
    _heading(screen, "What is in the lake")
    screen.line(
        (f"  {summary['visible_visits']:,}", "bold"),
        " visits to ",
        (f"{summary['pages']:,}", "bold"),
        f" pages, {first} to {last}; {size(summary['disk'])} on disk",
    )
    screen.line()
    hours = list(summary["hours"].values())
    screen.line(("  by hour   ", "dim"), (_spark(hours, 2), "cyan"))
    screen.line(("            0           6           12          18        23", "dim"))
    weeks = list(summary["weeks"].values())[-48:]
    screen.line(("  by week   ", "dim"), (_spark(weeks, 48 // max(1, len(weeks)) or 1), "cyan"))
    screen.line()
    most = max((row["visible_visits"] for row in summary["domains"]), default=1) or 1
    widest = max((len(row["key"] or "") for row in summary["domains"]), default=0)
    for row in summary["domains"]:
        screen.line(
            f"  {clean(row['key'] or '(none)'):<{widest}}  ",
            ("▇" * max(1, round(_BAR * row["visible_visits"] / most)), "cyan"),
            (f" {row['visible_visits']:,}", "dim"),
        )


def _spark(numbers: list[int], wide: int) -> str:
    most = max(numbers, default=0) or 1
    return "".join(_BLOCKS[round(n / most * (len(_BLOCKS) - 1))] * wide for n in numbers)


def _searches(screen: Screen, shown: "Demo", settings: "Settings") -> None:
    from brain.cli.hits import draw_hit

    _heading(screen, "What you can ask")
    for search in shown.searches:
        screen.line()
        screen.line(
            ("  $ ", "dim"), (f'brain search "{search.query}"', "bold green"), (f"   {search.about}", "dim")
        )
        for rank, hit in enumerate(search.answer.results[:2], 1):
            draw_hit(screen, rank, hit, settings, search.query)
        if not search.answer.results:
            screen.line("    nothing found")
    if shown.model is None:
        screen.line()
        screen.line(
            ("  note: ", "yellow"),
            "without the embedding model only words are matched; `brain model install` brings it",
        )


def _next(screen: Screen, shown: "Demo") -> None:
    own, search, serve = shown.next
    _heading(screen, "Now with your own")
    screen.line(("  $ ", "dim"), (own, "bold green"), ("   reads the browsers on this machine", "dim"))
    screen.line(("  $ ", "dim"), (search, "bold green"))
    screen.line(("  $ ", "dim"), (serve, "bold green"), ("   keeps it up to date, with a UI", "dim"))
    screen.line()
    if shown.kept:
        kept = home_path(shown.home)
        screen.line((f"  The demo's lake is in {kept}: brain --home {kept} stats --by hour", "dim"))
    else:
        screen.line(("  The demo's lake is gone again; `brain demo --keep DIR` leaves it to you.", "dim"))
    screen.line((f"  {shown.seconds:.0f} s. Nothing left this machine.", "dim"))
