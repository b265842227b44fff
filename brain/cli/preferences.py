"""`brain prefs`: what one wants and rejects."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brain.cli.state import State, group
from brain.cli.thoughts import CLIENT

if TYPE_CHECKING:
    from brain.render import Screen

Kind = Annotated[
    str,
    typer.Option(
        "--type", help="domain rule, quality standard, business logic or formatting.", metavar="TYPE"
    ),
]
Reason = Annotated[str | None, typer.Option(help="Why, for the record.")]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    prefs = group(app, "prefs", "Preferences: what you want and reject, looked up word for word.")
    prefs.command("list", epilog="Example: brain prefs list --domain writing")(list_)
    prefs.command(
        "set", epilog='Example: brain prefs set tone --domain writing --want "plain words" --reject jargon'
    )(set_)
    prefs.command("remove", epilog="Example: brain prefs remove r0123456789abcdef")(remove)
    prefs.command("export", epilog="Example: brain prefs export")(export)
    prefs.command("import", epilog="Example: brain prefs import preferences.json --dry-run")(import_)


def list_(
    ctx: typer.Context,
    domain: Annotated[str | None, typer.Option(help="This domain, and general.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Only this type.", metavar="TYPE")] = None,
) -> None:
    """The registry, as text ready for a context."""
    from brain.services.preferences import get_preferences

    state: State = ctx.obj
    found = get_preferences(state.ws, domain, kind)

    def draw(screen: "Screen") -> None:
        rows = [
            [p.id, p.domain, p.name, p.want or "", p.reject or "", p.constraint_type]
            for p in found.preferences
        ]
        if rows:
            screen.table(["id", "domain", "name", "want", "reject", "type"], rows)
        else:
            screen.line("No preferences are set.")

    state.show(found, draw)


def set_(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Short, unique in its domain.", metavar="NAME")],
    domain: Annotated[str, typer.Option(help="What it is about.")] = "general",
    want: Annotated[str | None, typer.Option(help="What you want.")] = None,
    reject: Annotated[str | None, typer.Option(help="What you do not want.")] = None,
    kind: Kind = "domain rule",
    reason: Reason = None,
) -> None:
    """Make a preference, or change the one of that name in that domain."""
    from brain.services.preferences import set_preference

    state: State = ctx.obj
    made = set_preference(
        state.ws,
        name,
        domain=domain,
        want=want,
        reject=reject,
        constraint_type=kind,
        reason=reason,
        client=CLIENT,
    )
    state.show(
        made, lambda screen: screen.line(f"{made.domain} / {made.name}, version {made.version} [{made.id}]")
    )


def remove(
    ctx: typer.Context,
    preference_id: Annotated[str, typer.Argument(help="`brain prefs list` shows ids.", metavar="ID")],
    reason: Reason = None,
) -> None:
    """Take a preference out; its history stays in the audit."""
    from brain.services.preferences import remove_preference

    state: State = ctx.obj
    removed = remove_preference(state.ws, preference_id, reason=reason, client=CLIENT)
    state.show({"id": removed}, lambda screen: screen.line(f"removed {removed}"))


def export(ctx: typer.Context) -> None:
    """The registry as JSON, for `brain prefs import`."""
    from brain.services.preferences import export_preferences

    state: State = ctx.obj
    sys.stdout.write(export_preferences(state.ws) + "\n")


def import_(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="JSON of preferences.", metavar="FILE")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen; change nothing.")
    ] = False,
) -> None:
    """Take preferences the registry lacks; those it has are kept as they are."""
    from brain.errors import UsageError
    from brain.services.preferences import import_preferences

    state: State = ctx.obj
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file} cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}"
        ) from error
    taken = import_preferences(state.ws, text, dry_run=dry_run, client=CLIENT)

    def draw(screen: "Screen") -> None:
        for label, names in (
            ("would add" if dry_run else "added", taken.new),
            ("kept", taken.kept),
            ("refused", taken.refused),
        ):
            for name in names:
                screen.line(f"{label}  {name}")
        if not (taken.new or taken.kept or taken.refused):
            screen.line("It holds no preferences.")

    state.show(taken, draw)
