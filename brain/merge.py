"""Idempotent merges of prepared columns into the lake: the same rows twice change nothing.

Every function runs inside a write lease and the caller's transaction, and takes what `brain.prepare` made. New
rows are found by anti-join; known ones are updated only where the newer word adds something. Each lease stamps
what it touched with one `change_id`, in commit order, so that the index can ask what is new to it.
"""

from dataclasses import dataclass

import polars as pl

from brain.sql import Connection, frame


@dataclass(frozen=True, slots=True)
class Merged:
    """Rows inserted and rows changed by one merge."""

    new: int
    updated: int


def next_change(con: Connection) -> int:
    """A change id greater than any committed one; call it inside the write lease."""
    return _number(con.execute("SELECT nextval('store.change_seq')"))


def merge_urls(con: Connection, fresh: pl.DataFrame, known: pl.DataFrame, import_id: int | None) -> Merged:
    """Insert URLs the lake lacks; of the known, keep the later title (the earlier one goes to `titles`)."""
    change = next_change(con)
    new = 0
    if fresh.height:
        con.register("fresh", fresh.to_arrow())
        new = _number(
            con.execute(
                """
                INSERT INTO store.urls
                SELECT url_id, page_id, url, url_norm, scheme, host, domain, title, known_last_visit,
                       known_last_visit, known_visits, typed_count, ?, ?
                FROM fresh ANTI JOIN store.urls USING (url_id)""",
                [import_id, change],
            )
        )
        con.unregister("fresh")
    updated = _update_urls(con, known, import_id, change) if known.height else 0
    return Merged(new, updated)


def _update_urls(con: Connection, known: pl.DataFrame, import_id: int | None, change: int) -> int:
    con.register("known", known.to_arrow())
    # Which title is newer is told by the last visit the source knew of, not by when the file was imported.
    con.execute("""
        CREATE OR REPLACE TEMP TABLE said AS
        SELECT k.url_id, k.title, k.known_last_visit AS as_of, u.title AS old, u.title_as_of AS old_as_of,
               k.title IS NOT NULL AND k.title IS DISTINCT FROM u.title
                   AND (u.title IS NULL OR k.known_last_visit >= u.title_as_of) AS retitled,
               greatest(k.known_last_visit, u.known_last_visit) AS last_visit,
               greatest(k.known_visits, u.known_visits) AS visits,
               greatest(k.typed_count, u.typed_count) AS typed,
               u.known_last_visit IS DISTINCT FROM greatest(k.known_last_visit, u.known_last_visit) AS later
        FROM known k JOIN store.urls u USING (url_id)""")
    con.unregister("known")
    con.execute(
        """
        INSERT INTO store.titles
        SELECT url_id, title, as_of, ? FROM (
            SELECT url_id, old AS title, old_as_of AS as_of FROM said WHERE retitled AND old IS NOT NULL
            UNION ALL
            SELECT url_id, title, as_of FROM said WHERE NOT retitled AND title IS NOT NULL
                AND title IS DISTINCT FROM old
        ) ANTI JOIN store.titles USING (url_id, title)""",
        [import_id],
    )
    updated = _number(
        con.execute(
            """
            UPDATE store.urls SET title = CASE WHEN retitled THEN said.title ELSE urls.title END,
                title_as_of = CASE WHEN retitled OR said.title = urls.title
                                   THEN greatest(said.as_of, urls.title_as_of) ELSE urls.title_as_of END,
                known_last_visit = said.last_visit, known_visits = said.visits, typed_count = said.typed,
                change_id = ?
            FROM said WHERE said.url_id = urls.url_id AND (said.retitled OR said.later)""",
            [change],
        )
    )
    con.execute("DROP TABLE said")
    return updated


# Where a visit as read (p) says more than the lake's row of it (v).
_SAYS_MORE = """
    greatest(p.duration_us, v.duration_us) IS DISTINCT FROM v.duration_us
    OR greatest(p.foreground_us, v.foreground_us) IS DISTINCT FROM v.foreground_us
    OR (v.from_key IS NULL AND p.from_key IS NOT NULL)
    OR (v.opener_key IS NULL AND p.opener_key IS NOT NULL)
    OR (p.title IS NOT NULL AND p.title IS DISTINCT FROM v.title)"""


