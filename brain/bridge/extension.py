"""The extension's routes: pairing, events, commands.

Everything but pairing wants a browser's key. A request of a web page never comes this far: its Origin is not a paired
extension's, its Host is checked before, and what it can send without being asked (plain text, forms) is not JSON.
"""

import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from brain.bridge.bodies import Refusal, read_json, refused
from brain.errors import BrainError, UsageError
from brain.intervals import iso
from brain.services import access, commands, pairing, receive_events
from brain.services.access import Key
from brain.workspace import Workspace

_LONG_POLL_S = 25.0
_REQUESTS, _PAIRINGS, _PER_S = 600, 20, 60.0
_EXTENSION_SCHEMES = ("chrome-extension://", "moz-extension://", "safari-web-extension://")

Answer = Callable[[Key, Any, Request], dict[str, Any]]


class Extension:
    """The routes over one lake."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        self._keyed, self._pairing = _Rate(_REQUESTS), _Rate(_PAIRINGS)

    def routes(self) -> list[BaseRoute]:
        """Every route, each with the guard that `brain.bridge.guards.GUARDS` names."""
        return [
            Route("/api/pair", self._pair, methods=["POST"]),
            Route("/api/events", self._with_key(self._events, 202), methods=["POST"]),
            Route("/api/commands", self._with_key(self._commands), methods=["GET"]),
            Route("/api/search", self._with_key(self._search), methods=["POST"]),
            Route("/api/check-context", self._with_key(self._check_context), methods=["POST"]),
            Route("/api/suggest-grouping", self._with_key(self._suggest_grouping), methods=["POST"]),
            Route("/api/cleanup", self._with_key(self._cleanup), methods=["POST"]),
            Route("/api/commands/{command}", self._with_key(self._finish), methods=["POST"]),
        ]

    async def _pair(self, request: Request) -> Response:
        try:
            origin = request.headers.get("origin")
            if origin is not None and not origin.startswith(_EXTENSION_SCHEMES):
                raise Refusal(403, "web pages cannot pair")
            self._pairing.check("")
            body = _fields(await read_json(request))
            code, name = body.get("code"), body.get("name") or ""
            if not isinstance(code, str) or not isinstance(name, str) or len(code) > 100:
                raise Refusal(400, "`code` must be a text, and `name` too where it is given")
            browser, profile = (str(body.get(field) or "") for field in ("browser", "profile"))
            made = await to_thread.run_sync(
                lambda: pairing.pair(self._ws, code, name, browser=browser, profile=profile, origin=origin)
            )
            return JSONResponse({"id": made.key.id, "key": made.secret, "name": made.key.name})
        except Refusal as error:
            return refused(error.status, str(error))
        except BrainError as error:
            return refused(401 if isinstance(error, UsageError) else 503, str(error))

    def _with_key(self, answer: Answer, status: int = 200) -> Callable[[Request], Awaitable[Response]]:
        """A route that wants a browser's key; what it does runs in a thread, since it waits for files and locks."""

        async def respond(request: Request) -> Response:
            try:
                key = await to_thread.run_sync(self._key_of, request)
                self._keyed.check(key.id)
                body = await read_json(request) if request.method == "POST" else None
                told = await to_thread.run_sync(answer, key, body, request)
                return JSONResponse(told, status)
            except Refusal as error:
                return refused(error.status, str(error))
            except UsageError as error:
                return refused(400, str(error))
            except (
                BrainError
            ) as error:  # the lake is busy or broken: the browser keeps what it has and tries again
                return refused(503, str(error))

        return respond

    def _key_of(self, request: Request) -> Key:
        scheme, _, presented = request.headers.get("authorization", "").partition(" ")
        key = access.verify(self._ws, presented.strip()) if scheme.lower() == "bearer" else None
        if key is None:
            raise Refusal(401, "a key is needed; pair this browser with `brain extension pair`")
        origin = request.headers.get("origin")
        if origin is not None and origin != key.origin:
            raise Refusal(403, "this origin is not the one that was paired")
        if "write" not in key.scopes or key.browser is None:
            raise Refusal(403, "this is not the key of a browser; pair it with `brain extension pair`")
        return key

    def _events(self, key: Key, body: Any, request: Request) -> dict[str, Any]:
        events = _fields(body).get("events")
        if not isinstance(events, list):
            raise Refusal(400, "`events` must be a list")
        return asdict(receive_events.receive(self._ws, key, events))

    def _commands(self, key: Key, body: Any, request: Request) -> dict[str, Any]:
        wait = _LONG_POLL_S
        if (asked := request.query_params.get("wait")) is not None:
            if not asked.isdecimal():
                raise Refusal(400, "`wait` must be seconds")
            wait = min(float(asked), _LONG_POLL_S)
        found = commands.wait_for(self._ws, key.name, key.browser or "unknown", key.profile or "", wait)
        return {
            "commands": [
                {"id": one.id, "kind": one.kind, "data": one.data, "expires_at": iso(one.expires_at)}
                for one in found
            ]
        }

    def _search(self, key: Key, body: Any, request: Request) -> dict[str, Any]:
        from brain.services.find import search

        fields = _fields(body)
        query, limit = fields.get("query"), fields.get("limit", 10)
        if not isinstance(query, str) or not isinstance(limit, int) or isinstance(limit, bool):
            raise Refusal(400, "`query` must be a text, and `limit` a number where it is given")
        found = search(self._ws, query, limit=limit).results
        shown = ("id", "kind", "title", "url", "snippet", "visit_count")
        return {
            "results": [
                {name: getattr(hit, name) for name in shown} | {"last_visited": hit.last_visited}
                for hit in found
            ]
        }

    def _check_context(self, key: Key, body: Any, request: Request) -> dict[str, Any]:
        from brain.services.seen_before import seen_before

        fields = _fields(body)
        url, title, text = fields.get("url"), fields.get("title"), fields.get("text")
        if not (isinstance(url, str) and isinstance(title, str) and isinstance(text, str)):
            raise Refusal(400, "`url`, `title` and `text` must be texts")
        found = seen_before(self._ws, url, title, text)
        return {"seen": asdict(found) if found else None}

    def _suggest_grouping(self, key: Key, body: Any, request: Request) -> dict[str, Any]:
        from brain.services.tab_grouping import suggest

        found = suggest(self._ws, key.browser or "unknown", key.profile or "")
        return {"groups": [asdict(group) for group in found.groups], "critique": asdict(found.critique)}

    def _cleanup(self, key: Key, body: Any, request: Request) -> dict[str, Any]:
        from brain.services.tab_cleanup import suggest

        return asdict(suggest(self._ws, key.browser or "unknown", key.profile or ""))

    def _finish(self, key: Key, body: Any, request: Request) -> dict[str, Any]:
        fields = _fields(body)
        if not isinstance(fields.get("ok"), bool):
            raise Refusal(400, "`ok` must be true or false")
        commands.finish(
            self._ws, request.path_params["command"], key.name, fields["ok"], fields.get("result")
        )
        return {"status": "noted"}


def _fields(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise Refusal(400, "the body must be an object")
    return body


class _Rate:
    """At most so many requests of one caller a minute."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: defaultdict[str, deque[float]] = defaultdict(deque)

    def check(self, caller: str) -> None:
        """Count a request. Raises Refusal when it is one too many."""
        now, seen = time.monotonic(), self._seen[caller]
        while seen and now - seen[0] > _PER_S:
            seen.popleft()
        if len(seen) >= self._most:
            raise Refusal(429, "too many requests; wait a minute")
        seen.append(now)
