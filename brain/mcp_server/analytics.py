"""Tools that count and look up: browsing_stats, timeline, query_lake, describe_lake."""

from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from brain.mcp_server import answers
from brain.mcp_server.answers import Cursor, Rests, Since, Trust, Until, guarded, reads
from brain.plaintext import clean, clean_lines
from brain.render import plain
from brain.workspace import Workspace


class StatsRow(BaseModel):
    """Counts of one day, hour, domain or source."""

    key: str
    visits: int
    visible_visits: int
    pages: int
    seconds: float | None = Field(
        description="known foreground time; null where none is known, which is not zero"
    )


class StatsAnswer(BaseModel):
    """Counts by key; totals cover the whole interval, also rows left out here."""

    rows: list[StatsRow]
    totals: dict[str, int]
    truncated: bool
    coverage: Rests


class Moment(BaseModel):
    """Something read, written or said at an instant."""

    at: str
    kind: str
    id: str
    title: str | None
    url: str | None
    origin: str | None
    trust: Trust
    caution: str | None = None


class TimelineAnswer(BaseModel):
    """Items in order of time."""

    items: list[Moment]
    cursor: str | None = None
    truncated: bool
    coverage: Rests


class QueryAnswer(BaseModel):
    """Rows of a query; `truncated` says that there were more."""

    columns: list[str]
    rows: list[list[Any]]
    truncated: bool


class ViewColumn(BaseModel):
    """A column of a view."""

    name: str
    type: str
    meaning: str


class ViewAnswer(BaseModel):
    """A view of the lake."""

    name: str
    about: str
    columns: list[ViewColumn]


class Schema(BaseModel):
    """The views, and queries that show how they go together."""

    views: list[ViewAnswer]
    examples: list[str]


EXAMPLES = [
    "SELECT domain, count(*) AS visits FROM visits WHERE is_visible AND visited_at >= now() - INTERVAL 7 DAY "
    "GROUP BY 1 ORDER BY 2 DESC LIMIT 10",
    "SELECT timezone('Europe/Vienna', visited_at)::DATE AS day, count(*) FROM visits WHERE is_visible GROUP BY 1 "
    "ORDER BY 1 DESC LIMIT 14",
    "SELECT title, url, visible_visits, last_visited FROM pages WHERE title ILIKE '%duckdb%' ORDER BY 4 DESC LIMIT 20",
]


