"""The root of `brain`: its options and the order of commands in the help."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from brain.cli import (
    browser,
    clients,
    demo,
    flows,
    imports,
    preferences,
    query,
    retrieval,
    sampling,
    serving,
    slack,
    thoughts,
    upkeep,
)
from brain.cli.state import State

SECTIONS = {
    "Start here": ("demo", "sources", "import"),
    "Ask": ("search", "related", "timeline", "stats", "tabs", "bookmarks", "sql", "schema"),
    "Write down": ("thought", "note", "prefs", "wake-up"),
    "Let clients in": ("mcp", "serve", "keys", "extension"),
    "Look after it": ("status", "doctor", "imports", "index", "drain", "model", "flows"),
    "Try it out": ("sample", "eval"),
}


class Sections(TyperGroup):
    """Lists commands by what they are for. Plain text: rich help would take longer to load than all of Typer."""

    def list_commands(self, ctx: Any) -> list[str]:
        listed = [name for names in SECTIONS.values() for name in names if name in self.commands]
        return listed + [name for name in self.commands if name not in listed]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        left = self.list_commands(ctx)
        for title, names in [*SECTIONS.items(), ("More", tuple(left))]:
            here = [name for name in left if name in names]
            left = [name for name in left if name not in names]
            if here:
                wide = max(map(len, self.commands))  # one width for all sections
                with formatter.section(title):
                    formatter.write_dl(
                        [(f"{n:<{wide}}", self.commands[n].get_short_help_str(limit=200)) for n in here]
                    )


app = typer.Typer(
    cls=Sections,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog='Example: brain search "the article about sourdough hydration"',
)


def _version(asked: bool) -> None:
    if asked:
        from brain import __version__

        sys.stdout.write(f"brain {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    home: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the lake; default $BRAIN_HOME, else the user's data folder.", metavar="DIR"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Everything you read and write down, searchable on your own machine.

    --home, --json and --debug may stand before or after the command.
    """
    ctx.obj = State(home, as_json, debug)


for part in (
    demo,
    imports,
    retrieval,
    query,
    thoughts,
    preferences,
    clients,
    serving,
    browser,
    slack,
    upkeep,
    flows,
    sampling,
):
    part.register(app)
