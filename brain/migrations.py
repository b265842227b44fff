"""The lake's schema: numbered steps, each applied once, in one transaction with its record.

Base tables live in schema `store`; what people and models query are the views in `main` (see `brain.views`),
which are rebuilt after every migration, so a step never has to carry them along. Steps are append-only: a
released one never changes.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import duckdb

from brain import receipts, views
from brain.errors import LakeError
from brain.sql import Connection, transaction


def _001_history(con: Connection) -> None:
    # No PRIMARY KEY or UNIQUE on bulk tables: their indexes make loading several times slower, and every
    # writer merges by anti-join under the exclusive lease.
    con.execute("""
        CREATE SEQUENCE store.change_seq;
        CREATE SEQUENCE store.import_seq;
        CREATE SEQUENCE store.source_seq;
        CREATE TABLE store.meta (name VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
        CREATE TABLE store.sources (
            source_id USMALLINT PRIMARY KEY, source VARCHAR NOT NULL, browser VARCHAR NOT NULL,
            profile VARCHAR NOT NULL, device VARCHAR NOT NULL);
        CREATE TABLE store.imports (
            import_id INTEGER PRIMARY KEY, path VARCHAR NOT NULL, source VARCHAR, browser VARCHAR,
            profile VARCHAR, device VARCHAR, sha256 VARCHAR, bytes BIGINT, file_state VARCHAR,
            reader VARCHAR,
            started_at TIMESTAMPTZ NOT NULL, finished_at TIMESTAMPTZ, status VARCHAR NOT NULL,
            seen BIGINT NOT NULL DEFAULT 0, new BIGINT NOT NULL DEFAULT 0, updated BIGINT NOT NULL DEFAULT 0,
            rejected BIGINT NOT NULL DEFAULT 0, visible BIGINT NOT NULL DEFAULT 0,
            counts JSON, seconds DOUBLE, error VARCHAR, pid INTEGER);
        CREATE TABLE store.rejects (import_id INTEGER NOT NULL, "where" VARCHAR NOT NULL, reason VARCHAR NOT NULL);
        CREATE TABLE store.urls (
            url_id UBIGINT NOT NULL, page_id UBIGINT NOT NULL, url VARCHAR NOT NULL, url_norm VARCHAR NOT NULL,
            scheme VARCHAR NOT NULL, host VARCHAR NOT NULL, domain VARCHAR NOT NULL,
            title VARCHAR, title_as_of TIMESTAMPTZ, known_last_visit TIMESTAMPTZ, known_visits BIGINT,
            typed_count BIGINT, import_id INTEGER, change_id BIGINT NOT NULL);
        CREATE TABLE store.titles (
            url_id UBIGINT NOT NULL, title VARCHAR NOT NULL, as_of TIMESTAMPTZ, import_id INTEGER);
        CREATE TABLE store.visits (
            visit_key UBIGINT NOT NULL, url_id UBIGINT NOT NULL, visited_at TIMESTAMPTZ NOT NULL,
            from_key UBIGINT, opener_key UBIGINT, transition BIGINT, navigation VARCHAR,
            is_visible BOOLEAN NOT NULL, is_hop BOOLEAN NOT NULL, is_subframe BOOLEAN NOT NULL,
            is_reload BOOLEAN NOT NULL, is_back_forward BOOLEAN NOT NULL,
            duration_us BIGINT, foreground_us BIGINT, origin VARCHAR, title VARCHAR,
            source_id USMALLINT NOT NULL, import_id INTEGER,
            duplicate_of UBIGINT, duplicate_reason VARCHAR, change_id BIGINT NOT NULL);
        CREATE TABLE store.observations (
            visit_key UBIGINT NOT NULL, source_id USMALLINT NOT NULL, native_id BIGINT NOT NULL,
            origin_device VARCHAR, import_id INTEGER);
        CREATE TABLE store.documents (
            doc_id VARCHAR NOT NULL, kind VARCHAR NOT NULL, page_id UBIGINT, title VARCHAR, text VARCHAR NOT NULL,
            url VARCHAR, domain VARCHAR, source VARCHAR NOT NULL, origin VARCHAR, first_at TIMESTAMPTZ,
            last_at TIMESTAMPTZ, visit_count BIGINT NOT NULL, version INTEGER NOT NULL DEFAULT 1,
            state VARCHAR NOT NULL, change_id BIGINT NOT NULL);
        CREATE TABLE store.page_aliases (alias_id UBIGINT NOT NULL, page_id UBIGINT NOT NULL, reason VARCHAR NOT NULL);
    """)
    receipts.ensure_schema(con)


def _002_bookmarks(con: Connection) -> None:
    con.execute("""
        ALTER TABLE store.sources ADD COLUMN clock_us BIGINT DEFAULT 1000000;
        CREATE TABLE store.bookmarks (
            bookmark_key UBIGINT NOT NULL, url_id UBIGINT NOT NULL, source_id USMALLINT NOT NULL, native_id VARCHAR,
            title VARCHAR, folder VARCHAR[] NOT NULL, tags VARCHAR[] NOT NULL, note VARCHAR, added_at TIMESTAMPTZ,
            added_raw VARCHAR, modified_at TIMESTAMPTZ, last_used_at TIMESTAMPTZ, shelf VARCHAR NOT NULL,
            import_id INTEGER, change_id BIGINT NOT NULL);
        CREATE TABLE store.texts (
            doc_id VARCHAR NOT NULL, kind VARCHAR NOT NULL, source_id USMALLINT NOT NULL, native_id VARCHAR NOT NULL,
            url VARCHAR, domain VARCHAR, title VARCHAR, text VARCHAR NOT NULL, tags VARCHAR[] NOT NULL,
            created_at TIMESTAMPTZ, modified_at TIMESTAMPTZ, details JSON, import_id INTEGER,
            change_id BIGINT NOT NULL);
        -- Visits that their source no longer has and the person wanted gone too; out of every count and view.
        CREATE TABLE store.removed_visits AS FROM store.visits LIMIT 0;
        ALTER TABLE store.removed_visits ADD COLUMN removed_at TIMESTAMPTZ;
    """)


def _003_thoughts(con: Connection) -> None:
    con.execute("""
        CREATE TABLE store.thoughts (
            thought_id VARCHAR NOT NULL, content VARCHAR NOT NULL, content_hash VARCHAR NOT NULL,
            source VARCHAR NOT NULL, channel VARCHAR NOT NULL, client VARCHAR, created_at TIMESTAMPTZ NOT NULL,
            captured_at TIMESTAMPTZ NOT NULL, type VARCHAR NOT NULL, topics VARCHAR[] NOT NULL,
            people VARCHAR[] NOT NULL, action_items VARCHAR[] NOT NULL, dates VARCHAR[] NOT NULL,
            version INTEGER NOT NULL, edited_at TIMESTAMPTZ, deleted_at TIMESTAMPTZ, superseded_by VARCHAR,
            same_as VARCHAR, change_id BIGINT NOT NULL);
        CREATE TABLE store.thought_occurrences (
            thought_id VARCHAR NOT NULL, source VARCHAR NOT NULL, client VARCHAR, occurred_at TIMESTAMPTZ NOT NULL,
            captured_at TIMESTAMPTZ NOT NULL, event_id VARCHAR NOT NULL);
        CREATE TABLE store.thought_versions (
            thought_id VARCHAR NOT NULL, version INTEGER NOT NULL, content VARCHAR NOT NULL, type VARCHAR NOT NULL,
            replaced_at TIMESTAMPTZ NOT NULL, client VARCHAR);
        CREATE TABLE store.preferences (
            preference_id VARCHAR NOT NULL, name VARCHAR NOT NULL, domain VARCHAR NOT NULL, want VARCHAR,
            reject VARCHAR, constraint_type VARCHAR NOT NULL, created_at TIMESTAMPTZ NOT NULL,
            updated_at TIMESTAMPTZ NOT NULL, version INTEGER NOT NULL, removed_at TIMESTAMPTZ);
        CREATE TABLE store.audit (
            done_at TIMESTAMPTZ NOT NULL, who VARCHAR, action VARCHAR NOT NULL, subject VARCHAR NOT NULL,
            old JSON, new JSON, reason VARCHAR);
    """)


def _004_live(con: Connection) -> None:
    con.execute("""
        CREATE TABLE store.tab_snapshots (
            source_id USMALLINT NOT NULL, taken_at TIMESTAMPTZ NOT NULL, client VARCHAR);
        CREATE TABLE store.tabs (
            source_id USMALLINT NOT NULL, tab BIGINT NOT NULL, "window" BIGINT, place INTEGER, url VARCHAR NOT NULL,
            url_norm VARCHAR NOT NULL, page_id UBIGINT NOT NULL, domain VARCHAR NOT NULL, title VARCHAR,
            is_active BOOLEAN NOT NULL, is_pinned BOOLEAN NOT NULL, is_audible BOOLEAN NOT NULL,
            is_discarded BOOLEAN NOT NULL, tab_group VARCHAR, last_accessed TIMESTAMPTZ);
        CREATE TABLE store.commands (
            command_id VARCHAR NOT NULL, kind VARCHAR NOT NULL, browser VARCHAR, profile VARCHAR, data JSON NOT NULL,
            asked_by VARCHAR, staged_at TIMESTAMPTZ NOT NULL, expires_at TIMESTAMPTZ NOT NULL, claimed_by VARCHAR,
            claimed_at TIMESTAMPTZ, finished_at TIMESTAMPTZ, ok BOOLEAN, result JSON);
    """)


def _005_slack(con: Connection) -> None:
    con.execute("""
        CREATE TABLE store.slack_users (
            user_id VARCHAR NOT NULL, name VARCHAR NOT NULL, is_bot BOOLEAN NOT NULL, is_deleted BOOLEAN NOT NULL);
        CREATE TABLE store.slack_channels (
            channel_id VARCHAR NOT NULL, name VARCHAR NOT NULL, names VARCHAR[] NOT NULL, kind VARCHAR NOT NULL,
            topic VARCHAR, purpose VARCHAR, created_at TIMESTAMPTZ, is_archived BOOLEAN NOT NULL,
            members VARCHAR[] NOT NULL);
        CREATE TABLE store.slack_messages (
            message_key UBIGINT NOT NULL, channel_id VARCHAR NOT NULL, ts VARCHAR NOT NULL,
            sent_at TIMESTAMPTZ NOT NULL, thread_ts VARCHAR NOT NULL, thread_id UBIGINT NOT NULL, user_id VARCHAR,
            author VARCHAR NOT NULL, subtype VARCHAR, is_system BOOLEAN NOT NULL, is_deleted BOOLEAN NOT NULL,
            is_broadcast BOOLEAN NOT NULL, text VARCHAR NOT NULL, edited_ts VARCHAR, reply_count INTEGER NOT NULL,
            content_hash UBIGINT NOT NULL, source_id USMALLINT NOT NULL, import_id INTEGER, change_id BIGINT NOT NULL);
        CREATE TABLE store.slack_links (
            message_key UBIGINT NOT NULL, url VARCHAR NOT NULL, label VARCHAR, domain VARCHAR NOT NULL,
            page_id UBIGINT NOT NULL);
        CREATE TABLE store.slack_reactions (
            message_key UBIGINT NOT NULL, name VARCHAR NOT NULL, count INTEGER NOT NULL, users VARCHAR[] NOT NULL);
        CREATE TABLE store.slack_files (
            message_key UBIGINT NOT NULL, file_id VARCHAR NOT NULL, name VARCHAR, title VARCHAR, mimetype VARCHAR,
            bytes BIGINT, url VARCHAR);
    """)


def _006_slack_captures(con: Connection) -> None:
    con.execute("""
        CREATE TABLE store.slack_captures (
            channel_id VARCHAR NOT NULL, ts VARCHAR NOT NULL, thread_ts VARCHAR NOT NULL, author VARCHAR NOT NULL,
            edited_ts VARCHAR NOT NULL, digest VARCHAR NOT NULL, thought_id VARCHAR NOT NULL,
            is_proposal BOOLEAN NOT NULL, is_deleted BOOLEAN NOT NULL);
    """)


MIGRATIONS: tuple[tuple[int, str, Callable[[Connection], None]], ...] = (
    (1, "history", _001_history),
    (2, "bookmarks", _002_bookmarks),
    (3, "thoughts", _003_thoughts),
    (4, "live", _004_live),
    (5, "slack", _005_slack),
    (6, "slack captures", _006_slack_captures),
)
LATEST = MIGRATIONS[-1][0]


def version(con: Connection) -> int:
    """The number of the newest applied step; 0 for an empty file."""
    known = con.execute(
        "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'store' AND table_name = 'migrations'"
    ).fetchone()
    if not known or not known[0]:
        return 0
    row = con.execute("SELECT coalesce(max(number), 0) FROM store.migrations").fetchone()
    return int(row[0]) if row else 0


def check(con: Connection) -> None:
    """Raise LakeError when the lake was written by a newer Brainlake. Reads only."""
    if (found := version(con)) > LATEST:
        raise LakeError(
            f"this lake has schema {found}, made by a newer Brainlake; this one knows {LATEST}: upgrade it"
        )


def migrate(con: Connection) -> list[int]:
    """Bring the lake to LATEST; returns the numbers applied now, empty when it was up to date.

    Each step commits with its record or not at all. Raises LakeError for a newer lake or a failing step.
    """
    check(con)
    done = version(con)
    applied = []
    for number, name, step in MIGRATIONS:
        if number <= done:
            continue
        try:
            with transaction(con):
                con.execute("CREATE SCHEMA IF NOT EXISTS store")
                con.execute(
                    "CREATE TABLE IF NOT EXISTS store.migrations "
                    "(number INTEGER PRIMARY KEY, name VARCHAR NOT NULL, applied_at TIMESTAMPTZ NOT NULL)"
                )
                step(con)
                if number == LATEST:  # the views ask for what the last step made
                    views.create(con)
                con.execute(
                    "INSERT INTO store.migrations VALUES (?, ?, ?)", [number, name, datetime.now(UTC)]
                )
        except duckdb.Error as error:
            raise LakeError(f"migration {number} ({name}) failed and was rolled back: {error}") from error
        applied.append(number)
    return applied
