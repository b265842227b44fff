"""Bringing data in: `brain sources`, `brain import`, `brain imports`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brain.cli.state import State

if TYPE_CHECKING:
    from brain.render import Screen
    from brain.services.import_files import ImportOutcome, ImportReport

_STYLES = {"imported": "green", "unchanged": "dim", "empty": "yellow", "partial": "yellow", "failed": "red"}
# JSON keeps the plain words: there, `id` is null and nothing else differs.
_WOULD = {"imported": "would import", "partial": "would import in part"}


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command("sources", epilog="Example: brain sources")(sources)
    app.command("import", epilog="Example: brain import ~/Downloads/History --browser brave")(import_)
    app.command("imports", epilog="Example: brain imports 1")(imports)


def sources(ctx: typer.Context) -> None:
    """Show the histories on this machine that can be imported."""
    from brain import discovery
    from brain.render import Column, home_path, size

    state: State = ctx.obj
    found = discovery.discover()

    def draw(screen: "Screen") -> None:
        if not found:
            screen.line("No browser history was found here; `brain import FILE` takes a file from anywhere.")
            return
        columns: list[Column | str] = [
            "browser",
            "profile",
            "kind",
            Column("size", "right"),
            "readable",
            Column("path", flexible=True),
        ]
        screen.table(
            columns,
            [
                [s.browser, s.profile, s.kind, size(s.bytes or 0), s.readable, home_path(s.path)]
                for s in found
            ],
        )
        for source in found:
            if not source.readable:
                screen.line((f"{source.browser} {source.profile or ''}: {source.reason}", "yellow"))

    state.show({"sources": found}, draw)


def import_(
    ctx: typer.Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files, folders, .zip or .tgz archives.", metavar="[PATH]...")
    ] = None,
    auto: Annotated[bool, typer.Option("--auto", help="Everything `brain sources` can read.")] = False,
    browser: Annotated[
        str | None, typer.Option(help="Which browser the files are of.", metavar="NAME")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Which profile.", metavar="NAME")] = None,
    device: Annotated[str | None, typer.Option(help="Which machine they come from.", metavar="NAME")] = None,
    since: Annotated[str | None, typer.Option(help="Leave out what is older.", metavar="WHEN")] = None,
    honour_deletes: Annotated[
        bool,
        typer.Option(
            "--honour-deletes",
            help="Take out what the browser deleted: visits of its last 90 days, bookmarks.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and count; write nothing.")] = False,
    no_index: Annotated[bool, typer.Option("--no-index", help="Leave indexing to `brain index`.")] = False,
) -> None:
    """Import browser histories and bookmarks, then index what is new.

    Files may be in use by the browser. Of a folder or an archive, such as a profile or a Takeout, every file that
    can be imported is taken. Importing a file again adds only what is new in it.
    """
    from brain import intervals
    from brain.errors import BrainError
    from brain.services.import_files import ImportOptions, import_files
    from brain.services.index_documents import index_documents

    state: State = ctx.obj
    _refuse_missing(paths or [], auto)
    files, left_out = _readable() if auto else ([], [])
    since_us = intervals.resolve(state.ws.settings, since).since_us
    options = ImportOptions(browser, profile, device, dry_run, since_us, honour_deletes)
    with state.progress() as progress:
        report = import_files(state.ws, [*(paths or []), *files], options, progress)
        indexed, fault = None, None
        try:
            if not (no_index or dry_run):
                indexed = index_documents(state.ws, progress=progress)
        except BrainError as error:  # what was imported is safe, and is told first
            fault = error

    def draw(screen: "Screen") -> None:
        _draw_report(screen, report, dry_run)
        for source in left_out:
            screen.line(("left out   ", "yellow"), f"{source.path}: {source.reason}")
        if indexed:
            from brain.cli.upkeep import draw_index

            draw_index(screen, indexed)

    skipped = [{"path": s.path, "reason": s.reason} for s in left_out]
    state.show(report.as_dict() | ({"left_out": skipped} if auto else {}) | {"index": indexed}, draw)
    if fault:
        raise fault
    _exit_by(report)


def imports(
    ctx: typer.Context,
    import_id: Annotated[
        str | None, typer.Argument(help="One import, with what it left out.", metavar="[ID]")
    ] = None,
) -> None:
    """List past imports, or what one of them could not take."""
    from brain.services import import_log

    state: State = ctx.obj
    if import_id is None:
        records = import_log.list_imports(state.ws)
        state.show({"imports": records}, lambda screen: _draw_log(screen, records))
    else:
        detail = import_log.show_import(state.ws, import_id)
        state.show(
            {"import": detail.record, "rejects": detail.rejects}, lambda screen: _draw_detail(screen, detail)
        )


def _refuse_missing(paths: list[Path], auto: bool) -> None:
    """Say so when nothing is left of what was asked for; a missing path beside others is one line of the report."""
    from brain.errors import SourceError

    missing = [path for path in paths if not os.path.lexists(path)]
    if missing and len(missing) == len(paths) and not auto:
        names = ", ".join(str(path.absolute()) for path in missing)
        raise SourceError(f"{names} {'does' if len(missing) == 1 else 'do'} not exist")


def _readable() -> tuple[list[Path], list[Any]]:
    """The sources of this machine that can be read, and those that cannot."""
    from brain import discovery
    from brain.errors import SourceError

    found = discovery.discover()
    if not any(source.readable for source in found):
        reasons = "; ".join(f"{s.path}: {s.reason}" for s in found) or "none was found"
        raise SourceError(f"no browser history on this machine can be read: {reasons}")
    return [Path(s.path) for s in found if s.readable], [s for s in found if not s.readable]


def _exit_by(report: "ImportReport") -> None:
    states = {outcome.status for outcome in report.imports}
    if states == {"failed"}:
        raise typer.Exit(1)
    if states & {"failed", "empty", "partial"}:
        raise typer.Exit(3)


def _draw_report(screen: "Screen", report: "ImportReport", dry_run: bool) -> None:
    from brain.plaintext import clean
    from brain.render import count, home_path

    words = [(_WOULD if dry_run else {}).get(o.status, o.status) for o in report.imports]
    width = max([9, *map(len, words)])
    for outcome, word in zip(report.imports, words, strict=True):
        whose = "/".join(n for n in (outcome.browser, outcome.profile) if n and n != "unknown")
        screen.line(
            (f"{word:<{width}}  ", _STYLES.get(outcome.status, "")),
            home_path(outcome.path),
            (f"  {clean(whose)}" if whose else "", "cyan"),
            f"  {clean(_said(outcome))}",
        )
    totals = report.totals
    if totals["files"] > 1:
        said = ", ".join(f"{totals[n]:,} {n}" for n in ("seen", "visible", "new", "updated", "rejected"))
        screen.line((f"{count(totals['files'], 'file')}: {said}", "bold"))
    if dry_run:
        screen.line(("Dry run: nothing was written.", "yellow"))


def _said(outcome: "ImportOutcome") -> str:
    """What became of one file, in a few words."""
    from brain.render import count

    if outcome.status == "unchanged":
        return f"nothing new since import {outcome.id}"
    if outcome.status == "failed":
        return outcome.error or "failed"
    if outcome.status == "empty":
        return f"no records: {outcome.error or 'it holds none'}"
    if outcome.source is None:  # an archive itself, of which something could not be had
        return (outcome.error or "") + (f" (brain imports {outcome.id})" if outcome.id else "")
    if outcome.visible or not {"bookmarks", "texts"} & outcome.counts.keys():
        parts = [count(outcome.seen, "visit"), f"{outcome.visible:,} visible", f"{outcome.new:,} new"]
    else:
        what = "bookmark" if "bookmarks" in outcome.counts else "text"
        parts = [count(outcome.seen, what), f"{outcome.new:,} new"]
    if outcome.updated:
        parts.append(f"{outcome.updated:,} updated")
    for name, label in (
        ("denied_visits", "denied by your rules"),
        ("denied_records", "denied by your rules"),
        ("duplicates", "seen by another source too"),
        ("removed", "removed, as in the source"),
        ("would_remove", "to be removed, as in the source"),
    ):
        if number := outcome.counts.get(name):
            parts.append(f"{number:,} {label}")
    if outcome.rejected:
        listed = f" (brain imports {outcome.id})" if outcome.id else ""
        parts.append(f"{outcome.rejected:,} rejected{listed}")
    said = f"{', '.join(parts)} in {outcome.seconds:.1f} s"
    return f"{said}; {outcome.error}" if outcome.error else said


def _draw_log(screen: "Screen", records: list[dict[str, Any]]) -> None:
    from brain.render import Column, home_path

    if not records:
        screen.line("Nothing was imported yet; `brain sources` shows what could be.")
        return
    # Columns that say nothing this time leave their room to the others.
    names = ["seen", "new", *(n for n in ("rejected", "error") if any(r[n] for r in records))]
    screen.table(
        [
            *("id", "when (UTC)", "status", Column("browser", flexible=True)),
            *(Column(n, flexible=n == "error") for n in names),
            Column("path", flexible=True),
        ],
        [
            [
                r["id"],
                (r["started_at"] or "")[:16].replace("T", " "),
                r["status"],
                "/".join(n for n in (r["browser"], r["profile"]) if n),
                *(r[n] for n in names),
                home_path(r["path"]),
            ]
            for r in records
        ],
    )


def _draw_detail(screen: "Screen", detail: Any) -> None:
    from brain.plaintext import clean
    from brain.render import Column, count

    record = detail.record
    screen.line((f"import {record['id']}  ", "bold"), f"{record['status']}  {clean(record['path'])}")
    if record["error"]:
        screen.line((clean(record["error"]), "red"))
    if not detail.rejects:
        screen.line("It left no record out.")
        return
    screen.line(f"{count(record['rejected'], 'record')} could not be taken:")
    screen.table(
        ["where", Column("reason", flexible=True)], [[r["where"], r["reason"]] for r in detail.rejects]
    )
