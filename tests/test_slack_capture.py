"""Live Slack: signed requests to the real app, Socket Mode by the real library, thoughts in the lake."""

import asyncio
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from slack_server import FakeSlack, ago
from starlette.testclient import TestClient
from websockets.sync.server import ServerConnection, serve

from brain.bridge.app import Address, make_app
from brain.services.drain_inbox import drain
from brain.services.preferences import get_preferences, set_preference
from brain.services.slack_access import SlackUnavailable
from brain.services.slack_live import Live, listen
from brain.services.slack_status import slack_status
from brain.services.slack_sync import sync
from brain.services.thoughts import capture_thought, delete_thought
from brain.slack.proposals import read_proposal
from brain.sql import records
from brain.workspace import Workspace, open_workspace

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TS = ago(100)


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('slack_capture = ["C1", "#brain"]\n')
    (home / "keys").mkdir()
    (home / "keys" / "slack_signing_secret").write_text(f"{SECRET}\n")
    return open_workspace(home)


@pytest.fixture
def slack() -> Iterator[FakeSlack]:
    made = FakeSlack()
    yield made
    made.close()


def said(text: str, ts: str = TS, channel: str = "C1", event_id: str = "", **fields: Any) -> dict[str, Any]:
    event = {"type": "message", "channel": channel, "user": "U1", "text": text, "ts": ts, **fields}
    return envelope(event, event_id or f"Ev{ts}{channel}")


def envelope(event: dict[str, Any], event_id: str) -> dict[str, Any]:
    return {"type": "event_callback", "team_id": "T1", "event_id": event_id, "event": event}


def changed(text: str, ts: str = TS, edited: str = "", event_id: str = "EvChanged") -> dict[str, Any]:
    message = {"type": "message", "user": "U1", "text": text, "ts": ts}
    if edited:
        message["edited"] = {"user": "U1", "ts": edited}
    notice = {"type": "message", "subtype": "message_changed", "channel": "C1", "ts": ago(1)}
    return envelope({**notice, "message": message}, event_id)


def deleted(ts: str = TS, event_id: str = "EvDeleted") -> dict[str, Any]:
    notice = {
        "type": "message",
        "subtype": "message_deleted",
        "channel": "C1",
        "deleted_ts": ts,
        "ts": ago(1),
    }
    return envelope(notice, event_id)


def tell(ws: Workspace, *envelopes: dict[str, Any]) -> None:
    live = Live(ws)
    for each in envelopes:
        live.finish(live.take(each))


def rows(ws: Workspace, sql: str) -> list[dict[str, Any]]:
    with ws.lake.read(what="test") as con:
        return records(con.execute(sql))


def thoughts(ws: Workspace) -> list[str]:
    found = rows(ws, "SELECT content FROM store.thoughts WHERE deleted_at IS NULL ORDER BY created_at")
    return [row["content"] for row in found]


