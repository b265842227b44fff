"""What events about open tabs do to the lake, inside the drain's transaction; each browser's newest list counts."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from brain import scrub, urls
from brain.applying import Outcome
from brain.errors import EventRefused
from brain.events import Event
from brain.models import EARLIEST_US, LATEST_US
from brain.services._event_fields import browser_source, storable
from brain.sql import Connection
from brain.workspace import Workspace

_MOST_TABS = 5_000
_FLAGS = {"is_active": "active", "is_pinned": "pinned", "is_audible": "audible", "is_discarded": "discarded"}
_SCHEMA: dict[str, Any] = {
    "tab": pl.Int64,
    "window": pl.Int64,
    "place": pl.Int64,
    "url": pl.String,
    "title": pl.String,
    **dict.fromkeys(_FLAGS, pl.Boolean),
    "tab_group": pl.String,
    "last_accessed": pl.Int64,
}


def replace_tabs(ws: Workspace, con: Connection, events: Sequence[Event]) -> list[Outcome]:
    """Take the newest list of each browser and profile; an older one than is known changes nothing.

    Tabs of private windows and of addresses that must not be stored are left out. The result is None.
    """
    outcomes: list[Outcome] = [None] * len(events)
    newest: dict[int, tuple[Event, pl.DataFrame]] = {}
    for place, event in enumerate(events):
        try:
            rows = _rows(event)
        except EventRefused as error:
            outcomes[place] = error
            continue
        where = browser_source(con, event)
        if where not in newest or newest[where][0].at <= event.at:
            newest[where] = event, rows
    for source, (event, rows) in newest.items():
        known = con.execute(
            "SELECT 1 FROM store.tab_snapshots WHERE source_id = ? AND taken_at > ?", [source, event.at]
        ).fetchall()
        if not known:
            _replace(ws, con, source, event, rows)
    return outcomes


def _replace(ws: Workspace, con: Connection, source: int, event: Event, rows: pl.DataFrame) -> None:
    denied = ws.policy.denied(rows["url"])
    rows = rows.filter(~denied)
    clean = scrub.scrub(rows["url"], ws.key)
    norm = urls.normalise(clean)
    rows = rows.with_columns(
        clean.alias("url"),
        norm["url_norm"],
        norm["domain"],
        urls.page_ids(norm["url_norm"], ws.key).alias("page_id"),
        scrub.scrub_texts(rows["title"], ws.key).alias("title"),
        pl.col("last_accessed").cast(pl.Datetime("us", "UTC")),
        pl.lit(source, pl.UInt16).alias("source_id"),
    )
    con.execute("DELETE FROM store.tab_snapshots WHERE source_id = ?", [source])
    con.execute("DELETE FROM store.tabs WHERE source_id = ?", [source])
    con.execute(
        "INSERT INTO store.tab_snapshots VALUES (?, ?, ?)", [source, event.at, event.fields.get("client")]
    )
    con.register("open_tabs", rows.to_arrow())
    con.execute("INSERT INTO store.tabs BY NAME SELECT * FROM open_tabs")
    con.unregister("open_tabs")


def _rows(event: Event) -> pl.DataFrame:
    tabs = event.data.get("tabs")
    if not isinstance(tabs, list) or len(tabs) > _MOST_TABS:
        raise EventRefused(f"`data.tabs` must be a list of at most {_MOST_TABS:,} tabs")
    rows = []
    for number, tab in enumerate(tabs):
        if not isinstance(tab, dict) or not _is_id(tab.get("tab")) or not isinstance(tab.get("url"), str):
            raise EventRefused(f"`data.tabs[{number}]` must have a whole number as `tab` and a text as `url`")
        if tab.get("incognito"):
            continue
        title, group = tab.get("title"), tab.get("group")
        rows.append(
            {
                "tab": tab["tab"],
                "window": tab["window"] if _is_id(tab.get("window")) else None,
                "place": tab["index"] if _is_id(tab.get("index")) else None,
                "url": storable(tab["url"])[:65_536],
                "title": storable(title)[:10_000] if isinstance(title, str) and title.strip() else None,
                **{name: tab.get(said) is True for name, said in _FLAGS.items()},
                "tab_group": storable(str(group))[:200] if group not in (None, "", -1) else None,
                "last_accessed": _instant_us(tab.get("last_accessed")),
            }
        )
    return pl.DataFrame(rows, schema=_SCHEMA).unique("tab", keep="last", maintain_order=True)


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


def _instant_us(value: object) -> int | None:
    """Milliseconds since 1970, as browsers tell them, in microseconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    us = value * 1000
    return int(us) if EARLIEST_US <= us < LATEST_US else None
