"""Search results for a person: what it is, how sure, when it was, and why it was found."""

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

from brain.cli.moments import ago, local
from brain.plaintext import clean
from brain.render import Screen, count

if TYPE_CHECKING:
    from rich.text import Text

    from brain.config import Settings
    from brain.models import Hit
    from brain.services.coverage import Coverage

_BAR = 8
_ENDING = re.compile(r"(?:ings?|ed|es|s|ly)$")


def draw_hits(screen: Screen, answer: Any, settings: "Settings", query: str = "") -> None:
    """All results, best first, then what the answer rests on."""
    if not answer.results:
        screen.line(f'Nothing found for "{clean(query)}".' if query else "Nothing found.")
    for rank, hit in enumerate(answer.results, 1):
        draw_hit(screen, rank, hit, settings, query)
        screen.line()
    draw_coverage(screen, answer.coverage, settings.now())
    if answer.cursor:
        screen.line((f"More: add --cursor {answer.cursor}", "dim"))


def draw_hit(screen: Screen, rank: int, hit: "Hit", settings: "Settings", query: str = "") -> None:
    """One result; the words of `query` stand out in it."""
    if screen.is_terminal:
        _draw(screen, rank, hit, settings.now(), settings.timezone, query)
    else:
        _write(screen, rank, hit, settings.timezone)


def draw_coverage(screen: Screen, coverage: "Coverage", now: datetime | None = None) -> None:
    """Interval and zone, the sources with their newest data, and what is not as it should be."""
    zone = coverage.zone
    since, until = coverage.interval["since"], coverage.interval["until"]
    parts = []
    if since or until:
        start, end = (local(m, zone) if m else None for m in (since, until))
        parts.append(
            f"from {start} to {end}" if start and end else f"since {start}" if start else f"until {end}"
        )
        parts[-1] += f" {zone}"
    sources = [
        f"{clean(s['source'])} ({s['rows']:,}"
        + (
            f", newest {ago(s['newest'], now, zone) if now else local(s['newest'], zone)})"
            if s["newest"]
            else ")"
        )
        for s in coverage.sources
    ]
    parts.append(", ".join(sources) or "the lake is empty; `brain import --auto` fills it")
    screen.line(("; ".join(parts), "dim"))
    for reason in coverage.degraded:
        screen.line((f"note: {clean(reason)}", "yellow"))
    if coverage.pending:
        text = f"note: {count(coverage.pending, 'document')} not fully indexed; `brain index` finishes"
        screen.line((text, "yellow"))


def _facts(hit: "Hit", when: str | None) -> list[str]:
    visits = count(hit.visit_count, "visit") if hit.visit_count else None
    found = {"keyword": "by words", "semantic": "by meaning", "both": "by both"}.get(hit.match)
    kind = None if hit.kind == "page" else hit.kind.replace("_", " ")
    return [clean(fact) for fact in (kind, when, visits, found, hit.origin) if fact]


def _write(screen: Screen, rank: int, hit: "Hit", zone: str) -> None:
    """One result as plain lines, nothing cut."""
    when = local(hit.last_visited, zone) if hit.last_visited else None
    screen.line(f"{rank}. {clean(hit.title or hit.url or hit.id)}")
    if hit.url:
        screen.line(f"   {clean(hit.url)}")
    screen.line("   " + "; ".join([f"relevance {hit.relevance:.2f}", *_facts(hit, when), clean(hit.id)]))
    if hit.snippet and clean(hit.snippet) != clean(hit.title or ""):
        screen.line(f"   {clean(hit.snippet)}")


def _draw(screen: Screen, rank: int, hit: "Hit", now: datetime, zone: str, query: str) -> None:
    from rich.padding import Padding
    from rich.style import Style
    from rich.table import Table
    from rich.text import Text

    title = Text(clean(hit.title or hit.url or hit.id), style="bold", no_wrap=True, overflow="ellipsis")
    url = clean(hit.url or "")
    if url.startswith(("http://", "https://")) and " " not in url:
        title.stylize(Style(link=url))
    full = round(hit.relevance * _BAR)
    meter = Text("━" * full, style="green") + Text("━" * (_BAR - full), style="bright_black")
    head = Table.grid(padding=(0, 1), expand=True)
    head.add_column(width=3, justify="right", no_wrap=True)
    head.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    head.add_column(no_wrap=True)
    head.add_column(no_wrap=True, justify="right")
    head.add_row(Text(str(rank), style="dim"), title, meter, Text(f"{hit.relevance:.2f}", style="dim"))
    screen.draw(head)
    when = ago(hit.last_visited, now, zone) if hit.last_visited else None
    host = re.sub(r"^https?://(?:www\.)?([^/?#]+).*", r"\1", url)
    facts = Text(" · ").join(
        [
            Text(f, style="cyan" if i == 0 and host else "dim")
            for i, f in enumerate([*filter(None, [host]), *_facts(hit, when), clean(hit.id)])
        ]
    )
    screen.draw(Padding(facts, (0, 0, 0, 4)))
    if hit.snippet and clean(hit.snippet) != clean(hit.title or ""):
        screen.draw(Padding(highlight(clean(hit.snippet), query), (0, 0, 0, 4)))


def highlight(text: str, query: str) -> "Text":
    """`text` with the words of `query` made to stand out, in whatever inflection."""
    from rich.text import Text

    shown = Text(text)
    if pattern := _pattern(query):
        for match in pattern.finditer(text):
            shown.stylize("bold yellow", *match.span())
    return shown


def _pattern(query: str) -> re.Pattern[str] | None:
    words = re.findall(r"\w+", query)
    telling = [w for w in words if len(w) > 3 or not w.isascii() or w.isdigit()]
    parts = []
    for word in telling or words:
        stem = _ENDING.sub("", word) if len(word) > 4 else word
        parts.append(rf"\b{re.escape(stem)}\w*" if word.isascii() else re.escape(word))
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None
