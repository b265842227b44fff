"""`brain thought`, `brain note`, `brain wake-up`: what one thinks and wants to keep."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from brain.cli.state import State, group

if TYPE_CHECKING:
    from brain.render import Screen
    from brain.services.thought_reads import ThoughtList

Id = Annotated[str, typer.Argument(help="Id of a thought: `brain thought list` shows them.", metavar="ID")]
Since = Annotated[
    str | None, typer.Option(help='From then on: 2026-11-30, "last week", 3d ...', metavar="WHEN")
]
Until = Annotated[str | None, typer.Option(help="Up to then, that day included.", metavar="WHEN")]
Version = Annotated[int | None, typer.Option(help="The version you have seen; an older one is refused.")]
CLIENT = "cli"


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    thought = group(app, "thought", "Thoughts: kept for good, found by words and meaning.")
    thought.command("add", epilog='Example: brain thought add "Decided to use DuckDB for the log"')(add)
    thought.command("list", epilog="Example: brain thought list --type decision -n 5")(list_)
    thought.command("search", epilog='Example: brain thought search "reading log"')(search)
    thought.command("stats", epilog='Example: brain thought stats --since "last month"')(stats)
    thought.command("edit", epilog='Example: brain thought edit t0123456789abcdef "Better words"')(edit)
    thought.command("delete", epilog="Example: brain thought delete t0123456789abcdef")(delete)
    thought.command("restore", epilog="Example: brain thought restore t0123456789abcdea")(restore)
    thought.command(
        "supersede", epilog="Example: brain thought supersede t0123456789abcdef t0123456789abcdeb"
    )(supersede)
    note = group(app, "note", "Notes about pages.")
    note.command(
        "add", epilog='Example: brain note add "Good figures in section 3" --url https://example.org/paper'
    )(note_add)
    app.command("wake-up", epilog="Example: brain wake-up --budget 400")(wake_up)


def add(
    ctx: typer.Context,
    text: Annotated[
        list[str], typer.Argument(help="The thought, or - to read it from stdin.", metavar="TEXT...")
    ],
    source: Annotated[str, typer.Option(help="Where it comes from.")] = CLIENT,
    at: Annotated[
        str | None, typer.Option(help="When you had it, ISO 8601 with a zone.", metavar="WHEN")
    ] = None,
) -> None:
    """Keep a thought. Its type, topics, people, action items and dates are found in it."""
    from brain.services.thoughts import capture_thought

    state: State = ctx.obj
    made = capture_thought(state.ws, _given(text), source=source, channel="cli", created_at=at, client=CLIENT)
    state.show(made, lambda screen: screen.line(f"{made.said} [{made.id}]"))


def list_(
    ctx: typer.Context,
    type: Annotated[str | None, typer.Option("--type", help="observation, task, idea, decision ...")] = None,  # noqa: A002
    topic: Annotated[str | None, typer.Option(help="Part of a topic.")] = None,
    person: Annotated[str | None, typer.Option(help="Part of a name.")] = None,
    since: Since = None,
    until: Until = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Those that can be restored.")] = False,
    limit: Annotated[int, typer.Option("-n", "--limit", help="How many.", min=1, max=200)] = 20,
    cursor: Annotated[str | None, typer.Option(help="Go on after an earlier answer.")] = None,
) -> None:
    """Thoughts, newest first."""
    from brain.services.thought_reads import list_thoughts

    state: State = ctx.obj
    found = list_thoughts(
        state.ws,
        limit=limit,
        type=type,
        topic=topic,
        person=person,
        since=since,
        until=until,
        deleted=deleted,
        cursor=cursor,
    )
    state.show(found, lambda screen: _draw(screen, found))


def search(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(help="What you remember of it.", metavar="QUERY...")],
    limit: Annotated[int, typer.Option("-n", "--limit", help="How many.", min=1, max=50)] = 10,
    threshold: Annotated[float | None, typer.Option(help="Hide weaker hits by meaning, 0 to 1.")] = None,
) -> None:
    """Find thoughts by words and meaning."""
    from brain.services.thought_reads import search_thoughts

    state: State = ctx.obj
    found = search_thoughts(state.ws, " ".join(query), limit=limit, threshold=threshold)
    state.show(found, lambda screen: _draw(screen, found))


def stats(ctx: typer.Context, since: Since = None, until: Until = None) -> None:
    """Count thoughts by type, topic, person and week; list what is to be done."""
    from brain.services.thought_reads import thought_stats

    state: State = ctx.obj
    found = thought_stats(state.ws, since, until)

    def draw(screen: "Screen") -> None:
        screen.line(f"{found.total} thoughts")
        screen.table(["type", "thoughts"], [[kind, number] for kind, number in found.by_type.items()])
        for title, rows in (("topic", found.topics), ("person", found.people)):
            if rows:
                screen.table([title, "thoughts"], [[row["name"], row["thoughts"]] for row in rows])
        if found.weeks:
            screen.table(["week of", "thoughts"], [[row["week"], row["thoughts"]] for row in found.weeks])
        for item in found.open_action_items:
            screen.line(f"to do: {item['text']}  [{item['id']}]")

    state.show(found, draw)


def edit(
    ctx: typer.Context,
    thought_id: Id,
    text: Annotated[
        list[str], typer.Argument(help="The new text, or - to read it from stdin.", metavar="TEXT...")
    ],
    version: Version = None,
) -> None:
    """Replace a thought's text; the old one is kept."""
    from brain.services.thoughts import update_thought

    state: State = ctx.obj
    made = update_thought(state.ws, thought_id, _given(text), version=version, client=CLIENT)
    state.show(made, lambda screen: screen.line(f"{made.id} is at version {made.version}"))