def unsettled_visits(con: Connection, visits: pl.DataFrame, source_id: int) -> pl.DataFrame:
    """Which of these visits a merge would do anything with: visit_key, is_new. Reads only.

    A newer copy of a known file is mostly settled, so that merging it takes few and short leases.
    """
    columns = visits.select("visit_key", "duration_us", "foreground_us", "from_key", "opener_key", "title")
    con.register("part", columns.to_arrow())
    found = frame(
        con,
        f"""
        WITH seen AS (SELECT visit_key FROM store.observations WHERE source_id = $1),
        wanted AS (
            FROM part ANTI JOIN (SELECT visit_key FROM store.removed_visits WHERE source_id = $1) USING (visit_key))
        SELECT p.visit_key, v.visit_key IS NULL AS is_new
        FROM wanted p LEFT JOIN store.visits v USING (visit_key) LEFT JOIN seen ON seen.visit_key = p.visit_key
        WHERE v.visit_key IS NULL OR seen.visit_key IS NULL OR {_SAYS_MORE}""",
        [source_id],
    )
    con.unregister("part")
    return found


def merge_visits(con: Connection, visits: pl.DataFrame, source_id: int, import_id: int | None) -> Merged:
    """Insert visits the lake lacks and observations this source had not made; fill in what known ones lacked.

    A known visit keeps its flags; durations grow to the longest word, and NULLs are filled.
    """
    change = next_change(con)
    con.register("part", visits.to_arrow())
    new = _number(
        con.execute(
            """
            INSERT INTO store.visits
            SELECT visit_key, url_id, visited_at, from_key, opener_key, transition, navigation, is_visible, is_hop,
                   is_subframe, is_reload, is_back_forward, duration_us, foreground_us, origin, title,
                   ?::USMALLINT, ?, NULL, NULL, ?
            FROM part ANTI JOIN store.visits USING (visit_key)""",
            [source_id, import_id, change],
        )
    )
    updated = 0
    if new < visits.height:
        updated = _number(
            con.execute(
                f"""
                UPDATE store.visits v SET duration_us = greatest(p.duration_us, v.duration_us),
                    foreground_us = greatest(p.foreground_us, v.foreground_us),
                    from_key = coalesce(v.from_key, p.from_key), opener_key = coalesce(v.opener_key, p.opener_key),
                    title = coalesce(p.title, v.title), change_id = ?
                FROM part p WHERE p.visit_key = v.visit_key AND ({_SAYS_MORE})""",
                [change],
            )
        )
    con.execute(
        """
        INSERT INTO store.observations
        SELECT visit_key, ?::USMALLINT, native_id, origin_device, ? FROM part
        ANTI JOIN (SELECT visit_key FROM store.observations WHERE source_id = ?) USING (visit_key)""",
        [source_id, import_id, source_id],
    )
    con.unregister("part")
    return Merged(new, updated)


def merge_links(con: Connection, links: pl.DataFrame) -> int:
    """Fill in from/opener links that pointed forward in the file."""
    con.register("links", links.to_arrow())
    changed = _number(
        con.execute("""
            UPDATE store.visits SET from_key = coalesce(visits.from_key, l.from_key),
                opener_key = coalesce(visits.opener_key, l.opener_key)
            FROM links l WHERE l.visit_key = visits.visit_key AND (
                (visits.from_key IS NULL AND l.from_key IS NOT NULL)
                OR (visits.opener_key IS NULL AND l.opener_key IS NOT NULL))""")
    )
    con.unregister("links")
    return changed


def source_id(
    con: Connection, source: str, browser: str, profile: str, device: str, clock_us: int = 1_000_000
) -> int:
    """The id of a source, made on first use. `clock_us`: how far its instants may lie from another source's."""
    rows = con.execute(
        "SELECT source_id FROM store.sources WHERE source = ? AND browser = ? AND profile = ? AND device = ?",
        [source, browser, profile, device],
    ).fetchall()
    if rows:
        return int(rows[0][0])
    return _number(
        con.execute(
            "INSERT INTO store.sources VALUES (nextval('store.source_seq'), ?, ?, ?, ?, ?) RETURNING source_id",
            [source, browser, profile, device, clock_us],
        )
    )


def find_duplicates(con: Connection, import_id: int) -> pl.DataFrame:
    """Visits of this import that repeat another source's visit of the same URL at about the same time.

    That is within a second, or what the coarser clock of both sources allows. So do visits that earlier imports from
    its source brought without coming to their end. Reads only, so a read lease or snapshot will do. Columns:
    visit_key, duplicate_of (the nearest such visit).
    """
    # Joining on whole seconds keeps this a hash join; a mailbox visited 10,000 times would square otherwise.
    return frame(
        con,
        """
        WITH imports AS (
            SELECT i.import_id FROM store.imports i JOIN store.imports this USING (source, browser, profile, device)
            WHERE this.import_id = $1 AND (i.import_id = $1 OR i.status IN ('running', 'interrupted', 'failed'))),
        timed AS (
            SELECT visit_key, url_id, epoch_us(visited_at) AS us, source_id, clock_us, import_id
            FROM store.visits JOIN store.sources USING (source_id) WHERE duplicate_of IS NULL),
        around AS (SELECT (max(clock_us) + 999_999) // 1_000_000 AS width FROM store.sources),
        mine AS (
            SELECT *, unnest(range(us // 1_000_000 - width, us // 1_000_000 + width + 1)) AS second
            FROM timed, around WHERE import_id IN (FROM imports)),
        theirs AS (
            SELECT *, us // 1_000_000 AS second FROM timed WHERE source_id NOT IN (SELECT source_id FROM mine))
        SELECT m.visit_key, arg_min(t.visit_key, abs(t.us - m.us)) AS duplicate_of
        FROM mine m JOIN theirs t USING (url_id, second)
        WHERE abs(t.us - m.us) <= greatest(m.clock_us, t.clock_us)
        GROUP BY m.visit_key""",
        [import_id],
    )


