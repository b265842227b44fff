"""Merges of what Slack tells: people, channels, messages; and the threads that they make searchable.

A message is known by its channel and timestamp. Of two copies the one edited later counts, then the one with more
replies, then the one that comes last; what was deleted stays deleted. A thread is one document.
"""

import polars as pl

from brain import ids
from brain.merge import Merged, next_change
from brain.sql import Connection, frame

_OWN = (
    *("message_key", "channel_id", "ts", "sent_at", "thread_ts", "thread_id", "user_id", "author", "subtype"),
    *("is_system", "is_deleted", "is_broadcast", "text", "edited_ts", "reply_count", "content_hash"),
)
# What hangs on a message: its table and the columns taken out of the list of that name.
_PARTS = {
    "links": ("url", "label", "domain", "page_id"),
    "reactions": ("name", "count", "users"),
    "files": ("file_id", "name", "title", "mimetype", "bytes", "url"),
}
_NEWER = """
    m.message_key IS NULL OR NOT m.is_deleted AND (
        p.is_deleted OR coalesce(p.edited_ts, '') > coalesce(m.edited_ts, '')
        OR coalesce(p.edited_ts, '') = coalesce(m.edited_ts, '') AND p.content_hash <> m.content_hash
            AND p.reply_count >= m.reply_count)"""


def unsettled(con: Connection, rows: pl.DataFrame) -> pl.DataFrame:
    """Columns message_key, is_new: the messages of which the lake has no copy, or an older one."""
    wanted = ["message_key", "is_deleted", "edited_ts", "reply_count", "content_hash"]
    con.register("part", rows.select(wanted).to_arrow())
    found = frame(
        con,
        f"SELECT p.message_key, m.message_key IS NULL AS is_new "
        f"FROM part p LEFT JOIN store.slack_messages m USING (message_key) WHERE {_NEWER}",
    )
    con.unregister("part")
    return found