def delete(ctx: typer.Context, thought_id: Id, version: Version = None) -> None:
    """Take a thought out of sight; `brain thought restore` brings it back."""
    from brain.services.thoughts import delete_thought

    state: State = ctx.obj
    made = delete_thought(state.ws, thought_id, version=version, client=CLIENT)
    state.show(
        made, lambda screen: screen.line(f"{made.id} is deleted; `brain thought restore` brings it back")
    )


def restore(ctx: typer.Context, thought_id: Id) -> None:
    """Bring a deleted thought back."""
    from brain.services.thoughts import restore_thought

    state: State = ctx.obj
    made = restore_thought(state.ws, thought_id, client=CLIENT)
    state.show(made, lambda screen: screen.line(f"{made.id} is back, at version {made.version}"))


def supersede(
    ctx: typer.Context,
    thought_id: Id,
    by: Annotated[str, typer.Argument(help="Id of the thought that replaces it.", metavar="BY")],
) -> None:
    """Let a later thought replace an earlier one, which stays and is linked."""
    from brain.services.thoughts import supersede_thought

    state: State = ctx.obj
    made = supersede_thought(state.ws, thought_id, by, client=CLIENT)
    state.show(made, lambda screen: screen.line(f"{made.id} is superseded by {by}"))


def note_add(
    ctx: typer.Context,
    text: Annotated[
        list[str], typer.Argument(help="The note, or - to read it from stdin.", metavar="TEXT...")
    ],
    url: Annotated[str | None, typer.Option(help="The page it is about.", metavar="URL")] = None,
) -> None:
    """Write a note, about a page or about nothing in particular."""
    from brain.services.notes import save_note

    state: State = ctx.obj
    made = save_note(state.ws, _given(text), url=url, source="cli", client=CLIENT)
    state.show(made, lambda screen: screen.line(f"{made.status} [{made.id}]"))


def wake_up(
    ctx: typer.Context,
    budget: Annotated[int, typer.Option(help="Tokens at most.", min=50, max=20_000)] = 800,
) -> None:
    """What an assistant should know when a session begins: preferences, open items, decisions, themes."""
    from brain.services.wake_up import wake_up as pack

    state: State = ctx.obj
    made = pack(state.ws, budget)

    def draw(screen: "Screen") -> None:
        for line in made.text.splitlines() or ["Nothing is known yet."]:
            screen.line(line)

    state.show(made, draw)


def _given(words: list[str]) -> str:
    """The text given as words, or all of stdin for `-`."""
    return sys.stdin.read() if words == ["-"] else " ".join(words)


def _draw(screen: "Screen", found: "ThoughtList") -> None:
    for one in found.thoughts:
        percent = f"{one.relevance:.0%}  " if one.relevance is not None else ""
        screen.line(f"{percent}{one.content}")
        about = [one.created_at[:10], one.type, *one.topics, *one.people]
        screen.line((f"  {', '.join(about)}  [{one.id}]", "dim"))
    if not found.thoughts:
        screen.line("No thoughts found.")
    if found.hidden:
        screen.line(f"{found.hidden} weaker hits are hidden by the threshold")
    if found.cursor:
        screen.line((f"more: --cursor {found.cursor}", "dim"))