class TestCapture:
    def test_a_message_of_a_capture_channel_becomes_a_thought_of_its_own_time(self, ws: Workspace) -> None:
        tell(ws, said("Ask Maria about the ferry &amp; the <https://ferry.example/|timetable>"))
        (row,) = rows(ws, "SELECT * FROM slack_captures JOIN thoughts ON id = thought_id")
        assert row["content"] == "Ask Maria about the ferry & the timetable (https://ferry.example/)"
        assert row["said_at"].timestamp() == pytest.approx(float(TS))
        assert row["created_at"] == row["said_at"]
        assert rows(ws, "SELECT * FROM slack_messages") == []

    def test_other_channels_are_kept_as_messages(self, ws: Workspace) -> None:
        tell(ws, said("Ferry at seven", channel="C2"))
        assert [row["text"] for row in rows(ws, "SELECT text FROM slack_messages")] == ["Ferry at seven"]
        assert thoughts(ws) == []

    def test_an_event_told_again_changes_nothing_whoever_hears_it(self, ws: Workspace) -> None:
        one = said("Once")
        tell(ws, one, one)
        tell(ws, one)
        tell(ws, {**one, "event_id": "EvOther"})
        assert thoughts(ws) == ["Once"]
        assert len(rows(ws, "SELECT * FROM store.thought_occurrences")) == 1

    def test_an_edit_changes_the_thought_and_an_older_telling_does_not_undo_it(self, ws: Workspace) -> None:
        tell(ws, said("Boat at six"), changed("Boat at seven", edited=ago(50)))
        tell(
            ws,
            changed("Boat at five", edited=ago(60), event_id="EvLate"),
            said("Boat at six", event_id="EvAgain"),
        )
        assert thoughts(ws) == ["Boat at seven"]

    def test_a_deletion_takes_the_thought_out_of_sight_for_good(self, ws: Workspace) -> None:
        tell(ws, said("Not for long"), deleted())
        assert thoughts(ws) == []
        tell(ws, said("Not for long", event_id="EvLate"), changed("Still here", edited=ago(1)))
        assert thoughts(ws) == []

    def test_a_deletion_of_what_is_not_known_is_no_fault(self, ws: Workspace) -> None:
        tell(ws, deleted())
        assert thoughts(ws) == []

    def test_what_was_said_twice_stays_when_one_of_the_two_goes(self, ws: Workspace) -> None:
        later = ago(10)
        tell(ws, said("Buy yeast"), said("Buy yeast", ts=later), deleted(ts=later))
        assert thoughts(ws) == ["Buy yeast"]
        tell(ws, said("Buy yeast", ts=ago(9)), changed("Buy flour", ts=TS, edited=ago(5)))
        assert sorted(thoughts(ws)) == ["Buy flour", "Buy yeast"]

    def test_what_its_person_deleted_here_does_not_come_back_by_an_edit(self, ws: Workspace) -> None:
        tell(ws, said("Private after all"))
        (row,) = rows(ws, "SELECT thought_id FROM slack_captures")
        delete_thought(ws, row["thought_id"])
        tell(ws, changed("Private after all!", edited=ago(1)))
        assert thoughts(ws) == []

    def test_replies_are_linked_to_the_thought_their_thread_began_with(self, ws: Workspace) -> None:
        tell(ws, said("Which yeast?"), said("The fresh one", ts=ago(90), thread_ts=TS))
        found = rows(ws, "SELECT thought_id, reply_to FROM slack_captures ORDER BY said_at")
        assert (found[0]["reply_to"], found[1]["reply_to"]) == (None, found[0]["thought_id"])

    def test_what_apps_write_is_not_captured(self, ws: Workspace) -> None:
        tell(ws, said("Captured as idea", bot_id="B1"), said("Hello", ts=ago(9), subtype="bot_message"))
        assert thoughts(ws) == []

    def test_secrets_do_not_reach_the_lake(self, ws: Workspace) -> None:
        token = "xoxb-" + "1234567890-1234567890-" + "AbCdEfGhIjKlMnOpQrStUvWx"
        tell(ws, said(f"The token is {token}"))
        assert token not in thoughts(ws)[0]

    def test_a_message_from_a_clock_ahead_of_ours_is_dated_now(self, ws: Workspace) -> None:
        tell(ws, said("From the future", ts=ago(-7200)))
        assert thoughts(ws) == ["From the future"]

    @pytest.mark.parametrize(
        "bad",
        [
            None,
            [],
            {},
            {"event": "message"},
            envelope({"type": "message", "channel": "C1", "ts": "yesterday"}, "Ev1"),
            envelope({"type": "message", "channel": "../x", "ts": TS}, "Ev1"),
            envelope({"type": "message", "channel": "C1", "ts": TS, "thread_ts": 5}, "Ev1"),
            {"event": {"type": "message", "channel": "C1", "ts": TS}},
        ],
    )
    def test_what_slack_never_sends_is_refused(self, ws: Workspace, bad: Any) -> None:
        with pytest.raises(ValueError, match=r"."):
            Live(ws).take(bad)

    def test_events_about_other_things_are_passed_over(self, ws: Workspace) -> None:
        assert Live(ws).take(envelope({"type": "reaction_added"}, "Ev1")) is None


class TestProposals:
    def test_a_preference_is_proposed_and_set_by_its_person_alone(self, ws: Workspace) -> None:
        tell(ws, said("pref: [writing] plain words, not jargon"))
        assert get_preferences(ws).preferences == []
        (proposal,) = slack_status(ws).proposals
        assert proposal.command == (
            "brain prefs set plain-words --domain writing --want 'plain words' --reject jargon"
        )
        set_preference(ws, "plain-words", domain="writing", want="plain words", reject="jargon")
        assert slack_status(ws).proposals == []

    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("pref: tea", ("general", "tea", None)),
            ("Preference: short mails; never attachments", ("general", "short mails", "attachments")),
            ("PREF:[Code] tabs", ("code", "tabs", None)),
        ],
    )
    def test_forms(self, text: str, wanted: tuple[str, str, str | None]) -> None:
        found = read_proposal(text)
        assert found is not None
        assert (found.domain, found.want, found.reject) == wanted

    @pytest.mark.parametrize("text", ["preferably tea", "pref:", "my pref: tea", ""])
    def test_others_propose_nothing(self, text: str) -> None:
        assert read_proposal(text) is None


def post(
    client: TestClient, body: Any, *, secret: str = SECRET, at: float | None = None, **headers: str
) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    stamp = str(int(time.time() if at is None else at))
    digest = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + content, hashlib.sha256).hexdigest()
    sent = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}
    sent |= {"Content-Type": "application/json"} | headers
    return client.post("/slack/events", content=content, headers=sent)


