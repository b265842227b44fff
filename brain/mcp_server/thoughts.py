"""Tools over the thought stream: capture, search, list, stats, edit, delete, restore, wake_up."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from brain.errors import UsageError
from brain.mcp_server import answers
from brain.mcp_server.answers import (
    Cursor,
    Limit,
    Query,
    Rests,
    Since,
    Until,
    guarded,
    guarded_write,
    reads,
    writes,
)
from brain.plaintext import clean, clean_lines
from brain.workspace import Workspace

if TYPE_CHECKING:
    from brain.services.thought_reads import Thought, ThoughtList

Type = Literal[
    "observation", "task", "idea", "reference", "person_note", "decision", "lesson", "meeting", "journal"
]
ThoughtId = Annotated[str, Field(min_length=1, max_length=64, description="a thought's id")]
Version = Annotated[int | None, Field(ge=1, description="the version you read; an older one is refused")]


class Receipt(BaseModel):
    """A captured thought and what was found in it."""

    id: str
    type: str
    topics: list[str]
    people: list[str]
    action_items: list[str]
    dates: list[str] = Field(description="days named, ISO")
    status: str = Field(description="captured, or merged with the same text of the last 24 hours")
    indexed: str = Field(description="vector, keyword, or pending until the next indexing")


class ThoughtRow(BaseModel):
    """One thought, in the person's own words or those an assistant noted for them."""

    id: str
    kind: str = "thought"
    content: str
    type: str
    topics: list[str]
    people: list[str]
    action_items: list[str]
    dates: list[str]
    origin: str = Field(description="where it was captured")
    created_at: str
    version: int
    superseded_by: str | None
    repeats: int = Field(description="other captures of the same text")
    percent: int | None = Field(description="match in percent; null in lists")
    match: str | None


class Thoughts(BaseModel):
    """Thoughts, best or newest first."""

    thoughts: list[ThoughtRow]
    cursor: str | None
    hidden: int = Field(description="weaker hits hidden by the threshold")
    truncated: bool
    coverage: Rests


class Stats(BaseModel):
    """Counts over all thoughts of the interval."""

    total: int
    first: str | None
    last: str | None
    by_type: dict[str, int]
    topics: list[dict[str, Any]]
    people: list[dict[str, Any]]
    weeks: list[dict[str, Any]] = Field(description="thoughts by week, named by its Monday")
    open_action_items: list[dict[str, Any]]
    coverage: Rests


class Changed(BaseModel):
    """A changed thought and its version now."""

    id: str
    version: int


class Pack(BaseModel):
    """What to know when a session begins."""

    text: str
    tokens: int = Field(description="upper estimate")
    left_out: dict[str, int] = Field(description="items that did not fit, by section")


def register(server: MCPServer[None], ws: Workspace) -> None:
    """Add the tools."""
    _register_reads(server, ws)
    _register_writes(server, ws)


