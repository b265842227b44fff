"""Generated data and the measure of search: `brain sample`, `brain eval`."""

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from brain.cli.state import State
from brain.errors import UsageError

if TYPE_CHECKING:
    from brain.render import Screen
    from brain.sample import SampleReport

Scale = Literal["demo", "small", "large", "1m"]
Mode = Literal["hybrid", "keyword", "semantic"]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command("sample", epilog="Example: brain sample ~/sample --scale small")(sample)
    app.command("eval", epilog="Example: brain eval judged.json --mode keyword")(evaluate)


def sample(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Where to write; made if missing.", metavar="DIR")],
    scale: Annotated[Scale, typer.Option(help="How much.")] = "demo",
    seed: Annotated[int, typer.Option(help="Another number, another person.", min=0)] = 1,
    end: Annotated[
        str | None, typer.Option(help="Day or instant by which the history ends.", metavar="DATE")
    ] = None,
) -> None:
    """Write generated histories to try things on.

    Those of an invented person, in the true formats of the browsers, and questions with known answers.
    """
    from brain.sample import generate

    state: State = ctx.obj
    try:
        with state.progress() as progress:
            report = generate(folder, scale, seed, _instant(end), lambda step: progress(step, 0, None))
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror or error}") from error
    state.show(report, lambda screen: _draw_sample(screen, report))


def evaluate(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="Documents, questions and judgements (JSON).", metavar="FILE")],
    mode: Annotated[Mode, typer.Option(help="Which search to measure.")] = "hybrid",
) -> None:
    """Measure the search on judged questions.

    It runs in a temporary lake. FILE holds {docs, qs, rel} and may name a family for each question (fam).
    """
    from brain.services.evaluate import evaluate as measure

    state: State = ctx.obj
    embedder, _ = state.ws.embedder_or_none()
    with state.progress() as progress:
        report = measure(file, mode, embedder, progress)
    answer = report.as_dict()
    state.show(answer, lambda screen: _draw_measures(screen, answer))
    for reason in report.degraded:
        state.note(f"note: {reason}")


def _instant(text: str | None) -> date | datetime | None:
    from datetime import UTC

    if text is None:
        return None
    try:
        moment: date | datetime = (
            date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
        )
    except ValueError as error:
        raise UsageError(f"not a date: {text!r}; write it like 2026-11-30") from error
    if not 1990 <= moment.year <= 2200:
        raise UsageError(f"no browser history ends in {text!r}; name a day of the years 1990 to 2200")
    if not isinstance(moment, datetime):
        return moment
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _draw_sample(screen: "Screen", report: "SampleReport") -> None:
    from brain.render import Column, home_path

    rows = [[f.browser, f.kind, sum(f.rows.values()), home_path(f.path)] for f in report.files]
    screen.table(["browser", "kind", "rows", Column("file", flexible=True)], rows)
    screen.line(
        f"{report.visits:,} visits of {report.pages:,} pages; questions in {home_path(report.queries)}"
    )


def _draw_measures(screen: "Screen", answer: dict[str, Any]) -> None:
    names = list(answer["overall"])
    rows = [("all", answer["queries"], answer["overall"])]
    rows += [(name, scores["queries"], scores) for name, scores in answer["families"].items()]
    from brain.render import Column

    screen.table(
        ["family", "queries", *(Column(name, "right") for name in names)],
        [[family, number, *(f"{scores[name]:.3f}" for name in names)] for family, number, scores in rows],
    )
