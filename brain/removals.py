"""Taking out what its source no longer has, when the person asks for it.

A browser forgets old visits by itself, so an absent row means little; but a visit younger than what the browsers keep
(90 days) that is missing from a newer copy of the same history was deleted by someone. Such visits leave the tables
that everything counts from and are kept aside, so that importing an old copy again does not bring them back; another
source that still has them does.
"""

from dataclasses import dataclass
from datetime import datetime

import polars as pl

from brain.prepare import Present
from brain.sql import Connection, frame

KEPT_DAYS = 90
_DAY_US = 86_400_000_000
DELETIONS = pl.DataFrame(schema={"start_us": pl.Int64, "end_us": pl.Int64, "url_id": pl.UInt64})


@dataclass(frozen=True, slots=True)
class Missing:
    """Keys of visits and bookmarks that only this source had and that it has no longer."""

    visits: pl.DataFrame
    bookmarks: pl.DataFrame

    @property
    def total(self) -> int:
        """How many they are."""
        return self.visits.height + self.bookmarks.height


def find_missing(
    con: Connection, where: tuple[str, str, str, str], present: Present, deletions: pl.DataFrame | None = None
) -> Missing:
    """What the source named by (source, browser, profile, device) had and `present` lacks. Reads only.

    `deletions` is what the file itself tells of: start_us, end_us, url_id (NULL: any). Visits inside one, or
    not older than 90 days before the newest one present, not newer than it, and seen by no other source, not
    even as a near repeat. Bookmarks: all; but only of a kind of which any are present.
    """
    source = "SELECT source_id FROM store.sources WHERE (source, browser, profile, device) = ($1, $2, $3, $4)"
    _register(con, "visits_present", "visit_key", present.visits)
    _register(con, "bookmarks_present", "bookmark_key", present.bookmarks)
    con.register("deletions", (DELETIONS if deletions is None else deletions).to_arrow())
    visits = frame(
        con,
        f"""
        SELECT o.visit_key FROM store.observations o JOIN store.visits v USING (visit_key)
        WHERE o.source_id IN ({source})
            AND (epoch_us(v.visited_at) BETWEEN $5 - {KEPT_DAYS * _DAY_US} AND $5
                OR EXISTS (FROM deletions d WHERE epoch_us(v.visited_at) BETWEEN d.start_us AND d.end_us
                           AND (d.url_id IS NULL OR d.url_id = v.url_id)))
            AND o.visit_key NOT IN (SELECT visit_key FROM visits_present)
            AND o.visit_key NOT IN (SELECT visit_key FROM store.observations WHERE source_id NOT IN ({source}))
            AND o.visit_key NOT IN (SELECT duplicate_of FROM store.visits WHERE duplicate_of IS NOT NULL)""",
        [*where, present.newest_us],
    )
    bookmarks = frame(
        con,
        f"""
        SELECT bookmark_key FROM store.bookmarks
        WHERE source_id IN ({source}) AND EXISTS (FROM bookmarks_present)
            AND bookmark_key NOT IN (SELECT bookmark_key FROM bookmarks_present)""",
        list(where),
    )
    con.unregister("deletions")
    con.unregister("visits_present")
    con.unregister("bookmarks_present")
    return Missing(visits, bookmarks)


def remove(con: Connection, missing: Missing, now: datetime) -> int:
    """Take them out, in the caller's transaction; their pages are noted as changed. Returns how many went."""
    con.register("gone_visits", missing.visits.to_arrow())
    con.register("gone_bookmarks", missing.bookmarks.to_arrow())
    con.execute(
        """
        UPDATE store.urls SET change_id = nextval('store.change_seq') WHERE url_id IN (
            SELECT url_id FROM store.visits SEMI JOIN gone_visits USING (visit_key)
            UNION SELECT url_id FROM store.bookmarks SEMI JOIN gone_bookmarks USING (bookmark_key))"""
    )
    con.execute(
        """
        INSERT INTO store.removed_visits BY NAME
        SELECT v.*, ?::TIMESTAMPTZ AS removed_at FROM store.visits v SEMI JOIN gone_visits USING (visit_key)""",
        [now],
    )
    con.execute("DELETE FROM store.observations WHERE visit_key IN (SELECT visit_key FROM gone_visits)")
    con.execute("DELETE FROM store.visits WHERE visit_key IN (SELECT visit_key FROM gone_visits)")
    con.execute("DELETE FROM store.bookmarks WHERE bookmark_key IN (SELECT bookmark_key FROM gone_bookmarks)")
    con.unregister("gone_visits")
    con.unregister("gone_bookmarks")
    return missing.total


def _register(con: Connection, name: str, column: str, keys: list[pl.Series]) -> None:
    joined = pl.concat(keys).rename(column) if keys else pl.Series(column, [], pl.UInt64)
    con.register(name, joined.to_frame().to_arrow())
