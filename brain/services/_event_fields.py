"""Fields of events as appliers read them."""

from collections.abc import Sequence

import polars as pl

from brain import merge
from brain.errors import EventRefused
from brain.events import Event
from brain.sql import Connection, frame
from brain.workspace import Workspace

_CLOCK_US = 3_000_000


def text_of(event: Event, name: str, longest: int, required: bool = False) -> str | None:
    """A text of the event's data, None where it is missing or blank. Raises EventRefused for what is none."""
    value = event.data.get(name)
    if value is None or (isinstance(value, str) and not value.strip()):
        if required:
            raise EventRefused(f"`data.{name}` is missing")
        return None
    if not isinstance(value, str):
        raise EventRefused(f"`data.{name}` must be text")
    if len(value) > longest:
        raise EventRefused(f"`data.{name}` has {len(value):,} characters; at most {longest:,} are taken")
    return storable(value)


def is_private(ws: Workspace, events: Sequence[Event]) -> list[bool]:
    """Which events come from a private window or from an address that must not be stored."""
    urls = [event.data.get("url") for event in events]
    denied = ws.policy.denied(
        pl.Series([storable(url) if isinstance(url, str) else None for url in urls], dtype=pl.String)
    )
    hidden = not ws.settings.keep_private
    return [
        bool(is_denied) or (hidden and bool(event.data.get("incognito")))
        for event, is_denied in zip(events, denied, strict=True)
    ]


def browser_source(con: Connection, event: Event) -> int:
    """The source that a paired browser is. Its instants may lie seconds from what the browser's own file says.

    What it tells from its history is a source apart: it repeats what was told live, at the history's own instants.
    """
    browser, profile = (str(event.fields.get(name) or "") for name in ("browser", "profile"))
    apart = "history" if event.data.get("from_history") is True else ""
    return merge.source_id(con, "extension", browser or "unknown", profile, apart, _CLOCK_US)


def known_urls(con: Connection, url_ids: pl.Series) -> pl.Series:
    """Which of these URLs the lake has."""
    con.register("asked", pl.DataFrame({"url_id": url_ids}).to_arrow())
    known = frame(con, "SELECT url_id FROM asked SEMI JOIN store.urls USING (url_id)")["url_id"]
    con.unregister("asked")
    return url_ids.is_in(known.implode())


def storable(text: str) -> str:
    """The text with halves of surrogate pairs, which JSON can carry and UTF-8 cannot, replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")
