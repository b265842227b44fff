"""SQL over the lake: `brain sql`, `brain schema`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from brain.cli.state import State

if TYPE_CHECKING:
    from brain.render import Screen
    from brain.services.query import ViewInfo

Format = Literal["table", "json", "csv", "parquet"]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command(
        "sql",
        epilog='Example: brain sql "SELECT domain, count(*) AS n FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 5"',
    )(sql)
    app.command("schema", epilog="Example: brain schema visits")(schema)


def sql(
    ctx: typer.Context,
    statement: Annotated[str, typer.Argument(help="One SELECT; - reads it from stdin.", metavar="SELECT")],
    format_: Annotated[
        Format | None, typer.Option("--format", help="Default table, or what the name of the file says.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write to a file instead.", metavar="FILE")
    ] = None,
    rows: Annotated[int, typer.Option(help="At most so many rows.", min=1, max=10_000_000)] = 10_000,
) -> None:
    """Run one SELECT over the lake's views; `brain schema` lists them.

    It reads a snapshot of the lake: no writes, no files, no network.
    """
    from brain.cli.frames import write
    from brain.services.query import query

    state: State = ctx.obj
    chosen = format_ or _format_of(output, state.as_json)
    text = sys.stdin.read() if statement == "-" else statement
    result = query(state.ws, text, max_rows=rows)
    write(result.frame, chosen, output, state.screen)
    if output:
        state.note(f"{result.frame.height:,} rows to {output}")
    if result.truncated:
        sys.stderr.write(f"only the first {result.frame.height} rows are shown; --rows N shows more\n")


def schema(
    ctx: typer.Context,
    view: Annotated[str | None, typer.Argument(help="One view, with its columns.", metavar="[VIEW]")] = None,
) -> None:
    """Show the views for SQL, or one view's columns.

    Types and meanings included; instants are UTC, durations microseconds.
    """
    from brain.services.query import describe

    state: State = ctx.obj
    views = describe(state.ws, view)
    answer = {
        "views": [
            {
                "name": v.name,
                "about": v.about,
                "columns": [{"name": n, "type": t, "meaning": m} for n, t, m in v.columns],
            }
            for v in views
        ]
    }
    state.show(answer, lambda screen: _draw(screen, views, whole=view is not None))


def _format_of(output: Path | None, as_json: bool) -> Format:
    endings: dict[str, Format] = {".json": "json", ".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}
    if output and output.suffix.lower() in endings:
        return endings[output.suffix.lower()]
    return "json" if as_json else "table"


def _draw(screen: "Screen", views: "list[ViewInfo]", whole: bool) -> None:
    from brain.render import Column

    if not whole:
        screen.table(
            ["view", Column("what it holds", flexible=True), Column("columns", "right")],
            [[v.name, v.about, len(v.columns)] for v in views],
        )
        return
    for v in views:
        screen.line((v.name, "bold"), f": {v.about}")
        if screen.is_terminal:
            _draw_wrapped(screen, v)
        else:
            screen.table(["column", "type", "meaning"], v.columns)


def _draw_wrapped(screen: "Screen", view: "ViewInfo") -> None:
    """Columns with their meanings in full, however narrow the terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    for name, kind, meaning in view.columns:
        table.add_row(
            Text(name, style="cyan"), Text(kind.replace(" WITH TIME ZONE", "TZ"), style="dim"), meaning
        )
    screen.draw(table)
