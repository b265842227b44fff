"""`brain demo`: a made-up person's history through the real flows, and what can be asked of it then."""

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from brain.cli.state import State
from brain.progress import Progress

if TYPE_CHECKING:
    from brain.workspace import Workspace
    from pipelines.records import RunReport

Scale = Literal["small", "demo", "large", "1m"]

SEED = 1
# What shows best what search does; should a sample not ask it, its first question of that family stands in.
QUESTIONS = {
    "paraphrase": ("joint ache when descending steps", "by meaning: none of these words is on the page"),
    "exact": ("KX7Q2M", "an exact id"),
    "cjk": ("温泉", "two characters of Japanese"),
}
_MARK = "sample.json"


@dataclass(frozen=True, slots=True)
class Search:
    """A question with its answer; `rank` is the place of the page that the sample expects, from 1, or None."""

    family: str
    about: str
    query: str
    rank: int | None
    answer: Any


@dataclass(frozen=True, slots=True)
class Demo:
    """All that the demo shows."""

    home: str
    kept: bool
    sample: dict[str, Any]
    model: str | None
    flows: "RunReport"
    summary: dict[str, Any]
    searches: list[Search]
    seconds: float
    next: list[str]


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    app.command("demo", epilog="Example: brain demo --keep data/demo")(demo)


def demo(
    ctx: typer.Context,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the demo's lake in this folder; default a temporary one.", metavar="DIR"),
    ] = None,
    scale: Annotated[Scale, typer.Option(help="How much history is made up.")] = "demo",
) -> None:
    """Show what it does, on the made-up history of a person who does not exist.

    The data is generated here, the flows are the real ones, and your own lake is not touched.
    """
    from brain.cli.demo_view import draw

    state: State = ctx.obj
    with _home(keep) as home:
        with state.progress() as progress:
            shown = perform(home, scale, progress, kept=keep is not None)
        state.show(_as_dict(shown), lambda screen: draw(screen, shown, _open(home).settings))
    if shown.model and shown.flows.problems:
        raise typer.Exit(3)


def perform(home: Path, scale: str, progress: Progress, *, kept: bool) -> Demo:
    """Make the sample where it is missing, run the flows over it, look and search.

    Raises UsageError when `home` holds a lake that no demo made, BrainError when Prefect does not start.
    """
    from pipelines import runtime

    started = time.monotonic()
    ws = _open(home)
    with runtime.running(ws) as prefect:  # it starts while the sample is made
        sample = _sample(ws, scale, progress)
        progress("starting Prefect", 0, None)
        report = prefect.run("everything", [home / "sample"], progress)
    progress("asking", 0, None)
    model, _ = ws.embedder_or_none()
    return Demo(
        str(home),
        kept,
        sample,
        model.identity.id if model else None,
        report,
        _summary(ws),
        list(_searches(ws, home / "sample" / "queries.json")),
        round(time.monotonic() - started, 1),
        ["brain import --auto", 'brain search "what you remember of it"', "brain flows serve"],
    )


@contextmanager
def _home(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep.expanduser().absolute()
        return
    folder = Path(tempfile.mkdtemp(prefix="brain-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _open(home: Path) -> "Workspace":
    from brain.workspace import open_workspace

    return open_workspace(home)


def _sample(ws: "Workspace", scale: str, progress: Progress) -> dict[str, Any]:
    """The sample's sizes; made where none of this scale is there yet, so that a second run finds nothing new."""
    from brain.errors import UsageError
    from brain.sample import generate

    folder = ws.home.root / "sample"
    mark = ws.home.root / _MARK
    try:
        made: dict[str, Any] = json.loads(mark.read_text("utf-8"))
        if made["scale"] == scale and (folder / "queries.json").exists():
            return made
    except (OSError, ValueError, KeyError) as error:
        if ws.lake.exists:
            raise UsageError(f"{ws.home.root} holds a lake that no demo made; name another folder") from error
    ws.home.ensure()
    report = generate(
        folder, scale, SEED, ws.settings.now(), lambda step: progress(f"making up: {step}", 0, None)
    )
    made = {
        "scale": scale,
        "seed": SEED,
        "files": len(report.files),
        "visits": report.visits,
        "pages": report.pages,
    }
    mark.write_text(json.dumps(made), "utf-8")
    return made


def _summary(ws: "Workspace") -> dict[str, Any]:
    """Sizes, span, busiest domains, and visible visits by local hour and by week (keyed by its Monday)."""
    from datetime import date, timedelta

    from brain.services.stats import browsing_stats
    from brain.services.status import status

    weeks: dict[str, int] = {}
    for row in browsing_stats(ws, "day").rows:
        day = date.fromisoformat(row["key"])
        monday = (day - timedelta(days=day.weekday())).isoformat()
        weeks[monday] = weeks.get(monday, 0) + row["visible_visits"]
    hours = {row["key"]: row["visible_visits"] for row in browsing_stats(ws, "hour").rows}
    domains = browsing_stats(ws, "domain", limit=6)
    now = status(ws)
    return {
        **domains.totals,
        "first": now.first,
        "last": now.last,
        "zone": now.zone,
        "sources": now.sources,
        "domains": domains.rows,
        "hours": {f"{hour:02d}": hours.get(f"{hour:02d}", 0) for hour in range(24)},
        "weeks": weeks,
        "disk": sum(now.disk.values()),
    }


def _searches(ws: "Workspace", questions: Path) -> Iterator[Search]:
    from brain.services.find import search

    asked = json.loads(questions.read_text("utf-8"))["queries"]
    for family, (wanted, about) in QUESTIONS.items():
        of_family = [q for q in asked if q["family"] == family]
        question = next((q for q in of_family if q["text"] == wanted), of_family[0])
        answer = search(ws, question["text"], limit=3)
        urls = [hit.url for hit in answer.results]
        rank = next((place for place, url in enumerate(urls, 1) if url in question["answers"]), None)
        yield Search(family, about, question["text"], rank, answer)


def _as_dict(shown: Demo) -> dict[str, Any]:
    values = {name: getattr(shown, name) for name in Demo.__dataclass_fields__}
    values["flows"] = shown.flows.as_dict()
    values["searches"] = [
        {
            "family": s.family,
            "query": s.query,
            "rank": s.rank,
            "results": [asdict(hit) for hit in s.answer.results],
        }
        for s in shown.searches
    ]
    return values
