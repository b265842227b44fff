"""Bookmarks: kept by hand from any client, and listed whatever browser or export they came from."""

from dataclasses import dataclass
from datetime import datetime

from brain import intervals
from brain.errors import UsageError
from brain.plaintext import clean
from brain.services.coverage import Coverage, cover
from brain.services.thoughts import submit
from brain.sql import records
from brain.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A kept page: `id` is what `fetch` takes; where several folders hold it the newest place is told."""

    id: str
    url: str
    title: str | None
    folder: list[str]
    tags: list[str]
    added_at: datetime | None
    browser: str


@dataclass(frozen=True, slots=True)
class BookmarkList:
    """Bookmarks newest first, those without a date last; `offset` goes on where this list ends."""

    bookmarks: list[Bookmark]
    next_offset: int | None
    coverage: Coverage


def save_bookmark(
    ws: Workspace,
    url: str,
    title: str,
    *,
    folder: str | None = None,
    source: str = "cli",
    client: str | None = None,
) -> str:
    """Keep a page as a bookmark; its id, the same for the same URL. `folder` may name a path with slashes.

    Raises UsageError for what is no URL, or must not be stored.
    """
    url, title = url.strip(), clean(title)
    if "://" not in url or " " in url:
        raise UsageError("a bookmark needs a whole URL, such as https://example.org/")
    if not title:
        raise UsageError("a bookmark needs a title")
    path = [part.strip() for part in (folder or "").split("/") if part.strip()]
    data = {"url": url, "title": title, "folder": path, "change": "added"}
    return submit(ws, "bookmark", data, client, source=source)


def list_bookmarks(
    ws: Workspace,
    *,
    words: str | None = None,
    folder: str | None = None,
    domain: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 20,
    offset: int = 0,
) -> BookmarkList:
    """Bookmarked pages, one row each. `words` must all stand in title, URL, folder or tags. Raises UsageError."""
    if not 1 <= limit <= 200:
        raise UsageError("the limit must be from 1 to 200")
    interval = intervals.resolve(ws.settings, since, until)
    if not ws.lake.exists:
        return BookmarkList([], None, cover(ws, interval))
    ws.lake.ensure()
    with ws.lake.read(what="bookmarks") as con:
        rows = records(
            con.execute(
                """
                SELECT 'b' || substr(page_id, 2) AS id,
                       arg_max(url, coalesce(added_at, '1970-01-01'::TIMESTAMPTZ)) AS url,
                       arg_max(title, coalesce(added_at, '1970-01-01'::TIMESTAMPTZ)) AS title,
                       arg_max(folder, coalesce(added_at, '1970-01-01'::TIMESTAMPTZ)) AS folder,
                       list_sort(list_distinct(flatten(list(tags)))) AS tags, max(added_at) AS added_at,
                       arg_max(browser, coalesce(added_at, '1970-01-01'::TIMESTAMPTZ)) AS browser
                FROM bookmarks
                WHERE shelf IN ('bookmarks', 'reading_list') AND ($domain IS NULL OR domain = $domain)
                    AND ($folder IS NULL OR list_contains([lower(f) FOR f IN folder], lower($folder)))
                    AND ($since IS NULL OR epoch_us(added_at) >= $since)
                    AND ($until IS NULL OR epoch_us(added_at) < $until)
                    AND len([w FOR w IN $words IF NOT contains(lower(concat_ws(' ', title, url,
                             array_to_string(folder, ' '), array_to_string(tags, ' '))), w)]) = 0
                GROUP BY page_id ORDER BY added_at DESC NULLS LAST, id LIMIT $limit OFFSET $offset""",
                {
                    "domain": domain and domain.lower(),
                    "folder": folder,
                    "since": interval.since_us,
                    "until": interval.until_us,
                    "words": (words or "").lower().split(),
                    "limit": limit + 1,
                    "offset": offset,
                },
            )
        )
    more = len(rows) > limit
    found = [Bookmark(**row) for row in rows[:limit]]
    return BookmarkList(found, offset + limit if more else None, cover(ws, interval))
