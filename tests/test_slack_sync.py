"""Syncing by the Web API: what is new, edited, deleted; limits; tokens that are no good."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from slack_files import as_zip, export, message
from slack_server import FakeSlack, ago

from brain.errors import UsageError
from brain.services.import_files import import_files
from brain.services.slack_access import SlackUnavailable
from brain.services.slack_sync import sync
from brain.sql import records
from brain.workspace import Workspace, open_workspace


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
