"""Tools over what was read: search_memory, find_related_content."""

from typing import TYPE_CHECKING, Annotated

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from brain.errors import UsageError
from brain.mcp_server import answers
from brain.mcp_server.answers import (
    Cursor,
    Domain,
    Kinds,
    Limit,
    Query,
    Rests,
    Row,
    Since,
    Sources,
    Until,
    guarded,
    reads,
)
from brain.workspace import Workspace

if TYPE_CHECKING:
    from brain.services.find import SearchResult


class Found(BaseModel):
    """Items found, best first."""

    results: list[Row]
    cursor: str | None = Field(None, description="hand back to go on; null at the end")
    truncated: bool = Field(
        False, description="rows were left out to keep the answer small; ask for fewer or narrower"
    )
    coverage: Rests


def register(server: MCPServer[None], ws: Workspace) -> None:
    """Add the tools."""

    @server.tool(annotations=reads("Search everything read and written"))
    @guarded
    def search_memory(
        query: Query,
        kinds: Kinds = None,
        sources: Sources = None,
        domain: Domain = None,
        since: Since = None,
        until: Until = None,
        limit: Limit = 10,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, Found]:
        """Search pages, bookmarks, highlights, notes, thoughts and chat threads by words and meaning.

        Filters come before ranking; an interval holds pages visited inside it. Each row has an id for `fetch`.
        """
        return _search(
            ws,
            query,
            limit,
            kinds=kinds,
            sources=sources,
            domain=domain,
            since=since,
            until=until,
            cursor=cursor,
        )

    @server.tool(annotations=reads("Find related items"))
    @guarded
    def find_related_content(
        query: Annotated[str | None, Field(max_length=10_000, description="plain words")] = None,
        id: Annotated[
            str | None, Field(max_length=64, description="an item's id: its neighbours, itself left out")
        ] = None,
        limit: Limit = 10,
    ) -> Annotated[CallToolResult, Found]:
        """Find what is closest in meaning to some words, or to an item already found."""
        if (query is None) == (id is None):
            raise UsageError("give either query or id")
        if id is None:
            assert query is not None
            return _search(ws, query, limit)
        from brain.services.find import related

        return found(related(ws, id, limit))[0]


def _search(
    ws: Workspace,
    query: str,
    limit: int,
    *,
    kinds: Kinds = None,
    sources: Sources = None,
    domain: str | None = None,
    since: str | None = None,
    until: str | None = None,
    cursor: str | None = None,
) -> CallToolResult:
    from brain.services.find import search

    def ask(rows: int) -> "SearchResult":
        return search(
            ws,
            query,
            kinds=tuple(kinds or ()),
            sources=tuple(sources or ()),
            domain=domain,
            since=since,
            until=until,
            limit=rows,
            cursor=cursor,
        )

    result = ask(limit)
    answer, kept = found(result)
    # Asked again for what fits, so that the cursor goes on where this answer ends.
    return answer if kept == len(result.results) else found(ask(kept), truncated=True)[0]


def found(result: "SearchResult", truncated: bool = False) -> tuple[CallToolResult, int]:
    """The answer of a search and how many of its rows it holds."""
    rest = answers.rests(result.coverage)
    kept = 0

    def make(rows: list[Row], cut: bool) -> CallToolResult:
        nonlocal kept
        kept = len(rows)
        made = Found(results=rows, cursor=result.cursor, truncated=cut or truncated, coverage=rest)
        return answers.reply(made, answers.listing(rows, rest, result.cursor))

    return answers.fitted([answers.row(hit) for hit in result.results], make), kept
