"""`/slack/events`: the Events API of Slack, there only when the home holds a signing secret.

A request counts when its v0 signature over the raw body is right and it is at most five minutes old. It is answered as
soon as what it tells is on disk; all further work comes after.
"""

from typing import Any

from anyio import to_thread
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from brain.bridge.bodies import Refusal, parse_json, read_body, refused
from brain.errors import BrainError
from brain.services.slack_access import kept, web_client
from brain.services.slack_live import Live
from brain.workspace import Workspace


def routes(ws: Workspace, base_url: str | None = None) -> list[BaseRoute]:
    """The route, or none when no signing secret is kept. Raises SlackUnavailable without the library.

    Answers are posted with the token kept in the home; one in the environment alone enables nothing.
    """
    secret = kept(ws, "slack_signing_secret")
    if secret is None:
        return []
    token = kept(ws, "slack_token")
    client = web_client(token or "", base_url)
    return [
        Route("/slack/events", _Events(Live(ws, client if token else None), secret).receive, methods=["POST"])
    ]


class _Events:
    def __init__(self, live: Live, secret: str) -> None:
        from slack_sdk.signature import SignatureVerifier

        self._live, self._verifier = live, SignatureVerifier(secret)

    async def receive(self, request: Request) -> Response:
        try:
            body = await read_body(request)
            if not self._is_signed(request, body):
                raise Refusal(401, "the signature is wrong, or the request older than five minutes")
            told: Any = parse_json(body)
            if isinstance(told, dict) and told.get("type") == "url_verification":
                return JSONResponse({"challenge": str(told.get("challenge"))[:1000]})
            try:
                taken = await to_thread.run_sync(self._live.take, told)
            except ValueError as error:
                raise Refusal(400, str(error)) from error
            return JSONResponse({}, background=BackgroundTask(self._live.finish, taken))
        except Refusal as error:
            return refused(error.status, str(error))
        except BrainError as error:  # Slack sends it again
            return refused(503, str(error))

    def _is_signed(self, request: Request, body: bytes) -> bool:
        stamp, signature = (
            request.headers.get(f"x-slack-{name}", "") for name in ("request-timestamp", "signature")
        )
        # The library takes the timestamp for a number and the signature for ASCII.
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 12 and signature.isascii()):
            return False
        try:
            return bool(self._verifier.is_valid(body, stamp, signature))
        except UnicodeDecodeError:
            return False
