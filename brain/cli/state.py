"""What every command gets: the lake, the screen, and the ways to answer."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from brain.progress import Progress

if TYPE_CHECKING:
    from brain.render import Screen
    from brain.workspace import Workspace


class State:
    """What the root's options mean for one run; every command finds it as `ctx.obj`."""

    def __init__(self, home: Path | None, as_json: bool, debug: bool) -> None:
        self.home = home
        self.as_json = as_json
        self.debug = debug

    @cached_property
    def ws(self) -> "Workspace":
        """The workspace, opened when first needed. Raises UsageError for a broken configuration."""
        from brain.workspace import open_workspace

        return open_workspace(self.home)

    @cached_property
    def screen(self) -> "Screen":
        """Where human output goes."""
        from brain.render import Screen

        return Screen()

    def show(self, answer: Any, draw: Callable[["Screen"], None]) -> None:
        """Print the answer once: as one JSON document with `--json`, else drawn for a person."""
        if self.as_json:
            from brain.render import to_json

            sys.stdout.write(to_json(answer) + "\n")
        else:
            draw(self.screen)

    def note(self, text: str) -> None:
        """A remark beside the answer, on stderr; left out with `--json`."""
        if not self.as_json:
            from brain.plaintext import clean

            sys.stderr.write(clean(text) + "\n")

    def progress(self) -> AbstractContextManager[Progress]:
        """A bar on stderr for a person who watches; silent in a pipe and with `--json`."""
        from brain.cli.progress import bar

        return bar(sys.stderr.isatty() and not self.as_json)


def group(app: typer.Typer, name: str, about: str) -> typer.Typer:
    """A command with subcommands, such as `brain model`, looking like the root."""
    made = typer.Typer(name=name, help=about, rich_markup_mode=None, no_args_is_help=True)
    app.add_typer(made)
    return made
