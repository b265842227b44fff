"""What of Slack is set up, what came, and which preferences it proposes."""

from dataclasses import dataclass, field
from datetime import datetime

from brain.services import slack_access
from brain.services.slack_access import Secret
from brain.slack.proposals import read_proposal
from brain.sql import records
from brain.workspace import Workspace

_PROPOSALS = 20


@dataclass(frozen=True, slots=True)
class ChannelState:
    """One channel of the lake; times are UTC. `synced_through` is the newest message that the last sync knew."""

    id: str
    name: str
    kind: str
    messages: int
    thoughts: int
    newest: datetime | None
    synced_through: datetime | None


@dataclass(frozen=True, slots=True)
class Proposed:
    """A preference that a message proposes, and the command by which a person makes it one."""

    thought_id: str
    author: str
    text: str
    command: str


@dataclass(frozen=True, slots=True)
class SlackStatus:
    """`secrets` tells of each whether the home holds it; `capture` are the channels whose messages become thoughts."""

    secrets: dict[str, bool]
    capture: list[str]
    messages: int = 0
    thoughts: int = 0
    channels: list[ChannelState] = field(default_factory=list)
    proposals: list[Proposed] = field(default_factory=list)


def slack_status(ws: Workspace) -> SlackStatus:
    """How Slack stands. Raises LakeError."""
    names: tuple[Secret, ...] = ("slack_token", "slack_app_token", "slack_signing_secret")
    secrets: dict[str, bool] = {name: slack_access.kept(ws, name) is not None for name in names}
    capture = [str(name) for name in ws.settings.slack_capture]
    if not ws.lake.exists:
        return SlackStatus(secrets, capture)
    ws.lake.ensure()
    with ws.lake.read(what="slack status") as con:
        channels = [ChannelState(**row) for row in records(con.execute(_CHANNELS))]
        proposed = records(con.execute(_PROPOSED, [_PROPOSALS]))
        set_ = con.execute("SELECT want FROM store.preferences WHERE removed_at IS NULL").fetchall()
    wants = {want for (want,) in set_}
    # One that was set is proposed no longer.
    proposals = [
        Proposed(row["thought_id"], row["author"], row["content"], found.command)
        for row in proposed
        if (found := read_proposal(row["content"])) and found.want not in wants
    ]
    return SlackStatus(
        secrets,
        capture,
        sum(channel.messages for channel in channels),
        sum(channel.thoughts for channel in channels),
        channels,
        proposals,
    )


_CHANNELS = """
    WITH said AS (
        SELECT channel_id, count(*) AS messages, 0 AS thoughts, max(sent_at) AS newest
        FROM store.slack_messages WHERE NOT is_deleted GROUP BY 1
        UNION ALL
        SELECT channel_id, 0, count(*), make_timestamptz(max(replace(ts, '.', '')::BIGINT))
        FROM store.slack_captures WHERE NOT is_deleted GROUP BY 1)
    SELECT channel_id AS id, coalesce(any_value(c.name), channel_id) AS name,
           coalesce(any_value(c.kind), 'unknown') AS kind, sum(messages)::BIGINT AS messages,
           sum(thoughts)::BIGINT AS thoughts, max(newest) AS newest,
           make_timestamptz((any_value(m.value)::DOUBLE * 1e6)::BIGINT) AS synced_through
    FROM said LEFT JOIN store.slack_channels c USING (channel_id)
    LEFT JOIN store.meta m ON m.name = 'slack_sync:' || channel_id
    GROUP BY channel_id ORDER BY newest DESC"""
_PROPOSED = """
    SELECT c.thought_id, c.author, t.content FROM store.slack_captures c JOIN store.thoughts t USING (thought_id)
    WHERE c.is_proposal AND NOT c.is_deleted AND t.deleted_at IS NULL
    ORDER BY c.ts DESC LIMIT ?"""
