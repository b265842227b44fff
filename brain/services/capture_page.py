"""Keeping the text of a page: given by the client, or asked of the browser that shows it.

A captured page is a document of kind capture, one for each page. Capturing counts no visit.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from brain.errors import LakeBusy, UsageError
from brain.services import commands, drain_inbox
from brain.services.tabs import HOW_TO_CONNECT, Tab, active_tab, open_tabs
from brain.services.thoughts import submit
from brain.sql import records
from brain.summary import summarise
from brain.workspace import Workspace

_BROWSER_ANSWERS_S = 20.0


@dataclass(frozen=True, slots=True)
class CapturedPage:
    """`status` is captured, registered_visit (a new page; its text is asked for), or requested (no answer yet)."""

    status: str
    id: str | None
    url: str
    title: str | None
    summary: str | None


def capture_page(
    ws: Workspace,
    url: str | None = None,
    title: str | None = None,
    content: str | None = None,
    summary: str | None = None,
    *,
    client: str | None = None,
    wait_s: float = _BROWSER_ANSWERS_S,
    told: commands.Told = commands.unheard,
) -> CapturedPage:
    """Keep a page's text with a summary: that of `content`, or of the open tab at `url`, or of the active tab.

    Raises UsageError when no browser tells its tabs, or its text cannot be had.
    """
    if url and title and content:
        return _keep(ws, {"url": url, "title": title, "text": content}, summary, client)
    tabs = open_tabs(ws)
    tab = next((tab for tab in tabs.tabs if tab.url == url), None) if url else active_tab(tabs)
    if tab is None:
        known = "give title and content with the url" if url else "give url, title and content"
        raise UsageError(
            f"there is no such open tab: {known}" if tabs.live else f"{HOW_TO_CONNECT}; or {known}"
        )
    if (kept := _kept(ws, tab.page_id)) is not None:
        return _summarised(ws, kept, summary, client)
    asked = commands.stage(
        ws,
        "capture_page",
        {"tab": tab.tab, "url": tab.url},
        browser=tab.browser,
        profile=tab.profile,
        client=client,
    )
    if not _is_known(ws, tab.page_id):
        _register_visit(ws, tab, client)
        return CapturedPage("registered_visit", None, tab.url, tab.title, None)
    done = commands.outcome(ws, asked, wait_s, told)
    if done.state == "failed":
        raise UsageError(f"the browser could not read the page: {str(done.result)[:200]}")
    kept = _kept(ws, tab.page_id) if done.state == "done" else None
    if kept is None:
        return CapturedPage("requested", None, tab.url, tab.title, None)
    return _summarised(ws, kept, summary, client)


def _summarised(ws: Workspace, kept: "_Kept", summary: str | None, client: str | None) -> CapturedPage:
    """The kept page; a summary that is given is kept with it."""
    if summary and summary.strip():
        page = {"url": kept.url, "title": kept.title, "text": kept.text}
        return _keep(ws, {name: value for name, value in page.items() if value}, summary, client)
    short = kept.summary or summarise(kept.text) or None
    return CapturedPage("captured", kept.id, kept.url, kept.title, short)


def _keep(ws: Workspace, page: dict[str, Any], summary: str | None, client: str | None) -> CapturedPage:
    short = (summary or "").strip() or summarise(page["text"])
    data = page | ({"summary": short} if short else {})
    doc_id = submit(ws, "capture", data, client, source="mcp")
    return CapturedPage("captured", doc_id, page["url"], page["title"], short or None)


@dataclass(frozen=True, slots=True)
class _Kept:
    id: str
    url: str
    title: str | None
    summary: str | None
    text: str


def _kept(ws: Workspace, page_id: int) -> _Kept | None:
    """The captured text of a page, also where the browser told it a moment ago."""
    with suppress(LakeBusy):
        drain_inbox.drain(ws)
    with ws.lake.read(what="capture") as con:
        rows = records(
            con.execute(
                """
                SELECT t.doc_id AS id, t.url, t.title, t.details->>'summary' AS summary, t.text FROM store.texts t
                WHERE t.kind = 'capture' AND t.native_id IN (
                    SELECT url_norm FROM store.tabs WHERE page_id = $1
                    UNION SELECT url_norm FROM store.urls WHERE page_id = $1)
                ORDER BY t.modified_at DESC LIMIT 1""",
                [page_id],
            )
        )
    return _Kept(**rows[0]) if rows else None


def _is_known(ws: Workspace, page_id: int) -> bool:
    with ws.lake.read(what="capture") as con:
        return bool(con.execute("SELECT 1 FROM store.urls WHERE page_id = ? LIMIT 1", [page_id]).fetchall())


def _register_visit(ws: Workspace, tab: Tab, client: str | None) -> None:
    event = {"url": tab.url, "title": tab.title, "transition": "other"}
    submit(ws, "visit", event, client, source="extension", browser=tab.browser, profile=tab.profile)
