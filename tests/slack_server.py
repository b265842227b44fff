"""Slack's Web API, played by a small server on this machine and asked by the real library."""

import json
import threading
from collections import Counter
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from slack_files import CHANNELS, USERS

NOW = datetime.now(UTC).timestamp()


def ago(seconds: float, part: int = 0) -> str:
    return f"{int(NOW - seconds)}.{part:06}"


class FakeSlack:
    """A workspace: messages by channel, handed out in pages of two."""

    def __init__(self) -> None:
        self.messages: dict[str, list[dict[str, Any]]] = {"C1": [], "C2": []}
        self.calls: Counter[str] = Counter()
        self.too_many = 0  # requests to be answered with 429
        self.revoked_after = 10**9  # requests until the token is no longer good
        self.refused: dict[str, str] = {}  # channel -> error
        self.posted: list[dict[str, str]] = []
        self.socket_url = ""
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length).decode()
                if self.headers.get("Content-Type", "").startswith("application/json"):
                    asked = json.loads(body)
                else:
                    asked = {name: values[0] for name, values in parse_qs(body).items()}
                fake.answer(self, self.path.rpartition("/")[2], asked)

            def do_GET(self) -> None:
                path, _, query = self.path.partition("?")
                asked = {name: values[0] for name, values in parse_qs(query).items()}
                fake.answer(self, path.rpartition("/")[2], asked)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/api/"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: BaseHTTPRequestHandler, method: str, asked: dict[str, str]) -> None:
        self.calls[method] += 1
        status, headers = 200, {}
        good = request.headers.get("Authorization") == "Bearer xoxb-test"
        if self.too_many:
            self.too_many -= 1
            status, headers, body = 429, {"Retry-After": "1"}, {"ok": False, "error": "ratelimited"}
        elif not good or sum(self.calls.values()) > self.revoked_after:
            body = {"ok": False, "error": "token_revoked" if good else "invalid_auth"}
        else:
            body = self._told(method, asked)
        content = json.dumps(body).encode()
        request.send_response(status)
        for name, value in {
            **headers,
            "Content-Type": "application/json",
            "Content-Length": str(len(content)),
        }.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)

    def _told(self, method: str, asked: dict[str, str]) -> dict[str, Any]:
        channel = asked.get("channel", "")
        if channel in self.refused:
            return {"ok": False, "error": self.refused[channel]}
        said = sorted(self.messages.get(channel, []), key=lambda each: str(each["ts"]), reverse=True)
        oldest = float(asked.get("oldest") or 0)
        match method:
            case "users.list":
                return self._page("members", USERS, asked)
            case "apps.connections.open":
                return {"ok": True, "url": self.socket_url}
            case "chat.postMessage":
                self.posted.append(asked)
                return {"ok": True, "ts": ago(0), "channel": channel}
            case "conversations.list":
                return self._page("channels", [each | {"is_member": True} for each in CHANNELS], asked)
            case "conversations.history":
                shown = [m for m in said if m.get("thread_ts", m["ts"]) == m["ts"] or "subtype" in m]
                return self._page("messages", [m for m in shown if float(m["ts"]) > oldest], asked)
            case "conversations.replies":
                thread = [m for m in reversed(said) if m.get("thread_ts", m["ts"]) == asked["ts"]]
                return (
                    self._page("messages", thread, asked)
                    if thread
                    else {"ok": False, "error": "thread_not_found"}
                )
        return {"ok": False, "error": "unknown_method"}

    def _page(self, key: str, items: list[Any], asked: dict[str, str]) -> dict[str, Any]:
        at = int(asked.get("cursor") or 0)
        after = str(at + 2) if at + 2 < len(items) else ""
        return {"ok": True, key: items[at : at + 2], "response_metadata": {"next_cursor": after}}
