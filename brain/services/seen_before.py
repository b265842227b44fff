"""Whether a page says what another one said before: for the card of the extension."""

from dataclasses import dataclass
from datetime import timedelta

import polars as pl

from brain import scrub, urls
from brain.errors import IndexUnavailable, ModelUnavailable
from brain.intervals import iso, to_us
from brain.recognition import SHORTEST_TEXT, recognise
from brain.workspace import Workspace

_LATELY = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class SeenBefore:
    """An earlier page on the same thing. `similarity` is a cosine, None where shared `terms` tell; the title is quoted
    from the page. `last_visited` is ISO 8601 UTC."""

    id: str
    title: str | None
    url: str
    last_visited: str
    visit_count: int
    similarity: float | None
    terms: list[str]


def seen_before(ws: Workspace, url: str, title: str, text: str) -> SeenBefore | None:
    """The best earlier page that is about what this one is about, or None.

    Never the page itself under any of its addresses, never one seen within 24 hours; nothing for less than 200
    characters, for an address that must not be stored, and where there is no index. Nothing of the question is kept.
    """
    if len(text.strip()) < SHORTEST_TEXT or not ws.lake.exists or ws.policy.denied(pl.Series([url]))[0]:
        return None
    try:
        embedder = ws.embedder
    except ModelUnavailable:
        embedder = None
    before = to_us(ws.settings.now() - _LATELY)
    try:
        found = recognise(ws.index.view(), embedder, title, text, before, _own(ws, url))
    except IndexUnavailable:
        return None
    if found is None:
        return None
    row = found.row
    return SeenBefore(
        row["doc_id"],
        row["title"],
        row["url"],
        iso(row["last_us"]),
        row["visit_count"] or 0,
        found.similarity,
        list(found.terms),
    )


def _own(ws: Workspace, url: str) -> frozenset[str]:
    """Every address of the page that the lake knows."""
    exact = scrub.scrub(pl.Series([url]), ws.key)
    page = urls.page_ids(urls.normalise(exact)["url_norm"], ws.key)[0]
    ws.lake.ensure()
    with ws.lake.read(what="recognise") as con:
        known = con.execute("SELECT url FROM store.urls WHERE page_id = ?", [page]).fetchall()
    return frozenset([str(exact[0]), *(address for (address,) in known)])
