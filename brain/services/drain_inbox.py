"""Apply what waits in the inbox: what browsers, clients and people tell.

Each event kind has one applier, called in the drain's transaction.
"""

from brain.applying import Applier, Together
from brain.inbox import DrainReport, Inbox
from brain.services import _command_events as commands
from brain.services import _preference_events as preferences
from brain.services import _slack_events as slack
from brain.services import _thought_events as thoughts
from brain.services import coverage
from brain.services._document_events import merge_bookmarks, merge_texts
from brain.services._live_index import index_written
from brain.services._tab_events import replace_tabs
from brain.services._visit_events import add_dwell, merge_visits
from brain.workspace import Workspace


def drain(ws: Workspace) -> DrainReport:
    """Apply all waiting events; safe to call from any number of processes. Raises LakeBusy or LakeError."""
    box = inbox(ws)
    if not box.waiting():
        return DrainReport()
    report = box.drain(appliers(ws))
    if report.applied:
        coverage.refresh(ws)
    return report


def inbox(ws: Workspace) -> Inbox:
    """The inbox of this lake."""
    return Inbox(ws.home, ws.lake.leases, ws.settings.now, lambda con, done: index_written(ws, con, done))


def appliers(ws: Workspace) -> dict[str, Applier]:
    """What each event kind does; creates the lake where there is none.

    Raises LakeError, and UsageError for a deny list that cannot be meant.
    """
    ws.lake.ensure()
    _ = ws.key, ws.policy  # they read the lake and files, which cannot wait until the lease is held
    return {
        "visit": Together(lambda con, events: merge_visits(ws, con, events)),
        "dwell": Together(lambda con, events: add_dwell(ws, con, events)),
        "tabs": Together(lambda con, events: replace_tabs(ws, con, events)),
        **dict.fromkeys(
            ("note", "highlight", "capture"), Together(lambda con, events: merge_texts(ws, con, events))
        ),
        "bookmark": Together(lambda con, events: merge_bookmarks(ws, con, events)),
        "command": lambda con, event: commands.stage(con, event),
        "command_done": lambda con, event: commands.finish(ws, con, event),
        "thought": Together(lambda con, events: thoughts.capture(con, events, ws.key)),
        "slack_message": Together(lambda con, events: slack.merge_said(ws, con, events)),
        "slack_thought": lambda con, event: slack.capture(con, event, ws.key),
        "thought_edit": lambda con, event: thoughts.edit(con, event, ws.key),
        "thought_delete": lambda con, event: thoughts.delete(con, event),
        "thought_restore": lambda con, event: thoughts.restore(con, event),
        "thought_supersede": lambda con, event: thoughts.supersede(con, event),
        "preference_set": lambda con, event: preferences.set_preference(con, event, ws.key),
        "preference_remove": lambda con, event: preferences.remove_preference(con, event),
    }