def find_duplicates_of(con: Connection, visits: pl.DataFrame, source_id: int) -> pl.DataFrame:
    """The same for visits of events, as `brain.prepare` made them."""
    con.register("part", visits.select("visit_key", "url_id", "visited_at").to_arrow())
    found = frame(
        con,
        """
        WITH span AS (
            SELECT min(visited_at) - to_microseconds(clock) AS first, max(visited_at) + to_microseconds(clock) AS last
            FROM part, (SELECT max(clock_us) AS clock FROM store.sources) GROUP BY clock)
        SELECT p.visit_key, arg_min(v.visit_key, abs(epoch_us(v.visited_at) - epoch_us(p.visited_at))) AS duplicate_of
        FROM part p JOIN store.visits v USING (url_id) JOIN store.sources s USING (source_id)
        WHERE v.visited_at BETWEEN (SELECT first FROM span) AND (SELECT last FROM span)
            AND abs(epoch_us(v.visited_at) - epoch_us(p.visited_at)) <= greatest(s.clock_us,
                (SELECT clock_us FROM store.sources WHERE source_id = $source))
            AND v.source_id <> $source AND v.duplicate_of IS NULL
        GROUP BY p.visit_key""",
        {"source": source_id},
    )
    con.unregister("part")
    return found


def mark_duplicates(con: Connection, found: pl.DataFrame) -> int:
    """Link visits to the ones they repeat, so that each is counted once; returns how many were linked.

    The one that counts takes over what it lacks: a title, what led to it, how long it lasted. Never to one that has
    become a repeat itself since it was found: two imports side by side would link a pair both ways, and it would be
    counted by neither.
    """
    if not found.height:
        return 0
    con.register("found", found.to_arrow())
    changed = _number(
        con.execute("""
            UPDATE store.visits SET duplicate_of = f.duplicate_of,
                duplicate_reason = 'same URL at the same time, other source', change_id = nextval('store.change_seq')
            FROM found f WHERE f.visit_key = visits.visit_key AND visits.duplicate_of IS NULL
                AND f.duplicate_of NOT IN (SELECT visit_key FROM store.visits WHERE duplicate_of IS NOT NULL)""")
    )
    if changed:
        con.execute("""
            UPDATE store.visits SET title = coalesce(visits.title, r.title),
                from_key = coalesce(visits.from_key, r.from_key),
                opener_key = coalesce(visits.opener_key, r.opener_key),
                duration_us = greatest(visits.duration_us, r.duration_us),
                foreground_us = greatest(visits.foreground_us, r.foreground_us),
                navigation = CASE visits.navigation WHEN 'other' THEN r.navigation ELSE visits.navigation END,
                change_id = nextval('store.change_seq')
            FROM (
                SELECT d.duplicate_of, any_value(d.title) AS title, any_value(d.from_key) AS from_key,
                       any_value(d.opener_key) AS opener_key, max(d.duration_us) AS duration_us,
                       max(d.foreground_us) AS foreground_us, any_value(d.navigation) AS navigation
                FROM store.visits d SEMI JOIN found USING (visit_key) WHERE d.duplicate_of IS NOT NULL GROUP BY ALL) r
            WHERE visits.visit_key = r.duplicate_of
                AND (visits.title, visits.from_key, visits.opener_key, visits.duration_us, visits.foreground_us,
                     visits.navigation) IS DISTINCT FROM (
                        coalesce(visits.title, r.title), coalesce(visits.from_key, r.from_key),
                        coalesce(visits.opener_key, r.opener_key), greatest(visits.duration_us, r.duration_us),
                        greatest(visits.foreground_us, r.foreground_us),
                        CASE visits.navigation WHEN 'other' THEN r.navigation ELSE visits.navigation END)""").fetchall()
    con.unregister("found")
    return changed


def _number(result: Connection) -> int:
    rows = result.fetchall()  # to the end: an open result would block the next statement
    return int(rows[0][0]) if rows else 0
