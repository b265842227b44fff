"""The flows by hand, and on their schedules: `brain flows`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brain.cli.state import State, group

if TYPE_CHECKING:
    from brain.render import Screen
    from pipelines.records import RunReport

_STYLES = {"completed": "green", "completed with problems": "yellow", "running": "cyan"}


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    flows = group(app, "flows", "Run the flows now, or keep them running on their schedules.")
    flows.command("list", epilog="Example: brain flows list")(list_)
    flows.command("run", epilog="Example: brain flows run import --path ~/Downloads/History")(run)
    flows.command("serve", epilog="Example: brain flows serve --port 4200")(serve)


def list_(ctx: typer.Context) -> None:
    """Show the flows: what they do, when they run by themselves, how the last run went."""
    from brain.render import Column
    from pipelines.catalog import CATALOG
    from pipelines.records import last_run

    state: State = ctx.obj
    home, zone = state.ws.home, state.ws.settings.timezone
    found = [(info, last_run(home, info.name)) for info in CATALOG]

    def draw(screen: "Screen") -> None:
        screen.table(
            ["name", Column("what", flexible=True), "schedule", "last run (UTC)", "result"],
            [
                [
                    info.name,
                    info.what,
                    info.schedule,
                    last.started_at[:16].replace("T", " ") if last else "never",
                    last.state if last else "",
                ]
                for info, last in found
            ],
        )
        screen.line((f"Schedules are in {zone} and hold while `brain flows serve` runs.", "dim"))

    answer = [
        {
            "name": info.name,
            "what": info.what,
            "schedule": info.schedule,
            "cron": info.cron,
            "zone": zone,
            "last_run": last.as_dict() if last else None,
        }
        for info, last in found
    ]
    state.show({"flows": answer}, draw)


def run(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="One that `brain flows list` shows.", metavar="NAME")],
    path: Annotated[
        list[Path] | None,
        typer.Option(
            help="File or folder to import, repeatable; default this machine's browsers.", metavar="PATH"
        ),
    ] = None,
) -> None:
    """Run one flow now, offline, with its retries and its report."""
    from brain.errors import UsageError
    from pipelines import catalog, runtime

    state: State = ctx.obj
    info = catalog.find(name)
    if path and not info.takes_paths:
        raise UsageError(f"the flow {name} imports nothing, so it takes no --path")
    if info.name == "import-slack" and not path:
        raise UsageError("name the export with --path")
    with state.progress() as progress, runtime.running(state.ws) as prefect:
        progress("starting Prefect", 0, None)
        report = prefect.run(info.name, path, progress)
    state.show(report.as_dict(), lambda screen: draw_report(screen, report))
    if report.problems:
        raise typer.Exit(3)


def serve(
    ctx: typer.Context,
    host: Annotated[str, typer.Option(help="Address of this machine to bind.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the UI.", min=1, max=65_535)] = 4200,
) -> None:
    """Run the flows on their schedules and serve Prefect's UI, until Ctrl-C."""
    from pipelines import serving

    state: State = ctx.obj

    def ready(url: str) -> None:
        state.note(
            f"Flows run on their schedules ({state.ws.settings.timezone}); UI at {url}. Ctrl-C stops both."
        )

    state.note("Starting Prefect ...")
    serving.serve(state.ws, host, port, ready)
    state.note("Stopped.")


def draw_report(screen: "Screen", report: "RunReport") -> None:
    """A run in one line, then what did not work."""
    from brain.plaintext import clean

    counts = ", ".join(f"{number:,} {what.replace('_', ' ')}" for what, number in report.counts.items())
    screen.line(
        (f"{report.flow}  ", "bold"),
        (report.state, _STYLES.get(report.state, "red")),
        f"  {counts or 'nothing to do'} in {report.seconds:.1f} s",
    )
    for problem in report.problems:
        screen.line(("  - ", "yellow"), clean(problem))
