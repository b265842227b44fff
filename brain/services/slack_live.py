"""Slack as it happens: what the Events API posts to `/slack/events`, or Socket Mode sends over a connection of ours."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from brain.errors import BrainError
from brain.services import slack_capture
from brain.services.slack_access import SlackUnavailable, required, web_client
from brain.services.slack_capture import Taken
from brain.slack.events import read_envelope
from brain.slack.text import Names
from brain.workspace import Workspace

if TYPE_CHECKING:
    from slack_sdk import WebClient

_LOG = logging.getLogger(__name__)
_NAMES_FOR_S = 60.0
_REMEMBERED = 5_000  # ids of events, which Slack sends again when it has not heard from us


class Live:
    """What comes from Slack, one message at a time; safe for threads.

    With a client, a message that became a thought is answered in its thread.
    """

    def __init__(self, ws: Workspace, client: "WebClient | None" = None) -> None:
        self._ws, self._client = ws, client
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._names, self._names_at = Names(), float("-inf")
        self.taken = 0

    def take(self, envelope: Any) -> Taken | None:
        """Make an event durable; None when it is known, or no message to keep.

        Raises Unreadable for what Slack does not send, and LakeError or LakeBusy when it shall send it again.
        """
        told = read_envelope(envelope)
        if told is None or not self._is_first(told.event_id):
            return None
        try:
            taken = slack_capture.take(self._ws, told, self._known())
        except BaseException:
            with self._lock:
                self._seen.pop(told.event_id, None)
            raise
        self.taken += taken is not None
        return taken

    def finish(self, taken: Taken | None) -> None:
        """Have it applied, and answer; what fails is logged, for the message itself is safe."""
        if taken is None:
            return
        try:
            slack_capture.settle(self._ws, taken, self._client)
        except BrainError as error:
            _LOG.warning("%s", error)

    def _is_first(self, event_id: str) -> bool:
        with self._lock:
            if event_id in self._seen:
                return False
            self._seen[event_id] = None
            while len(self._seen) > _REMEMBERED:
                self._seen.popitem(last=False)
            return True

    def _known(self) -> Names:
        if time.monotonic() - self._names_at > _NAMES_FOR_S:
            self._names, self._names_at = slack_capture.known_names(self._ws), time.monotonic()
        return self._names


def listen(
    ws: Workspace,
    stop: threading.Event,
    ready: Callable[[], object],
    *,
    token: str | None = None,
    app_token: str | None = None,
    base_url: str | None = None,
) -> int:
    """Take messages by Socket Mode until `stop` is set; returns how many were kept.

    `ready` is called when connected. The tokens are by default `$BRAIN_SLACK_TOKEN` and `$BRAIN_SLACK_APP_TOKEN`, else
    the files of these names in `keys/`. A lost connection is made anew by the library. Raises SlackUnavailable.
    """
    client = web_client(token or required(ws, "slack_token"), base_url)
    app = app_token or required(ws, "slack_app_token")
    from slack_sdk.errors import SlackClientError
    from slack_sdk.socket_mode import SocketModeClient
    from slack_sdk.socket_mode.client import BaseSocketModeClient
    from slack_sdk.socket_mode.request import SocketModeRequest
    from slack_sdk.socket_mode.response import SocketModeResponse

    live = Live(ws, client)

    def receive(socket: BaseSocketModeClient, request: SocketModeRequest) -> None:
        taken = None
        if request.type == "events_api":
            try:
                taken = live.take(request.payload)
            except ValueError as error:
                _LOG.warning("an event of Slack was left out: %s", error)
            except BrainError as error:  # unanswered, it comes again
                _LOG.warning("an event of Slack could not be kept yet: %s", error)
                return
        socket.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        live.finish(taken)

    try:
        socket = SocketModeClient(app_token=app, web_client=web_client(app, base_url))
        socket.socket_mode_request_listeners.append(receive)
        socket.connect()
    except (SlackClientError, OSError) as error:
        raise SlackUnavailable(f"Slack cannot be listened to: {error}") from error
    try:
        ready()
        stop.wait()
    finally:
        socket.close()
    return live.taken
