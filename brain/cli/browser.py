"""`brain extension`, `brain tabs`, `brain bookmarks`: the browsers that are connected and what is open in them."""

from typing import TYPE_CHECKING, Annotated

import typer

from brain.cli.state import State, group

if TYPE_CHECKING:
    from brain.services.tab_cleanup import Outcome


def register(app: typer.Typer) -> None:
    """Add the commands."""
    extension = group(app, "extension", "The browser extension: where it is, and which browsers are paired.")

    @extension.command(epilog="Example: brain extension path")
    def path(ctx: typer.Context) -> None:
        """Where the extension's folder is, to load it in the browser."""
        state: State = ctx.obj
        from brain.services.extension_files import extension_folder

        folder = extension_folder()
        state.show({"path": str(folder)}, lambda screen: screen.line(str(folder)))

    @extension.command(epilog="Example: brain extension pair")
    def pair(ctx: typer.Context) -> None:
        """Show a code to type into the extension; it is good once, for five minutes."""
        state: State = ctx.obj
        from brain.services.pairing import make_code

        code = make_code(state.ws)
        state.show({"code": code.text, "expires_at": code.expires_at}, lambda screen: screen.line(code.text))
        state.note(
            "type it into the extension's options page while `brain serve` runs; good for five minutes"
        )

    @extension.command("list", epilog="Example: brain extension list")
    def list_(ctx: typer.Context) -> None:
        """Browsers that are paired."""
        state: State = ctx.obj
        from brain.services.access import list_keys

        found = [key for key in list_keys(state.ws) if key.browser is not None]
        rows = [
            [k.id, k.name, k.browser or "", k.profile or "", k.created_at, k.revoked_at or ""] for k in found
        ]
        state.show(
            {"browsers": found},
            lambda screen: screen.table(["id", "name", "browser", "profile", "paired", "revoked"], rows),
        )

    @extension.command(epilog="Example: brain extension revoke chrome")
    def revoke(
        ctx: typer.Context,
        name: Annotated[str, typer.Argument(help="Name or id of the paired browser.", metavar="NAME")],
    ) -> None:
        """Let a browser in no longer; what it told stays."""
        state: State = ctx.obj
        from brain.services.access import revoke_key

        gone = revoke_key(state.ws, name)
        state.show({"id": gone.id, "name": gone.name}, lambda screen: screen.line(f"revoked {gone.name}"))

    tabs = group(app, "tabs", "Tabs that are open now.")

    @tabs.command("list", epilog="Example: brain tabs list")
    def list_tabs(ctx: typer.Context) -> None:
        """Tabs open in every connected browser; where none is, the pages of the last four hours."""
        state: State = ctx.obj
        from brain.services.tabs import HOW_TO_CONNECT, open_tabs

        found = open_tabs(state.ws)
        rows = [
            [
                f"{tab.browser} {tab.profile}".strip(),
                str(tab.tab),
                "*" if tab.active else "",
                tab.title or "",
                tab.url,
            ]
            for tab in found.tabs
        ] or [["", "", "", page.title or "", page.url] for page in found.recent]
        state.show(found, lambda screen: screen.table(["browser", "tab", "", "title", "url"], rows))
        if not found.live:
            state.note(HOW_TO_CONNECT)

    _register_tidying(tabs)

    bookmarks = group(app, "bookmarks", "Bookmarks of all browsers and exports.")

    @bookmarks.command("list", epilog="Example: brain bookmarks list travel -n 5")
    def list_bookmarks(
        ctx: typer.Context,
        words: Annotated[
            list[str] | None, typer.Argument(help="Words of title, URL, folder or tags.")
        ] = None,
        folder: Annotated[str | None, typer.Option(help="Name of a folder.")] = None,
        domain: Annotated[str | None, typer.Option(help="Only this domain.")] = None,
        since: Annotated[str | None, typer.Option(help="Start of the interval.")] = None,
        until: Annotated[str | None, typer.Option(help="End of the interval.")] = None,
        number: Annotated[int, typer.Option("-n", "--limit", min=1, max=200, help="How many.")] = 20,
    ) -> None:
        """Bookmarked pages, newest first."""
        state: State = ctx.obj
        from brain.intervals import iso
        from brain.services.bookmarks import list_bookmarks as find

        said = " ".join(words or [])
        found = find(
            state.ws, words=said, folder=folder, domain=domain, since=since, until=until, limit=number
        )
        rows = [
            [(iso(one.added_at) or "")[:10], one.title or "", " / ".join(one.folder), one.url]
            for one in found.bookmarks
        ]
        state.show(found, lambda screen: screen.table(["added", "title", "folder", "url"], rows))

    @bookmarks.command(
        "add", epilog='Example: brain bookmarks add https://example.org/ "An example" --folder Travel'
    )
    def add_bookmark(
        ctx: typer.Context,
        url: Annotated[str, typer.Argument(help="The page.")],
        title: Annotated[str, typer.Argument(help="What to call it.")],
        folder: Annotated[str | None, typer.Option(help="A path such as Travel/Japan.")] = None,
    ) -> None:
        """Keep a page as a bookmark."""
        state: State = ctx.obj
        from brain.services.bookmarks import save_bookmark

        made = save_bookmark(state.ws, url, title, folder=folder)
        state.show({"status": "saved", "id": made}, lambda screen: screen.line(f"saved {made}"))


