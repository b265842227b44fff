"""`brain mcp`: the lake for AI clients on this machine."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brain.cli.state import State

if TYPE_CHECKING:
    from brain.mcp_server.server import BrainServer
    from brain.render import Screen

Sets = Annotated[
    str, typer.Option(help="Tool sets: browser, memory, analytics or all, with commas.", metavar="SETS")
]


def chosen(tools: str) -> list[str]:
    """The tool sets named."""
    return [part.strip() for part in tools.split(",") if part.strip()]


def register(app: typer.Typer) -> None:
    """Add the commands."""

    mcp = typer.Typer(name="mcp", help="Serve AI clients on stdin and stdout.", rich_markup_mode=None)
    app.add_typer(mcp)

    @mcp.callback(invoke_without_command=True, epilog="Example: brain mcp --tools memory,analytics")
    def serve_stdio(ctx: typer.Context, tools: Sets = "all") -> None:
        """Serve AI clients on stdin and stdout (Model Context Protocol). Clients start it; you need not."""
        if ctx.invoked_subcommand:
            return
        state: State = ctx.obj
        from brain.mcp_server import stdio

        def build() -> "BrainServer":
            from brain.mcp_server import server

            return server.build(state.ws, chosen(tools))

        def warm_up() -> None:
            from brain.mcp_server import server

            server.warm_up(state.ws)

        stdio.serve(build, warm_up)

    @mcp.command(epilog="Example: brain mcp install --client claude-desktop")
    def install(
        ctx: typer.Context,
        client: Annotated[
            str, typer.Option(help="claude-desktop, claude-code, cursor, vscode or codex.", metavar="CLIENT")
        ],
        hooks: Annotated[
            bool,
            typer.Option("--hooks", help="Recall when a session begins, note when it ends (claude-code)."),
        ] = False,
        tools: Sets = "all",
    ) -> None:
        """Tell a client on this machine about the lake, in its own settings; a copy of the old file is kept."""
        state: State = ctx.obj
        from brain.services.register_client import register_client

        done = register_client(state.ws, client, hooks=hooks, tools=tools)

        def draw(screen: "Screen") -> None:
            for file in done:
                kept = f"; the old file is {file.backup}" if file.backup else ""
                screen.line(f"{file.status}: {file.path}{kept}")

        state.show({"files": done}, draw)
        if any(file.status != "unchanged" for file in done):
            state.note(f"restart {client} to let it see the lake")

    @mcp.command(epilog="Example: brain mcp bundle -o brainlake.mcpb")
    def bundle(
        ctx: typer.Context,
        out: Annotated[Path, typer.Option("-o", "--out", help="File to write.", metavar="FILE")] = Path(
            "brainlake.mcpb"
        ),
    ) -> None:
        """Write a bundle that desktop clients install with a click; it names this lake's folder."""
        state: State = ctx.obj
        from brain.mcp_server import server
        from brain.services.client_bundle import build_bundle

        made = build_bundle(state.ws, out, server.catalogue(state.ws))
        state.show(
            made, lambda screen: screen.line(f"wrote {made.path} ({made.files} files, {made.bytes:,} bytes)")
        )

    mcp.command("hook", epilog="Example: brain mcp hook session-start", hidden=True)(hook)


def hook(
    ctx: typer.Context,
    event: Annotated[str, typer.Argument(help="session-start or session-end.", metavar="EVENT")],
) -> None:
    """What `brain mcp install --hooks` has a client call when a session begins and ends."""
    from brain.errors import UsageError
    from brain.services import session_hooks

    state: State = ctx.obj
    if event == "session-start":
        text = session_hooks.session_start(state.ws)
        state.show({"text": text}, lambda screen: screen.lines(text))
    elif event == "session-end":
        made = session_hooks.session_end(state.ws, sys.stdin.read())
        state.show(made, lambda screen: screen.line(made.said if made else "Nothing to keep."))
    else:
        raise UsageError(f"unknown event {event!r}; session-start or session-end")