def _register_reads(server: MCPServer[None], ws: Workspace) -> None:
    @server.tool(annotations=reads("Search thoughts"))
    @guarded
    def search_thoughts(
        query: Query,
        limit: Limit = 10,
        threshold: Annotated[
            float | None, Field(ge=0, le=1, description="hides weaker hits by meaning; never a hit by words")
        ] = None,
    ) -> Annotated[CallToolResult, Thoughts]:
        """Search the thought stream by words and meaning, best first."""
        from brain.services.thought_reads import search_thoughts as find

        return _listed(find(ws, query, limit=limit, threshold=threshold))

    @server.tool(annotations=reads("List thoughts"))
    @guarded
    def list_thoughts(
        limit: Limit = 10,
        type: Annotated[Type | None, Field(description="only this type")] = None,
        topic: Annotated[str | None, Field(max_length=200, description="part of a topic")] = None,
        person: Annotated[str | None, Field(max_length=200, description="part of a name")] = None,
        days: Annotated[
            int | None, Field(ge=1, le=36_500, description="the last days; or give since")
        ] = None,
        since: Since = None,
        until: Until = None,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, Thoughts]:
        """Thoughts newest first; filters are joined by AND and ignore case."""
        from brain.services.thought_reads import list_thoughts as find

        def ask(rows: int) -> "ThoughtList":
            return find(
                ws,
                limit=rows,
                type=type,
                topic=topic,
                person=person,
                days=days,
                since=since,
                until=until,
                cursor=cursor,
            )

        found = ask(limit)
        answer = _listed(found)
        kept = len(answer.structured_content["thoughts"]) if answer.structured_content else 0
        return answer if kept in (0, len(found.thoughts)) else _listed(ask(kept), truncated=True)

    @server.tool(annotations=reads("Thought statistics"))
    @guarded
    def thought_stats(since: Since = None, until: Until = None) -> Annotated[CallToolResult, Stats]:
        """Counts over all thoughts: by type, topic, person and week, and what is still to be done."""
        from brain.services.thought_reads import thought_stats as count

        found = count(ws, since, until)
        rest = answers.rests(found.coverage)
        told = {k: v for k, v in asdict(found).items() if k in Stats.model_fields and k != "coverage"}

        def make(items: list[dict[str, Any]], cut: bool) -> CallToolResult:
            made = Stats(**told | {"open_action_items": items}, coverage=rest)
            lines = [
                f"{made.total} thoughts"
                + (f" from {made.first[:10]} to {made.last[:10]}" if made.first and made.last else "")
            ]
            lines += [f"{kind}: {number}" for kind, number in made.by_type.items()]
            if made.topics:
                lines.append("topics: " + ", ".join(f"{t['name']} ({t['thoughts']})" for t in made.topics))
            if made.people:
                lines.append("people: " + ", ".join(f"{p['name']} ({p['thoughts']})" for p in made.people))
            lines += [f"open: {clean(item['text'])} [{item['id']}]" for item in items]
            return answers.reply(made, "\n".join(lines))

        return answers.fitted(found.open_action_items, make)

    @server.tool(annotations=reads("Wake up"))
    @guarded
    def wake_up(
        token_budget: Annotated[int, Field(ge=50, le=8_000, description="tokens at most")] = 800,
    ) -> Annotated[CallToolResult, Pack]:
        """What to know when a session begins: preferences, open action items, latest decisions, this week's themes."""
        from brain.services.wake_up import wake_up as pack

        made = pack(ws, token_budget)
        return answers.reply(Pack(**asdict(made)), made.text or "Nothing is known yet.")


