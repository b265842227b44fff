"""The documented views over what Slack told, and over what of it was opened in a browser."""

from brain import ids
from brain.view import View

SLACK_VIEWS: tuple[View, ...] = (
    View(
        "slack_messages",
        "Everything said in Slack, one row per message, also those that were deleted.",
        f"""
        SELECT {ids.sql("s", "m.thread_id")} AS thread_id, c.name AS channel, c.kind AS channel_kind, m.sent_at,
               m.author, m.text, m.ts = m.thread_ts AS is_root, m.is_system, m.is_deleted, m.is_broadcast, m.subtype,
               m.reply_count, m.edited_ts IS NOT NULL AS is_edited, m.user_id, m.channel_id, m.ts, m.thread_ts,
               m.import_id
        FROM store.slack_messages m LEFT JOIN store.slack_channels c USING (channel_id)""",
        {
            "thread_id": "id of the thread's document; a message without replies is a thread of its own",
            "channel": "newest name of the channel; of a direct message the people in it",
            "channel_kind": "public, private, dm or group_dm",
            "sent_at": "when it was sent, UTC, microseconds",
            "author": "who wrote it, by the best name known at the import",
            "text": "as people read it: mentions by name, links by label and address; secrets replaced",
            "is_root": "it begins its thread",
            "is_system": "written by Slack about the channel: someone joined, a topic was set",
            "is_deleted": "it was deleted; its text is gone",
            "is_broadcast": "a reply that was sent to the channel as well",
            "subtype": "Slack's own word for what it is; NULL for an ordinary message",
            "reply_count": "replies, as the thread's first message tells",
            "is_edited": "it was edited after it was sent",
            "user_id": "Slack's id of the author",
            "channel_id": "Slack's id of the channel",
            "ts": "Slack's timestamp, which identifies it within the channel",
            "thread_ts": "timestamp of the thread's first message",
            "import_id": "import that brought the newest copy",
        },
    ),
    View(
        "slack_threads",
        "One row per thread in which a person said something.",
        f"""
        SELECT {ids.sql("s", "m.thread_id")} AS id, any_value(c.name) AS channel,
               arg_min(m.author, (m.sent_at, m.ts)) AS started_by, min(m.sent_at) AS started_at,
               max(m.sent_at) AS last_at, count(*) AS messages, list_sort(list_distinct(list(m.author))) AS people,
               any_value(d.title) AS title, coalesce(any_value(l.links), 0) AS links
        FROM store.slack_messages m LEFT JOIN store.slack_channels c USING (channel_id)
        LEFT JOIN store.documents d ON d.doc_id = {ids.sql("s", "m.thread_id")}
        LEFT JOIN (SELECT thread_id, count(DISTINCT page_id) AS links FROM store.slack_links
                   JOIN store.slack_messages USING (message_key) GROUP BY 1) l USING (thread_id)
        WHERE NOT m.is_system AND NOT m.is_deleted GROUP BY m.thread_id""",
        {
            "id": "document id",
            "channel": "newest name of the channel",
            "started_by": "author of its first message that is known",
            "started_at": "when that was sent, UTC",
            "last_at": "when the last was sent, UTC",
            "messages": "messages people wrote",
            "people": "who wrote them, sorted",
            "title": "how it begins",
            "links": "distinct pages linked in it",
        },
    ),
    View(
        "shared_links",
        "Links in Slack and whether their pages were opened: one row per message and link.",
        f"""
        WITH opened AS (
            SELECT u.page_id, v.visited_at FROM store.visits v JOIN store.urls u USING (url_id)
            WHERE v.is_visible AND v.duplicate_of IS NULL AND u.page_id IN (SELECT page_id FROM store.slack_links)),
        after AS (
            SELECT l.message_key, l.page_id, min(o.visited_at) FILTER (o.visited_at >= m.sent_at) AS opened_after,
                   count(*) FILTER (o.visited_at < m.sent_at) AS visits_before, count(*) AS visits
            FROM (SELECT DISTINCT message_key, page_id FROM store.slack_links) l
            JOIN store.slack_messages m USING (message_key) JOIN opened o USING (page_id) GROUP BY 1, 2)
        SELECT {ids.sql("p", "l.page_id")} AS page_id, l.url, l.label, l.domain, m.author AS shared_by,
               m.sent_at AS shared_at, c.name AS channel, {ids.sql("s", "m.thread_id")} AS thread_id,
               coalesce(a.visits, 0) > 0 AS is_opened, a.opened_after, coalesce(a.visits_before, 0) AS visits_before
        FROM store.slack_links l JOIN store.slack_messages m USING (message_key)
        LEFT JOIN store.slack_channels c USING (channel_id) LEFT JOIN after a USING (message_key, page_id)
        WHERE NOT m.is_deleted""",
        {
            "page_id": "page the link leads to; joins `pages` and `visits`",
            "url": "address as it was shared, secrets replaced",
            "label": "what it was called; NULL where it stands bare",
            "domain": "registrable domain",
            "shared_by": "author of the message",
            "shared_at": "when it was sent, UTC",
            "channel": "newest name of the channel",
            "thread_id": "thread it was shared in",
            "is_opened": "some browser of yours has shown the page, before or after",
            "opened_after": "first visit since it was shared, UTC; NULL when there was none",
            "visits_before": "visits before it was shared",
        },
    ),
    View(
        "slack_channels",
        "Channels and direct messages of Slack.",
        """
        SELECT channel_id AS id, name, names, kind, topic, purpose, created_at, is_archived, members
        FROM store.slack_channels""",
        {
            "id": "Slack's id",
            "name": "newest name; of a direct message the people in it",
            "names": "all names it had, oldest first",
            "kind": "public, private, dm or group_dm",
            "topic": "its topic",
            "purpose": "its purpose",
            "created_at": "UTC",
            "is_archived": "it is archived",
            "members": "Slack's ids of its members, where known",
        },
    ),
    View(
        "slack_users",
        "People and bots of Slack that a list names.",
        "SELECT user_id AS id, name, is_bot, is_deleted FROM store.slack_users",
        {
            "id": "Slack's id",
            "name": "display name, else real name, else user name",
            "is_bot": "a bot or an app",
            "is_deleted": "no longer active",
        },
    ),
    View(
        "slack_captures",
        "Messages of Slack that became thoughts, one row per message.",
        """
        SELECT c.thought_id, n.name AS channel, make_timestamptz(replace(c.ts, '.', '')::BIGINT) AS said_at, c.author,
               t.content, r.thought_id AS reply_to, c.is_proposal, c.is_deleted, c.channel_id, c.ts
        FROM store.slack_captures c LEFT JOIN store.thoughts t USING (thought_id)
        LEFT JOIN store.slack_channels n USING (channel_id)
        LEFT JOIN store.slack_captures r
            ON r.channel_id = c.channel_id AND r.ts = c.thread_ts AND c.ts <> c.thread_ts""",
        {
            "thought_id": "id of the thought; joins `thoughts`",
            "channel": "newest name of the channel; NULL until a sync has told it",
            "said_at": "when it was written, UTC",
            "author": "who wrote it",
            "content": "the thought as it is now",
            "reply_to": "the thought that the thread began with; NULL for one that is no reply",
            "is_proposal": "it proposes a preference, which only a person sets",
            "is_deleted": "the message was deleted in Slack",
            "channel_id": "Slack's id of the channel",
            "ts": "Slack's timestamp, which identifies it within the channel",
        },
    ),
)