@pytest.fixture
def client(ws: Workspace) -> Iterator[TestClient]:
    with TestClient(make_app(ws, Address()), base_url="http://127.0.0.1:3747") as made:
        yield made


class TestEventsApi:
    def test_the_challenge_is_echoed_to_who_signs(self, client: TestClient) -> None:
        body = {"type": "url_verification", "challenge": "3eZbrw1aB"}
        assert post(client, body).json() == {"challenge": "3eZbrw1aB"}
        assert post(client, body, secret="other").status_code == 401

    def test_a_signed_event_is_captured_once_also_when_replayed(
        self, ws: Workspace, client: TestClient
    ) -> None:
        at = time.time()
        for _ in range(3):
            assert post(client, said("By the API"), at=at).status_code == 200
        assert thoughts(ws) == ["By the API"]

    @pytest.mark.parametrize("apart", [-3600, -301, 400, 3600])
    def test_a_clock_too_far_off_is_refused(self, ws: Workspace, client: TestClient, apart: int) -> None:
        assert post(client, said("Old"), at=time.time() + apart).status_code == 401
        assert drain(ws).applied == 0

    @pytest.mark.parametrize(
        "headers",
        [
            {"X-Slack-Signature": "v0=00"},
            {"X-Slack-Signature": ""},
            {"X-Slack-Signature": "v0=caf\u00e9"},
            {"X-Slack-Request-Timestamp": "now"},
            {"X-Slack-Request-Timestamp": "9" * 40},
        ],
    )
    def test_a_wrong_signature_is_refused(
        self, ws: Workspace, client: TestClient, headers: dict[str, str]
    ) -> None:
        encoded: Any = {name: value.encode() for name, value in headers.items()}
        assert post(client, said("Forged"), **encoded).status_code == 401
        assert drain(ws).applied == 0

    @pytest.mark.parametrize("body", [b"{", b"", b"\xff\xfe", b"[" * 100_000])
    def test_a_signed_body_that_is_no_json_is_refused(self, client: TestClient, body: bytes) -> None:
        assert post(client, body).status_code in (400, 401)

    def test_a_body_changed_after_signing_is_refused(self, client: TestClient) -> None:
        stamp = str(int(time.time()))
        digest = hmac.new(SECRET.encode(), f"v0:{stamp}:{{}}".encode(), hashlib.sha256).hexdigest()
        headers = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}
        assert client.post("/slack/events", content=b"{ }", headers=headers).status_code == 401

    def test_a_huge_body_is_refused(self, client: TestClient) -> None:
        assert post(client, b" " * 5_000_001).status_code == 413

    def test_without_a_secret_in_the_home_there_is_no_route(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("BRAIN_SLACK_SIGNING_SECRET", SECRET)
        bare = open_workspace(tmp_path / "bare")
        with TestClient(make_app(bare, Address()), base_url="http://127.0.0.1:3747") as made:
            assert post(made, said("Nobody asked")).status_code == 404


class Socket:
    """The other end of Socket Mode: sends what it is given, remembers what is acknowledged."""

    def __init__(self) -> None:
        self.to_send: list[dict[str, Any]] = []
        self.acknowledged: list[str] = []
        self.connections = 0
        self._server = serve(self._talk, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _talk(self, connection: ServerConnection) -> None:
        self.connections += 1
        connection.send(json.dumps({"type": "hello", "num_connections": 1}))
        sent = 0
        while True:
            for each in self.to_send[sent:]:
                connection.send(json.dumps(each))
            sent = len(self.to_send)
            try:
                told = json.loads(connection.recv(timeout=0.05))
                self.acknowledged.append(told["envelope_id"])
            except TimeoutError:
                continue
            except Exception:
                return

    def send(self, envelope_id: str, payload: dict[str, Any]) -> None:
        self.to_send.append(
            {
                "type": "events_api",
                "envelope_id": envelope_id,
                "payload": payload,
                "accepts_response_payload": False,
            }
        )

    def close(self) -> None:
        self._server.shutdown()


def until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come about within 30 s")


class TestSocketMode:
    @pytest.fixture
    def socket(self, slack: FakeSlack) -> Iterator[Socket]:
        made = Socket()
        slack.socket_url = made.url
        yield made
        made.close()

    @pytest.fixture
    def listening(self, ws: Workspace, slack: FakeSlack, socket: Socket) -> Iterator[None]:
        stop, ready = threading.Event(), threading.Event()
        arguments = {"token": "xoxb-test", "app_token": "xoxb-test", "base_url": slack.url}
        thread = threading.Thread(target=lambda: listen(ws, stop, ready.set, **arguments))
        thread.start()
        assert ready.wait(20)
        yield
        stop.set()
        thread.join(20)
        assert not thread.is_alive()

    def test_a_thought_is_acknowledged_captured_and_answered_in_its_thread(
        self, ws: Workspace, slack: FakeSlack, socket: Socket, listening: None
    ) -> None:
        socket.send("e1", said("Decision: we take the night train to Lisbon"))
        until(lambda: len(slack.posted) == 1)
        assert socket.acknowledged == ["e1"]
        assert thoughts(ws) == ["Decision: we take the night train to Lisbon"]
        (answer,) = slack.posted
        assert (answer["channel"], answer["thread_ts"]) == ("C1", TS)
        assert answer["text"].startswith("Captured as decision - ")

    def test_an_event_sent_again_is_acknowledged_but_answered_once(
        self, ws: Workspace, slack: FakeSlack, socket: Socket, listening: None
    ) -> None:
        for number in range(4):
            socket.send(f"e{number}", said("Only once"))
        until(lambda: len(socket.acknowledged) == 4 and bool(slack.posted))
        assert thoughts(ws) == ["Only once"]
        assert len(slack.posted) == 1

    def test_a_proposed_preference_is_answered_with_the_command_that_sets_it(
        self, slack: FakeSlack, socket: Socket, listening: None
    ) -> None:
        socket.send("e1", said("pref: window seats"))
        until(lambda: bool(slack.posted))
        assert (
            "brain prefs set window-seats --domain general --want 'window seats'" in slack.posted[0]["text"]
        )

    def test_a_malformed_event_does_not_stop_the_next(
        self, ws: Workspace, slack: FakeSlack, socket: Socket, listening: None
    ) -> None:
        socket.send("e1", {"event": {"type": "message", "channel": "C1", "ts": "x"}, "event_id": "Ev1"})
        socket.send("e2", said("After it"))
        until(lambda: bool(slack.posted))
        assert sorted(socket.acknowledged) == ["e1", "e2"]
        assert thoughts(ws) == ["After it"]

    def test_a_refused_token_is_named(self, ws: Workspace, slack: FakeSlack) -> None:
        with pytest.raises(SlackUnavailable, match="invalid_auth"):
            listen(ws, threading.Event(), lambda: None, token="x", app_token="x", base_url=slack.url)

    def test_without_an_app_token_it_says_where_to_put_one(self, ws: Workspace) -> None:
        with pytest.raises(SlackUnavailable, match="BRAIN_SLACK_APP_TOKEN"):
            listen(ws, threading.Event(), lambda: None, token="x")


class TestSync:
    """A capture channel that nobody listened to for a while."""

    def test_what_was_missed_becomes_thoughts_once_and_edits_and_deletions_follow(
        self, ws: Workspace, slack: FakeSlack
    ) -> None:
        base = {"type": "message", "user": "U1"}
        slack.messages["C1"] = [
            {**base, "ts": TS, "text": "Heard"},
            {**base, "ts": ago(50), "text": "Missed"},
        ]
        slack.messages["C2"] = []
        tell(ws, said("Heard"))
        report = sync(ws, token="xoxb-test", base_url=slack.url)
        assert (report.captured, report.new) == (1, 0)
        assert thoughts(ws) == ["Heard", "Missed"]
        slack.messages["C1"] = [
            {**base, "ts": TS, "text": "Heard well", "edited": {"user": "U1", "ts": ago(5)}}
        ]
        report = sync(ws, token="xoxb-test", base_url=slack.url)
        assert (report.captured, report.deleted) == (1, 1)
        assert thoughts(ws) == ["Heard well"]
        assert sync(ws, token="xoxb-test", base_url=slack.url).captured == 0


def test_the_status_tells_what_is_set_up_and_what_came(ws: Workspace) -> None:
    capture_thought(ws, "Not from Slack")
    tell(ws, said("One"), said("Two", channel="C2"))
    found = slack_status(ws)
    assert found.secrets == {"slack_token": False, "slack_app_token": False, "slack_signing_secret": True}
    assert found.capture == ["C1", "#brain"]
    assert {(c.id, c.messages, c.thoughts) for c in found.channels} == {("C1", 0, 1), ("C2", 1, 0)}


def test_many_at_once_are_all_kept(ws: Workspace) -> None:
    live = Live(ws)

    async def all_of_them() -> None:
        def one(number: int) -> None:
            live.finish(live.take(said(f"Number {number}", ts=f"{int(float(TS))}.{number:06}")))

        await asyncio.gather(*(asyncio.to_thread(one, number) for number in range(30)))

    asyncio.run(all_of_them())
    assert len(thoughts(ws)) == 30
