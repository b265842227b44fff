"""Asking the lake: `brain search`, `brain related`, `brain timeline`, `brain stats`."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from brain.cli.state import State

if TYPE_CHECKING:
    from brain.render import Screen
    from brain.services.stats import Stats
    from brain.services.timeline import Timeline

Mode = Literal["hybrid", "keyword", "semantic"]
Grouping = Literal["day", "hour", "domain", "source"]
Since = Annotated[
    str | None, typer.Option(help='From then on: 2026-11-30, "last week", 3d ...', metavar="WHEN")
]
Until = Annotated[str | None, typer.Option(help="Up to then, that day included.", metavar="WHEN")]
Limit = Annotated[int, typer.Option("-n", "--limit", help="How many.", min=1, max=100)]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command("search", epilog='Example: brain search "how long to proof bread" --since 90d -n 5')(search)
    app.command("related", epilog="Example: brain related p0123456789abcdef")(related)
    app.command("timeline", epilog="Example: brain timeline yesterday")(timeline)
    app.command("stats", epilog='Example: brain stats --by domain --since "last month"')(stats)


def search(
    ctx: typer.Context,
    query: Annotated[
        list[str], typer.Argument(help="What you remember of it, in any words.", metavar="QUERY...")
    ],
    kind: Annotated[
        list[str] | None,
        typer.Option(help="page, bookmark, highlight, note, thought, slack_thread or capture; may repeat."),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="chromium, firefox, slack, mcp, cli ...; may repeat.")
    ] = None,
    domain: Annotated[str | None, typer.Option(help="Such as example.org.")] = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 10,
    mode: Annotated[Mode, typer.Option(help="By meaning, by words, or both.")] = "hybrid",
    cursor: Annotated[str | None, typer.Option(help="Go on after an earlier answer.")] = None,
) -> None:
    """Find what you read or wrote, by words and by meaning."""
    from brain.cli.hits import draw_hits
    from brain.services.find import search as find

    state: State = ctx.obj
    text = " ".join(query)
    answer = find(
        state.ws,
        text,
        kinds=tuple(kind or ()),
        sources=tuple(source or ()),
        domain=domain,
        since=since,
        until=until,
        limit=limit,
        mode=mode,
        cursor=cursor,
    )
    state.show(answer, lambda screen: draw_hits(screen, answer, state.ws.settings, text))


def related(
    ctx: typer.Context,
    item_id: Annotated[
        str, typer.Argument(help="Id of a page, note ...: `brain search` shows them.", metavar="ID")
    ],
    limit: Limit = 10,
) -> None:
    """Find what is close in meaning to one item."""
    from brain.cli.hits import draw_hits
    from brain.services.find import related as find

    state: State = ctx.obj
    answer = find(state.ws, item_id, limit=limit)
    state.show(answer, lambda screen: draw_hits(screen, answer, state.ws.settings))


def timeline(
    ctx: typer.Context,
    around: Annotated[
        str | None, typer.Argument(help="An id, an instant or a day; default now.", metavar="[AROUND]")
    ] = None,
    window: Annotated[str, typer.Option(help="How far before and after an id or instant.")] = "30m",
) -> None:
    """Show what was read and written around a moment, in order."""
    from brain.services.timeline import timeline as look

    state: State = ctx.obj
    answer = look(state.ws, around, window)
    state.show(answer, lambda screen: _draw_timeline(screen, answer))


def stats(
    ctx: typer.Context,
    by: Annotated[Grouping, typer.Option(help="What to count by.")] = "day",
    since: Since = None,
    until: Until = None,
    limit: Annotated[int | None, typer.Option("-n", "--limit", help="At most so many rows.", min=1)] = None,
) -> None:
    """Count visits and pages by day, hour, domain or source."""
    from brain.services.stats import browsing_stats

    state: State = ctx.obj
    answer = browsing_stats(state.ws, by, since, until, limit)
    state.show(answer, lambda screen: _draw_stats(screen, answer, by))


def _draw_timeline(screen: "Screen", answer: "Timeline") -> None:
    from brain.cli.hits import draw_coverage
    from brain.cli.moments import local
    from brain.render import Column

    zone = answer.coverage.zone
    if answer.items:
        screen.table(
            [
                Column("when", style="cyan"),
                "kind",
                Column("title", flexible=True),
                Column("url", flexible=True, style="dim"),
                "origin",
                Column("id", style="dim"),
            ],
            [
                [
                    local(i["at"], zone),
                    i["kind"],
                    i["title"] or "",
                    i["url"] or "",
                    i["origin"] or "",
                    i["id"],
                ]
                for i in answer.items
            ],
        )
    else:
        screen.line("Nothing was read or written then.")
    draw_coverage(screen, answer.coverage)


def _draw_stats(screen: "Screen", answer: "Stats", by: str) -> None:
    from brain.cli.hits import draw_coverage
    from brain.render import Column, count

    if answer.rows:
        most = max(1, *(r["visible_visits"] for r in answer.rows))
        bars: list[Column | str] = [Column("", style="cyan")] if screen.is_terminal else []
        screen.table(
            [by, "visits", "visible", "pages", Column("in front", "right"), *bars],
            [
                [
                    r["key"],
                    r["visits"],
                    r["visible_visits"],
                    r["pages"],
                    _hours(r["seconds"]),
                    *["▇" * round(20 * r["visible_visits"] / most) for _ in bars],
                ]
                for r in answer.rows
            ],
        )
    totals: dict[str, Any] = answer.totals
    said = (
        f"{totals['visits']:,} visits, {totals['visible_visits']:,} visible, {count(totals['pages'], 'page')}"
    )
    screen.line((said, "bold"))
    draw_coverage(screen, answer.coverage)


def _hours(seconds: float | None) -> str:
    """Hours and minutes in front of the person; unknown is not zero."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}h {minutes % 60:02d}m" if minutes >= 60 else f"{minutes}m {rest:02d}s"
