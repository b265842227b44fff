"""`brain slack`: exports in, threads out."""

import signal
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from brain.cli.imports import import_
from brain.cli.state import State, group

if TYPE_CHECKING:
    from brain.render import Screen


def register(app: typer.Typer) -> None:
    """Add the commands."""
    slack = group(app, "slack", "Slack: its export, its API, and what was said in it.")

    @slack.command("import", epilog="Example: brain slack import ~/Downloads/slack-export.zip")
    def import_export(
        ctx: typer.Context,
        path: Annotated[Path, typer.Argument(help="The export, as a zip or a folder.", metavar="PATH")],
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and count; write nothing.")] = False,
    ) -> None:
        """Import an export, Slack's own or slackdump's, and index it; the same as `brain import`."""
        import_(ctx, [path], dry_run=dry_run)

    @slack.command(epilog="Example: brain slack sync --channel general")
    def sync(
        ctx: typer.Context,
        channel: Annotated[list[str] | None, typer.Option(help="Only this channel; may be repeated.")] = None,
    ) -> None:
        """Bring what is new, changed or deleted in Slack since the last time, then index it.

        The token stands in $BRAIN_SLACK_TOKEN or in keys/slack_token of the home. Nothing else is asked of the network.
        """
        state: State = ctx.obj
        from brain.services.index_documents import index_documents
        from brain.services.slack_sync import sync as bring

        with state.progress() as progress:
            report = bring(state.ws, channels=tuple(channel or ()), progress=progress)
            index_documents(state.ws, progress=progress)
        counts = f"{report.new} new, {report.updated} changed, {report.deleted} deleted messages"
        if report.captured:
            counts += f", {report.captured} thoughts"
        line = f"{report.channels} channels: {counts}"
        state.show(report, lambda screen: screen.line("\n".join([line, *report.problems])))
        if report.problems:
            raise typer.Exit(3)

    @slack.command(epilog="Example: brain slack listen")
    def listen(ctx: typer.Context) -> None:
        """Take what is said in Slack as it is said, by Socket Mode, until Ctrl-C.

        Channels named in `slack_capture` of config.toml are captured as thoughts and answered in their thread, others
        kept as messages. The tokens stand in $BRAIN_SLACK_TOKEN and $BRAIN_SLACK_APP_TOKEN or in keys/ of the home.
        """
        state: State = ctx.obj
        from brain.bridge.background import Background
        from brain.services.slack_live import listen as run

        stop = Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        background = Background(state.ws)
        background.start()
        try:
            names = ", ".join(map(str, state.ws.settings.slack_capture)) or "no channel"
            kept = run(state.ws, stop, lambda: state.note(f"listening; {names} captured; Ctrl-C stops it"))
        finally:
            background.stop()
        state.note(f"{kept} messages kept")

    @slack.command(epilog="Example: brain slack status")
    def status(ctx: typer.Context) -> None:
        """What is set up, what came of each channel, and which preferences are proposed."""
        state: State = ctx.obj
        from brain.intervals import iso
        from brain.services.slack_status import slack_status

        found = slack_status(state.ws)

        def draw(screen: "Screen") -> None:
            have = [name for name, is_there in found.secrets.items() if is_there]
            screen.line(
                f"in keys/: {', '.join(have) or 'nothing'}; captured: {', '.join(found.capture) or 'no channel'}"
            )
            if not found.channels:
                screen.line(
                    "Nothing of Slack is here; `brain slack import PATH` or `brain slack sync` brings it."
                )
                return
            rows = [
                [
                    channel.name,
                    f"{channel.messages:,}",
                    f"{channel.thoughts:,}",
                    *(
                        (iso(at) or "")[:16].replace("T", " ")
                        for at in (channel.newest, channel.synced_through)
                    ),
                ]
                for channel in found.channels
            ]
            screen.table(["channel", "messages", "thoughts", "newest", "synced through"], rows)
            for proposal in found.proposals:
                screen.line(f"{proposal.author} proposes: {proposal.text}\n  {proposal.command}")

        state.show(found, draw)

    @slack.command(epilog='Example: brain slack threads "release date" --channel general')
    def threads(
        ctx: typer.Context,
        query: Annotated[str | None, typer.Argument(help="Words; found by meaning too.")] = None,
        channel: Annotated[str | None, typer.Option(help="Only this channel.")] = None,
        person: Annotated[str | None, typer.Option(help="Only where someone of this name wrote.")] = None,
        since: Annotated[str | None, typer.Option(help="Start of the interval.")] = None,
        until: Annotated[str | None, typer.Option(help="End of the interval.")] = None,
        number: Annotated[int, typer.Option("-n", "--limit", min=1, max=100, help="How many.")] = 20,
    ) -> None:
        """Threads with who took part, and how many of the pages linked in them you have opened."""
        state: State = ctx.obj
        from brain.intervals import iso
        from brain.services.slack_threads import list_threads

        found = list_threads(
            state.ws, query, channel=channel, person=person, since=since, until=until, limit=number
        )
        rows = [
            [
                (iso(thread.last_at) or "")[:16].replace("T", " "),
                thread.channel or "",
                thread.title or "",
                ", ".join(thread.people[:4]) + (" ..." if len(thread.people) > 4 else ""),
                str(thread.replies),
                f"{sum(link.is_opened for link in thread.links)}/{len(thread.links)}" if thread.links else "",
                thread.id,
            ]
            for thread in found.threads
        ]
        state.show(
            found,
            lambda screen: screen.table(
                ["last", "channel", "thread", "people", "replies", "opened", "id"], rows
            ),
        )