def register(server: MCPServer[None], ws: Workspace) -> None:
    """Add the tools."""

    @server.tool(annotations=reads("Count browsing"))
    @guarded
    def browsing_stats(
        by: Annotated[
            Literal["day", "hour", "domain", "source"], Field(description="what to group by")
        ] = "day",
        since: Since = None,
        until: Until = None,
        limit: Annotated[int, Field(ge=1, le=400, description="rows at most")] = 60,
    ) -> Annotated[CallToolResult, StatsAnswer]:
        """Visits, distinct pages and known reading time by local day, hour of day, domain or source."""
        from brain.services.stats import browsing_stats as count

        result = count(ws, by, since, until)
        rest = answers.rests(result.coverage)
        in_time = by in ("day", "hour")
        # What is left out must be the least wanted: the oldest days, the domains visited least.
        ranked = result.rows[::-1] if in_time else result.rows
        rows = [StatsRow(**row | {"key": clean(row["key"])}) for row in ranked[:limit]]

        def make(some: list[StatsRow], cut: bool) -> CallToolResult:
            shown = some[::-1] if in_time else some
            total = result.totals
            made = StatsAnswer(
                rows=shown, totals=total, truncated=cut or len(some) < len(result.rows), coverage=rest
            )
            lines = [f"{total['visible_visits']} visits to {total['pages']} pages, by {by}:"]
            lines += [
                f"{row.key}: {row.visible_visits} visits, {row.pages} pages{_time(row.seconds)}"
                for row in shown
            ]
            return answers.reply(made, "\n".join(lines))

        return answers.fitted(rows, make)

    @server.tool(annotations=reads("What happened around a moment"))
    @guarded
    def timeline(
        around: Annotated[
            str | None,
            Field(max_length=80, description='an id, an ISO instant, or a phrase such as "yesterday"; now'),
        ] = None,
        window: Annotated[
            str, Field(max_length=16, description="before and after, such as 30m, 2h or 1d")
        ] = "30m",
        limit: Annotated[int, Field(ge=1, le=200, description="items at most")] = 50,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, TimelineAnswer]:
        """What was read, written and said around a moment, merged and in order of time."""
        from brain.services.timeline import timeline as look

        result = look(ws, around, window)
        rest = answers.rests(result.coverage)
        digest = answers.digest(around, window, rest.interval)
        start = answers.page(cursor, digest)
        some = result.items[start : start + limit]
        items = [
            Moment(
                **item | {"title": item["title"] and clean(item["title"])},
                trust=answers.trust(item["kind"]),
                caution=answers.caution(item["title"]),
            )
            for item in some
        ]

        def make(kept: list[Moment], cut: bool) -> CallToolResult:
            end = start + len(kept)
            following = answers.next_page(end, digest) if kept and end < len(result.items) else None
            made = TimelineAnswer(
                items=kept, cursor=following, truncated=cut or following is not None, coverage=rest
            )
            lines = [
                f"{item.at[:16]} {item.kind} {item.title or item.url or ''} [{item.id}]" for item in kept
            ]
            return answers.reply(made, "\n".join(lines or ["Nothing there."]))

        return answers.fitted(items, make)

    @server.tool(annotations=reads("Query the lake with SQL"))
    @guarded
    def query_lake(
        sql: Annotated[str, Field(min_length=1, max_length=10_000, description="one SELECT over the views")],
        limit: Annotated[int, Field(ge=1, le=1_000, description="rows at most")] = 200,
    ) -> Annotated[CallToolResult, QueryAnswer]:
        """Run one read-only SELECT (DuckDB) over the views that describe_lake lists, bound in time, rows and memory."""
        from brain.services.query import query

        result = query(ws, sql, max_rows=limit)
        rows = [[_cell(value) for value in row] for row in result.frame.iter_rows()]

        def make(some: list[list[Any]], cut: bool) -> CallToolResult:
            made = QueryAnswer(columns=result.frame.columns, rows=some, truncated=cut or result.truncated)
            lines = ["\t".join(made.columns), *("\t".join(map(_shown, row)) for row in some)]
            if made.truncated:
                lines.append("(more rows were left out: aggregate, narrow or page with LIMIT and OFFSET)")
            return answers.reply(made, "\n".join(lines))

        return answers.fitted(rows, make)

    @server.tool(annotations=reads("Describe the lake's views"))
    @guarded
    def describe_lake(
        view: Annotated[
            str | None, Field(max_length=64, description="one view only, with its columns' meaning")
        ] = None,
    ) -> Annotated[CallToolResult, Schema]:
        """The views query_lake can read: all with their columns' names, or one with types and meanings."""
        from brain.services.query import describe

        views = [
            ViewAnswer(
                name=info.name,
                about=info.about,
                columns=[ViewColumn(name=n, type=t, meaning=m if view else "") for n, t, m in info.columns],
            )
            for info in describe(ws, view)
        ]
        lines = []
        for info in views:
            lines.append(f"{info.name}: {info.about}")
            if view:
                lines += [f"  {c.name} {c.type}: {c.meaning}" for c in info.columns]
            else:
                lines.append("  " + ", ".join(c.name for c in info.columns))
        return answers.reply(
            Schema(views=views, examples=EXAMPLES), "\n".join([*lines, "Examples:", *EXAMPLES])
        )


def _time(seconds: float | None) -> str:
    return "" if seconds is None else f", {seconds / 60:.0f} min known"


def _cell(value: Any) -> Any:
    """A value as JSON, text without hidden characters."""
    made = plain(value)
    return clean_lines(made) if isinstance(made, str) else made


def _shown(value: Any) -> str:
    return "" if value is None else clean(value)