def merge_messages(con: Connection, rows: pl.DataFrame, source_id: int, import_id: int | None) -> Merged:
    """Insert messages the lake lacks, replace older copies, and make or renew the documents of their threads."""
    con.register("part", rows.to_arrow())
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE taken AS
        SELECT p.*, m.message_key IS NULL AS is_new
        FROM part p LEFT JOIN store.slack_messages m USING (message_key) WHERE {_NEWER}""")
    con.unregister("part")
    ((total, new),) = con.execute("SELECT count(*), count(*) FILTER (is_new) FROM taken").fetchall()
    if total > new:
        for table in ("messages", *_PARTS):
            con.execute(
                f"DELETE FROM store.slack_{table} WHERE message_key IN (SELECT message_key FROM taken WHERE NOT is_new)"
            )
    con.execute(
        f"INSERT INTO store.slack_messages BY NAME SELECT {', '.join(_OWN)}, ?::USMALLINT AS source_id, "
        "?::INTEGER AS import_id, ?::BIGINT AS change_id FROM taken",
        [source_id, import_id, next_change(con)],
    )
    for part, columns in _PARTS.items():
        taken = ", ".join(f'each."{name}"' for name in columns)
        con.execute(
            f"INSERT INTO store.slack_{part} BY NAME SELECT message_key, {taken} "
            f"FROM (SELECT message_key, unnest({part}) AS each FROM taken)"
        )
    con.execute("CREATE OR REPLACE TEMP TABLE touched AS SELECT DISTINCT thread_id FROM taken")
    con.execute("DROP TABLE taken")
    _renew_documents(con)
    return Merged(int(new), int(total - new))


def merge_channels(con: Connection, rows: pl.DataFrame, source_id: int, import_id: int | None) -> Merged:
    """Insert channels, renew known ones. A new name is added to those it had, and its threads are shown under it."""
    con.register("part", rows.to_arrow())
    con.execute("""
        CREATE OR REPLACE TEMP TABLE touched AS
        SELECT DISTINCT thread_id FROM store.slack_messages SEMI JOIN (
            SELECT channel_id FROM part p JOIN store.slack_channels c USING (channel_id)
            WHERE (p.name, p.kind) IS DISTINCT FROM (c.name, c.kind)) USING (channel_id)""")
    ((updated,),) = con.execute("""
        UPDATE store.slack_channels c SET name = p.name, kind = p.kind, topic = p.topic, purpose = p.purpose,
            is_archived = p.is_archived, created_at = coalesce(p.created_at, c.created_at),
            members = CASE WHEN len(p.members) > 0 THEN p.members ELSE c.members END,
            names = CASE WHEN list_contains(c.names, p.name) THEN c.names ELSE list_append(c.names, p.name) END
        FROM part p WHERE p.channel_id = c.channel_id AND (
            (p.name, p.kind, p.topic, p.purpose, p.is_archived) IS DISTINCT FROM
                (c.name, c.kind, c.topic, c.purpose, c.is_archived)
            OR len(p.members) > 0 AND p.members IS DISTINCT FROM c.members)""").fetchall()
    ((new,),) = con.execute("""
        INSERT INTO store.slack_channels BY NAME
        SELECT *, [name] AS names FROM part ANTI JOIN store.slack_channels USING (channel_id)""").fetchall()
    con.unregister("part")
    _renew_documents(con)
    return Merged(int(new), int(updated))


def merge_users(con: Connection, rows: pl.DataFrame, source_id: int, import_id: int | None) -> Merged:
    """Insert people and bots, renew known ones."""
    con.register("part", rows.to_arrow())
    ((updated,),) = con.execute("""
        UPDATE store.slack_users u SET name = p.name, is_bot = p.is_bot, is_deleted = p.is_deleted FROM part p
        WHERE p.user_id = u.user_id AND (p.name, p.is_bot, p.is_deleted) IS DISTINCT FROM
            (u.name, u.is_bot, u.is_deleted)""").fetchall()
    ((new,),) = con.execute("""
        INSERT INTO store.slack_users BY NAME
        SELECT * FROM part ANTI JOIN store.slack_users USING (user_id)""").fetchall()
    con.unregister("part")
    return Merged(int(new), int(updated))


def _renew_documents(con: Connection) -> None:
    """Make the documents of the threads in `touched` anew where that changes them; drops `touched`.

    A thread's text is what people said in it, one line each with who and when; its title is how it begins.
    """
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE told AS
        WITH said AS (
            SELECT m.thread_id, m.sent_at, m.ts, m.author, m.text,
                   CASE c.kind WHEN 'dm' THEN 'DM with ' || c.name WHEN 'group_dm' THEN 'group DM ' || c.name
                        ELSE '#' || coalesce(c.name, m.channel_id) END AS origin
            FROM store.slack_messages m SEMI JOIN touched USING (thread_id)
            LEFT JOIN store.slack_channels c USING (channel_id)
            WHERE NOT m.is_system AND NOT m.is_deleted AND m.text <> '')
        SELECT {ids.sql("s", "thread_id")} AS doc_id,
               left(split_part(arg_min(text, (sent_at, ts)), chr(10), 1), 120) AS title,
               string_agg(author || ', ' || strftime(sent_at, '%Y-%m-%d %H:%M') || ': ' || text, chr(10)
                          ORDER BY sent_at, ts) AS text,
               any_value(origin) AS origin, min(sent_at) AS first_at, max(sent_at) AS last_at
        FROM said GROUP BY thread_id""")
    con.execute(f"""
        UPDATE store.documents SET state = 'removed', change_id = nextval('store.change_seq')
        WHERE doc_id IN (SELECT {ids.sql("s", "thread_id")} FROM touched) AND state NOT IN ('removed', 'gone')
            AND doc_id NOT IN (SELECT doc_id FROM told)""")
    con.execute("DROP TABLE touched")
    con.execute("""
        DELETE FROM told t USING store.documents d WHERE d.doc_id = t.doc_id AND d.state NOT IN ('removed', 'gone')
            AND (t.title, t.text, t.origin, t.first_at, t.last_at)
                IS NOT DISTINCT FROM (d.title, d.text, d.origin, d.first_at, d.last_at)""")
    con.execute("DELETE FROM store.documents WHERE doc_id IN (SELECT doc_id FROM told)")
    con.execute("""
        INSERT INTO store.documents (doc_id, kind, title, text, source, origin, first_at, last_at, visit_count,
                                     state, change_id)
        SELECT doc_id, 'slack_thread', title, text, 'slack', origin, first_at, last_at, 0, 'stale',
               nextval('store.change_seq') FROM told""")
    con.execute("DROP TABLE told")
