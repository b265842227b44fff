"""Who may call a route. Every route declares one guard, and a test walks the route table.

Any web page can make a browser send requests to a local port, so all routes check the Host header first (a page that
rebinds its name to 127.0.0.1 fails there), and what reads or writes the lake wants a key.
"""

from collections.abc import Sequence
from typing import Literal

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

# open: status without detail. code: a pairing code, good once. key: a bearer key with scope. oauth: the SDK's own
# sign-in routes. consent: a page for the person, where a key is asked for.
# signed: Slack's signature over the raw body; the route is there only when it is configured.
Guard = Literal["open", "code", "key", "oauth", "consent", "signed"]

GUARDS: dict[str, Guard] = {
    "/api/status": "open",
    "/api/pair": "code",
    "/api/events": "key",
    "/api/commands": "key",
    "/api/search": "key",
    "/api/check-context": "key",
    "/api/suggest-grouping": "key",
    "/api/cleanup": "key",
    "/api/commands/{command}": "key",
    "/slack/events": "signed",
    "/mcp": "key",
    "/sse": "key",
    "/messages": "key",
    "/oauth/consent": "consent",
    "/authorize": "oauth",
    "/token": "oauth",
    "/register": "oauth",
    "/revoke": "oauth",
    "/.well-known/oauth-authorization-server": "oauth",
    "/.well-known/oauth-protected-resource/mcp": "oauth",
}

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class HostCheck:
    """Refuses requests whose Host is not one of ours."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _host(Headers(scope=scope)) not in self._hosts:
            message = "this Host is not served here; start the server with --allow-host to add one"
            await JSONResponse({"error": message}, 421)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class KeyHeader:
    """Takes `x-brain-key` for `Authorization: Bearer`, for clients that can set only headers of their own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = MutableHeaders(scope=scope)
            key = headers.get("x-brain-key")
            if key and "authorization" not in headers:
                headers["authorization"] = f"Bearer {key}"
        await self._app(scope, receive, send)


def _host(headers: Headers) -> str:
    host = headers.get("host", "").lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.rpartition(":")[0] if ":" in host else host
