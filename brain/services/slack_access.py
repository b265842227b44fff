"""The secrets that Slack's ways in need, kept as files in `keys/` of the home.

slack_token (a bot's or user's), slack_app_token (Socket Mode), slack_signing_secret (Events API).
"""

import os
from typing import TYPE_CHECKING, Literal

from brain.errors import BrainError
from brain.workspace import Workspace

if TYPE_CHECKING:
    from slack_sdk import WebClient

Secret = Literal["slack_token", "slack_app_token", "slack_signing_secret"]
# A token that Slack takes no longer, or never did.
FATAL = frozenset({"invalid_auth", "account_inactive", "token_revoked", "token_expired", "not_authed"})


class SlackUnavailable(BrainError):
    """Slack cannot be asked: no token, one that is no longer good, no connection, or no library."""


def kept(ws: Workspace, name: Secret) -> str | None:
    """The secret in the home, None where there is none."""
    try:
        return (ws.home.keys / name).read_text("utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def is_set_up(ws: Workspace) -> bool:
    """Whether there is a token to ask Slack with."""
    return bool(os.environ.get("BRAIN_SLACK_TOKEN", "").strip() or kept(ws, "slack_token"))


def required(ws: Workspace, name: Secret) -> str:
    """The secret in `$BRAIN_SLACK_...` or in the home. Raises SlackUnavailable when it is in neither."""
    variable = f"BRAIN_{name.upper()}"
    if found := os.environ.get(variable, "").strip() or kept(ws, name):
        return found
    what = name.replace("slack", "Slack").replace("_", " ")
    raise SlackUnavailable(f"there is no {what}: set ${variable}, or write it to {ws.home.keys / name}")


def web_client(token: str, base_url: str | None = None) -> "WebClient":
    """A client that waits as long as Slack asks. Raises SlackUnavailable without the library."""
    try:
        from slack_sdk import WebClient
        from slack_sdk.http_retry.builtin_handlers import (
            ConnectionErrorRetryHandler,
            RateLimitErrorRetryHandler,
        )
    except ImportError as error:
        raise SlackUnavailable("the Slack library is missing: pip install 'brainlake[slack]'") from error
    handlers = [
        ConnectionErrorRetryHandler(max_retry_count=3),
        RateLimitErrorRetryHandler(max_retry_count=20),
    ]
    client = WebClient(token, timeout=60, retry_handlers=handlers)
    if base_url:
        client.base_url = base_url
    return client
