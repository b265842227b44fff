"""Slack's Web API, played by a small server on this machine and asked by the real library."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from slack_files import CHANNELS, USERS, as_zip, export, message

from brain.errors import UsageError
from brain.services.import_files import import_files
from brain.services.slack_access import SlackUnavailable
from brain.services.slack_sync import sync
from brain.sql import records
from brain.workspace import Workspace, open_workspace

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


@pytest.fixture
def slack() -> Iterator[FakeSlack]:
    made = FakeSlack()
    root = ago(3 * 86_400)
    made.messages["C1"] = [
        message(root, "How often do you feed it?", thread_ts=root, reply_count=1),
        message(ago(3 * 86_400 - 60), "Twice a day", "U2", thread_ts=root),
        message(ago(2 * 86_400), "See <https://bread.example/>"),
        message(ago(86_400), "To be deleted"),
        message(ago(20 * 86_400), "Long ago"),
    ]
    made.messages["C2"] = [message(ago(3_600), "Ferry at seven", "U2")]
    yield made
    made.close()


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return open_workspace(tmp_path / "home")


def texts(ws: Workspace) -> list[str]:
    with ws.lake.read(what="test") as con:
        sql = "SELECT text FROM slack_messages WHERE NOT is_deleted ORDER BY channel, sent_at"
        return [row["text"] for row in records(con.execute(sql))]


def test_everything_comes_once_page_by_page_also_where_slack_says_wait(
    ws: Workspace, slack: FakeSlack
) -> None:
    slack.too_many = 2
    report = sync(ws, token="xoxb-test", base_url=slack.url)
    assert (report.channels, report.new, report.updated, report.deleted, report.problems) == (2, 6, 0, 0, [])
    assert texts(ws) == [
        *(
            "Long ago",
            "How often do you feed it?",
            "Twice a day",
            "See https://bread.example/",
            "To be deleted",
        ),
        "Ferry at seven",
    ]
    again = sync(ws, token="xoxb-test", base_url=slack.url)
    assert (again.new, again.updated, again.deleted) == (0, 0, 0)


def test_edits_deletions_and_late_replies_are_found_at_the_next_run(ws: Workspace, slack: FakeSlack) -> None:
    sync(ws, token="xoxb-test", base_url=slack.url)
    said = slack.messages["C1"]
    said[2] |= {"text": "See the page", "edited": {"user": "U1", "ts": ago(10)}}
    del said[3]
    said.append(message(ago(5), "Or thrice", "U4", thread_ts=said[0]["ts"]))
    said[0]["reply_count"] = 2
    report = sync(ws, token="xoxb-test", base_url=slack.url)
    assert (report.new, report.updated, report.deleted) == (
        1,
        2,
        1,
    )  # the root tells its new number of replies
    assert texts(ws)[:-1] == [
        "Long ago",
        "How often do you feed it?",
        "Twice a day",
        "See the page",
        "Or thrice",
    ]
    del said[1]
    assert sync(ws, token="xoxb-test", base_url=slack.url).deleted == 1
    assert "Twice a day" not in texts(ws)


def test_an_export_and_the_api_bring_each_message_once(
    ws: Workspace, slack: FakeSlack, tmp_path: Path
) -> None:
    days = {"bread/2026-03-01": slack.messages["C1"], "sea/2026-03-01": slack.messages["C2"]}
    import_files(ws, [as_zip(tmp_path / "export.zip", export(days))])
    report = sync(ws, token="xoxb-test", base_url=slack.url)
    assert (report.messages > 0, report.new, report.updated) == (True, 0, 0)


def test_named_channels_alone_are_asked(ws: Workspace, slack: FakeSlack) -> None:
    assert sync(ws, token="xoxb-test", base_url=slack.url, channels=("#Sea",)).new == 1
    assert texts(ws) == ["Ferry at seven"]
    with pytest.raises(UsageError, match="nowhere"):
        sync(ws, token="xoxb-test", base_url=slack.url, channels=("nowhere",))


def test_a_channel_that_cannot_be_read_is_named_and_the_rest_goes_on(ws: Workspace, slack: FakeSlack) -> None:
    slack.refused["C1"] = "missing_scope"
    report = sync(ws, token="xoxb-test", base_url=slack.url)
    assert (report.channels, report.problems) == (1, ["bread: missing_scope"])
    assert texts(ws) == ["Ferry at seven"]


def test_a_token_revoked_on_the_way_keeps_what_came_and_the_next_run_goes_on(
    ws: Workspace, slack: FakeSlack
) -> None:
    slack.revoked_after = 5  # people and channels take three, then two pages of the first channel
    with pytest.raises(SlackUnavailable, match="token_revoked"):
        sync(ws, token="xoxb-test", base_url=slack.url)
    some = texts(ws)
    assert 0 < len(some) < 6
    slack.revoked_after = 10**9
    sync(ws, token="xoxb-test", base_url=slack.url)
    assert len(texts(ws)) == 6


def test_without_a_good_token_one_line_says_so(
    ws: Workspace, slack: FakeSlack, brain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BRAIN_SLACK_TOKEN", raising=False)
    with pytest.raises(SlackUnavailable, match="BRAIN_SLACK_TOKEN"):
        sync(ws, base_url=slack.url)
    with pytest.raises(SlackUnavailable, match="invalid_auth"):
        sync(ws, token="xoxb-other", base_url=slack.url)
    monkeypatch.setenv("BRAIN_HOME", str(ws.home.root))
    ran = brain("slack", "sync")
    assert (ran.code, ran.out) == (1, "")
    assert "there is no Slack token" in ran.err
    ws.home.ensure()
    (ws.home.keys / "slack_token").write_text("xoxb-test\n")
    assert sync(ws, base_url=slack.url).new == 6