def _register_tidying(tabs: typer.Typer) -> None:
    @tabs.command(epilog="Example: brain tabs cleanup")
    def cleanup(ctx: typer.Context) -> None:
        """Say of every open tab whether to keep, archive, read later or close it, and why; changes nothing."""
        state: State = ctx.obj
        from brain.services.tab_cleanup import suggest

        plan = suggest(state.ws)
        rows = [[tab.action, tab.title or tab.url, tab.reason, str(tab.tab)] for tab in plan.tabs]
        state.show(plan, lambda screen: screen.table(["", "title", "reason", "tab"], rows))
        state.note(f"brain tabs apply {plan.plan_id}   closes what is marked Close and Archive")

    @tabs.command(epilog="Example: brain tabs apply plan-0123456789ab")
    def apply(
        ctx: typer.Context,
        plan: Annotated[str, typer.Argument(help="From `brain tabs cleanup`.", metavar="PLAN")],
        tab: Annotated[list[int] | None, typer.Option(help="Only these tabs of the plan.")] = None,
    ) -> None:
        """Close the tabs of a plan in the browser; archived ones once their text is kept."""
        state: State = ctx.obj
        from brain.services.tab_cleanup import apply as carry_out

        _show_outcome(state, carry_out(state.ws, plan, tab or None))
        state.note(f"brain tabs undo {plan}   opens them again")

    @tabs.command(epilog="Example: brain tabs undo plan-0123456789ab")
    def undo(
        ctx: typer.Context,
        plan: Annotated[str, typer.Argument(help="A plan that was applied.", metavar="PLAN")],
    ) -> None:
        """Open again what a plan closed, in its windows and groups."""
        state: State = ctx.obj
        from brain.services.tab_cleanup import undo as take_back

        _show_outcome(state, take_back(state.ws, plan))

    @tabs.command("group", epilog="Example: brain tabs group --yes")
    def group_tabs(
        ctx: typer.Context,
        yes: Annotated[bool, typer.Option("--yes", help="Have the browser make the groups.")] = False,
    ) -> None:
        """Suggest groups for the open tabs by what they are about; with --yes the browser makes them."""
        state: State = ctx.obj
        from brain.services.tab_grouping import apply, suggest

        found = suggest(state.ws)
        rows = [[g.name, g.color, found.titles[tab], str(tab)] for g in found.groups for tab in g.tabs]
        if not yes or not found.groups:
            state.show(found, lambda screen: screen.table(["group", "colour", "title", "tab"], rows))
            return
        told = apply(state.ws, found.groups, whole=False)
        line = f"{told.state}: {len(told.grouped)} groups made, {len(told.failed)} failed"
        state.show(told, lambda screen: screen.line(line))


def _show_outcome(state: State, told: "Outcome") -> None:
    lines = [f"{told.state}: {len(told.closed)} closed, {len(told.opened)} opened, {len(told.kept)} stayed"]
    lines += [f"  tab {one['tab']} stayed: {one['reason']}" for one in told.kept]
    state.show(told, lambda screen: screen.line("\n".join(lines)))