def _register_writes(server: MCPServer[None], ws: Workspace) -> None:
    @server.tool(annotations=writes("Capture a thought", idempotent=False))
    @guarded_write
    def capture_thought(
        context: Context[None, Any],
        content: Annotated[
            str, Field(min_length=1, max_length=100_000, description="the thought, in its own words")
        ],
        source: Annotated[
            str | None, Field(max_length=100, description="where it comes from; default: you")
        ] = None,
        created_at: Annotated[
            str | None, Field(max_length=40, description="when it was had, ISO 8601 with a zone; default now")
        ] = None,
        idempotency_key: Annotated[
            str | None,
            Field(max_length=200, description="the same key captures once, however often it is sent"),
        ] = None,
    ) -> Annotated[CallToolResult, Receipt]:
        """Keep a thought, decision, idea, task or note for good. Only what the person says or agrees to keep."""
        from brain.services.thoughts import capture_thought as capture

        who = answers.caller(context)
        made = capture(
            ws,
            content,
            source=source or who,
            channel="mcp",
            created_at=created_at,
            idempotency_key=idempotency_key,
            client=who,
        )
        return answers.reply(Receipt(**asdict(made)), f"{made.said} [{made.id}]")

    @server.tool(annotations=writes("Edit a thought", idempotent=True))
    @guarded_write
    def update_thought(
        context: Context[None, Any],
        id: ThoughtId,
        content: Annotated[str, Field(min_length=1, max_length=100_000)],
        version: Version = None,
    ) -> Annotated[CallToolResult, Changed]:
        """Replace a thought's text; the old text is kept in its history."""
        from brain.services.thoughts import update_thought as update

        made = update(ws, id, content, version=version, client=answers.caller(context))
        return answers.reply(Changed(**asdict(made)), f"{made.id} is at version {made.version}")

    @server.tool(annotations=writes("Delete a thought", destructive=True, idempotent=True))
    @guarded_write
    def delete_thought(
        context: Context[None, Any],
        id: ThoughtId,
        version: Version = None,
        reason: Annotated[str | None, Field(max_length=500)] = None,
    ) -> Annotated[CallToolResult, Changed]:
        """Take a thought out of sight; restore_thought brings it back."""
        from brain.services.thoughts import delete_thought as delete

        made = delete(ws, id, version=version, reason=reason, client=answers.caller(context))
        return answers.reply(Changed(**asdict(made)), f"{made.id} is deleted; restore_thought brings it back")

    @server.tool(annotations=writes("Restore or replace a thought", idempotent=True))
    @guarded_write
    def restore_thought(
        context: Context[None, Any], id: ThoughtId, version: Version = None
    ) -> Annotated[CallToolResult, Changed]:
        """Bring a deleted thought back."""
        from brain.services.thoughts import restore_thought as restore

        made = restore(ws, id, version=version, client=answers.caller(context))
        return answers.reply(Changed(**asdict(made)), f"{made.id} is back, at version {made.version}")

    @server.tool(annotations=writes("Supersede a thought", idempotent=True))
    @guarded_write
    def supersede_thought(
        context: Context[None, Any],
        id: ThoughtId,
        by: Annotated[str, Field(max_length=64, description="id of the thought that replaces it")],
    ) -> Annotated[CallToolResult, Changed]:
        """Let a later thought replace an earlier one, which stays and is linked."""
        from brain.services.thoughts import supersede_thought as supersede

        if id == by:
            raise UsageError("a thought cannot replace itself")
        made = supersede(ws, id, by, client=answers.caller(context))
        return answers.reply(Changed(**asdict(made)), f"{made.id} is superseded by {by}")


def _listed(found: "ThoughtList", truncated: bool = False) -> CallToolResult:
    rest = answers.rests(found.coverage)
    rows = [_row(thought) for thought in found.thoughts]

    def make(some: list[ThoughtRow], cut: bool) -> CallToolResult:
        made = Thoughts(
            thoughts=some,
            cursor=found.cursor,
            hidden=found.hidden,
            truncated=cut or truncated,
            coverage=rest,
        )
        lines = [_line(row) for row in some] or ["No thoughts found."]
        if found.hidden:
            lines.append(f"({found.hidden} weaker hits hidden by the threshold)")
        return answers.reply(made, "\n".join([*lines, *answers.remarks(rest, found.cursor)]))

    return answers.fitted(rows, make)


def _row(thought: "Thought") -> ThoughtRow:
    text = clean_lines(thought.content)
    return ThoughtRow(
        id=thought.id,
        content=text if len(text) <= 1_500 else text[:1_499] + "…",
        type=thought.type,
        topics=thought.topics,
        people=thought.people,
        action_items=thought.action_items,
        dates=thought.dates,
        origin=clean(thought.source),
        created_at=thought.created_at,
        version=thought.version,
        superseded_by=thought.superseded_by,
        repeats=thought.repeats,
        percent=None if thought.relevance is None else round(100 * thought.relevance),
        match=thought.match,
    )


def _line(row: ThoughtRow) -> str:
    about = [row.type, row.created_at[:10]]
    if row.percent is not None:
        about.insert(0, f"{row.percent}%")
    said = [
        f"{label}: {', '.join(v)}"
        for label, v in (("topics", row.topics), ("people", row.people), ("to do", row.action_items))
        if v
    ]
    first = f"- {clean(row.content)} [{row.id}] ({', '.join(about)})"
    return "\n".join([first, *([f"  {'; '.join(said)}"] if said else [])])
