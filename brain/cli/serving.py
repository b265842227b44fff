"""`brain serve`, `brain keys`: the lake over HTTP, and who may come in."""

from typing import Annotated

import typer

from brain.cli.clients import Sets, chosen
from brain.cli.state import State, group


def register(app: typer.Typer) -> None:
    """Add the commands."""

    @app.command(epilog="Example: brain serve --port 3747")
    def serve(
        ctx: typer.Context,
        host: Annotated[
            str, typer.Option(help="Address to listen on; beyond this machine it needs a key first.")
        ] = "127.0.0.1",
        port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 3747,
        allow_host: Annotated[
            list[str] | None,
            typer.Option(help="Further Host name to answer to; may be repeated.", metavar="NAME"),
        ] = None,
        public_url: Annotated[
            str | None, typer.Option(help="https:// address of a reverse proxy in front.", metavar="URL")
        ] = None,
        tools: Sets = "all",
    ) -> None:
        """Serve MCP over HTTP at /mcp, for clients that hold a key or sign in."""
        state: State = ctx.obj
        from brain.bridge.app import Address
        from brain.bridge.serving import run

        address = Address(host, port, tuple(allow_host or ()), public_url)
        run(
            state.ws,
            address,
            chosen(tools),
            lambda: state.note(f"serving {address.base}/mcp; Ctrl-C stops it"),
        )

    keys = group(app, "keys", "Keys of clients that come over HTTP.")

    @keys.command(epilog="Example: brain keys add laptop --scope write")
    def add(
        ctx: typer.Context,
        name: Annotated[str, typer.Argument(help="Whose key it is, such as phone.", metavar="NAME")],
        scope: Annotated[str, typer.Option(help="read, write or admin.")] = "read",
    ) -> None:
        """Make a key; its secret is shown once and kept nowhere."""
        state: State = ctx.obj
        from brain.services.access import add_key

        made = add_key(state.ws, name, scope)
        answer = {"id": made.key.id, "name": made.key.name, "scope": made.key.scope, "key": made.secret}
        state.show(answer, lambda screen: screen.line(made.secret))
        state.note("this is the only time the key is shown; send it as Authorization: Bearer or x-brain-key")

    @keys.command("list", epilog="Example: brain keys list")
    def list_(ctx: typer.Context) -> None:
        """Keys, without their secrets."""
        state: State = ctx.obj
        from brain.services.access import list_keys

        found = list_keys(state.ws)
        rows = [[k.id, k.name, k.scope, k.created_at, k.revoked_at or ""] for k in found]
        state.show(
            {"keys": found},
            lambda screen: screen.table(["id", "name", "scope", "created", "revoked"], rows),
        )

    @keys.command(epilog="Example: brain keys revoke phone")
    def revoke(
        ctx: typer.Context,
        name: Annotated[str, typer.Argument(help="Name or id of the key.", metavar="NAME")],
    ) -> None:
        """Make a key useless at once, and all sign-ins made with it."""
        state: State = ctx.obj
        from brain.services.access import revoke_key

        key = revoke_key(state.ws, name)
        state.show({"id": key.id, "name": key.name}, lambda screen: screen.line(f"revoked {key.name}"))
