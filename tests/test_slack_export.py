"""Slack exports into the lake: threads, edits, deletions, links and what was opened of them, and damage."""

import asyncio
import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from live import event
from mcp import Client
from slack_files import CHANNELS, USERS, as_folder, as_zip, export, message

from brain.errors import EmptySource
from brain.importers import slack_export
from brain.mcp_server.server import build
from brain.models import Batch, Rejected
from brain.services import drain_inbox
from brain.services.fetch import fetch
from brain.services.find import search
from brain.services.import_files import ImportOptions, import_files
from brain.services.import_log import show_import
from brain.services.index_documents import index_documents
from brain.sql import records
from brain.workspace import Workspace, open_workspace

ROOT = "1772355600.000100"
DAYS = {
    "bread/2026-03-01": [
        message(ROOT, "How often do you feed the starter, <@U2>?", thread_ts=ROOT, reply_count=2),
        message("1772355660.000000", "<@U2> has joined the channel", "U2", subtype="channel_join"),
        message("1772355700.000000", "See <https://bread.example/oven?utm_source=x|the oven page>"),
    ],
    "bread/2026-03-02": [
        message(
            "1772442000.000200",
            "Twice a day, it doubles in six hours",
            "U2",
            thread_ts=ROOT,
            parent_user_id="U1",
        ),
        message("1772442060.000000", "Good to know", "U1", thread_ts=ROOT, subtype="thread_broadcast"),
    ],
    "sea/2026-03-02": [
        message(
            "1772442001.000000",
            "The ferry leaves at seven",
            "U9",
            user_profile={"display_name": "Guest"},
            reactions=[{"name": "clap::skin-tone-2", "users": ["U1"], "count": 3}],
            files=[
                {
                    "id": "F1",
                    "name": "map.png",
                    "mimetype": "image/png",
                    "size": 10,
                    "url_private": "https://files.slack.com/m.png?t=xoxe-1-2-abcdefabcdef",
                }
            ],
        )
    ],
}


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return open_workspace(tmp_path / "home")


def rows(ws: Workspace, sql: str) -> list[dict[str, Any]]:
    with ws.lake.read(what="test") as con:
        return records(con.execute(sql))


def taken(ws: Workspace, path: Path) -> tuple[str, int, int, int, int]:
    (outcome,) = import_files(ws, [path]).imports
    return outcome.status, outcome.seen, outcome.new, outcome.updated, outcome.rejected


@pytest.mark.parametrize("make", [as_zip, as_folder])
@pytest.mark.parametrize("prefix", ["", "My Team Slack export/"])
def test_an_export_becomes_messages_threads_and_links(
    ws: Workspace, tmp_path: Path, make: Any, prefix: str
) -> None:
    path = make(
        tmp_path / "export.zip", {f"{prefix}{name}": content for name, content in export(DAYS).items()}
    )
    assert taken(ws, path) == ("imported", 6, 6, 0, 0)
    said = rows(
        ws,
        "SELECT channel, author, text, is_root, is_system, is_broadcast FROM slack_messages ORDER BY sent_at",
    )
    assert [tuple(row.values()) for row in said] == [
        ("bread", "Ida", "How often do you feed the starter, @Omar Sailor?", True, False, False),
        ("bread", "Omar Sailor", "@Omar Sailor has joined the channel", True, True, False),
        ("bread", "Ida", "See the oven page (https://bread.example/oven?utm_source=x)", True, False, False),
        ("bread", "Omar Sailor", "Twice a day, it doubles in six hours", False, False, False),
        ("sea", "Guest", "The ferry leaves at seven", True, False, False),
        ("bread", "Ida", "Good to know", False, False, True),
    ]
    threads = rows(
        ws, "SELECT channel, started_by, messages, people, links FROM slack_threads ORDER BY started_at"
    )
    assert [tuple(row.values()) for row in threads] == [
        ("bread", "Ida", 3, ["Ida", "Omar Sailor"], 0),
        ("bread", "Ida", 1, ["Ida"], 1),
        ("sea", "Guest", 1, ["Guest"], 0),
    ]
    assert rows(ws, "SELECT name, names, kind, topic, purpose, members FROM slack_channels ORDER BY name")[
        0
    ] == {
        "name": "bread",
        "names": ["bread"],
        "kind": "public",
        "topic": "All about bread",
        "purpose": None,
        "members": ["U1", "U2"],
    }
    assert {row["name"] for row in rows(ws, "SELECT name FROM slack_users")} == {
        "Ida",
        "Omar Sailor",
        "gone",
        "Build Bot",
    }
    assert rows(ws, "SELECT name, count, users FROM store.slack_reactions") == [
        {"name": "clap::skin-tone-2", "count": 3, "users": ["U1"]}
    ]
    (file,) = rows(ws, "SELECT name, bytes, url FROM store.slack_files")
    assert (file["name"], file["bytes"]) == ("map.png", 10)
    assert "xoxe" not in file["url"]


def test_a_thread_is_found_by_meaning_and_shows_who_said_it_when_and_where(
    ws: Workspace, tmp_path: Path
) -> None:
    import_files(ws, [as_zip(tmp_path / "export.zip", export(DAYS))])
    index_documents(ws)
    hit = search(ws, "how many times must sourdough be fed").results[0]
    assert (hit.kind, hit.origin, hit.title) == (
        "slack_thread",
        "#bread",
        "How often do you feed the starter, @Omar Sailor?",
    )
    assert hit.last_visited == "2026-03-02T09:01:00.000000Z"
    assert fetch(ws, hit.id).text.splitlines() == [
        "Ida, 2026-03-01 09:00: How often do you feed the starter, @Omar Sailor?",
        "Omar Sailor, 2026-03-02 09:00: Twice a day, it doubles in six hours",
        "Ida, 2026-03-02 09:01: Good to know",
    ]
    assert [hit.kind for hit in search(ws, "ferry", kinds=("slack_thread",)).results] == ["slack_thread"]


def test_the_same_export_again_changes_nothing_and_a_newer_one_brings_what_changed(
    ws: Workspace, tmp_path: Path
) -> None:
    first = as_zip(tmp_path / "first.zip", export(DAYS))
    assert taken(ws, first) == ("imported", 6, 6, 0, 0)
    assert import_files(ws, [first]).imports[0].status == "unchanged"
    assert taken(ws, as_folder(tmp_path / "again", export(DAYS))) == ("imported", 6, 0, 0, 0)
    index_documents(ws)
    later: dict[str, Any] = json.loads(json.dumps(DAYS))
    later["bread/2026-03-02"][0] |= {
        "text": "Three times a day",
        "edited": {"user": "U2", "ts": "1772450000.000000"},
    }
    later["bread/2026-03-01"][2] = {
        "type": "message",
        "subtype": "tombstone",
        "hidden": True,
        "text": "This message was deleted.",
        "ts": "1772355700.000000",
    }
    later["bread/2026-03-03"] = [message("1772530000.000000", "A late reply", "U4", thread_ts=ROOT)]
    renamed = [CHANNELS[0] | {"name": "baking"}, CHANNELS[1]]
    moved = {name.replace("bread/", "baking/"): day for name, day in later.items()}
    newer = as_zip(tmp_path / "newer.zip", export(moved, channels=renamed))
    assert taken(ws, newer) == ("imported", 7, 1, 2, 0)
    assert taken(ws, as_folder(tmp_path / "older", export(DAYS | {"sea/2026-03-04": []}))) == (
        *("imported", 6, 0, 0, 0),  # never back
    )
    said = rows(
        ws, "SELECT text, is_edited, is_deleted FROM slack_messages WHERE channel_id = 'C1' ORDER BY sent_at"
    )
    assert [tuple(row.values()) for row in said] == [
        ("How often do you feed the starter, @Omar Sailor?", False, False),
        ("@Omar Sailor has joined the channel", False, False),
        ("", False, True),
        ("Three times a day", True, False),
        ("Good to know", False, False),
        ("A late reply", False, False),
    ]
    assert rows(ws, "SELECT * FROM shared_links") == []
    assert rows(ws, "SELECT names FROM slack_channels WHERE id = 'C1'") == [{"names": ["bread", "baking"]}]
    index_documents(ws)
    documents = rows(ws, "SELECT origin, text FROM documents WHERE kind = 'slack_thread' ORDER BY first_at")
    # The older export brought the older name back: names are as the last import tells.
    assert [row["origin"] for row in documents] == ["#bread", "#sea"]
    assert "Three times a day" in documents[0]["text"]
    assert "Build Bot, 2026-03-03 09:26: A late reply" in documents[0]["text"]
    assert search(ws, "oven page", kinds=("slack_thread",), mode="keyword").results == []


def test_threads_are_listed_with_people_and_links_by_every_edge(
    brain: Any, ws: Workspace, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("BRAIN_HOME", str(ws.home.root))
    ran = brain("slack", "import", as_zip(tmp_path / "export.zip", export(DAYS)), "--json")
    assert (ran.code, ran.json["totals"]["new"]) == (0, 6)
    told = brain("slack", "threads", "--json").json["threads"]
    assert [(t["channel"], t["replies"], t["people"]) for t in told] == [
        ("bread", 2, ["Ida", "Omar Sailor"]),
        ("sea", 0, ["Guest"]),
        ("bread", 0, ["Ida"]),
    ]
    assert told[2]["links"] == [
        {"url": "https://bread.example/oven?utm_source=x", "label": "the oven page", "is_opened": False}
    ]
    for options, count in (
        (["--channel", "#bread"], 2),
        (["--person", "omar"], 1),
        (["--since", "2026-03-02"], 2),
        (["--until", "2026-03-01"], 2),
        (["feeding a starter", "--channel", "bread"], 1),
        (["-n", "1"], 1),
        (["--channel", "none"], 0),
    ):
        assert len(brain("slack", "threads", *options, "--json").json["threads"]) == count, options
    assert "the oven page" in brain("slack", "threads").out

    async def ask() -> Any:
        async with Client(build(ws)) as client:
            return (
                await client.call_tool("slack_threads", {"query": "how often to feed", "limit": 1})
            ).structured_content

    (thread,) = asyncio.run(ask())["threads"]
    assert (thread["id"], thread["trust"], thread["replies"]) == (told[0]["id"], "chat", 2)


def test_links_are_joined_to_what_was_opened_before_and_after(ws: Workspace, tmp_path: Path) -> None:
    now = datetime(2026, 3, 1, 9, tzinfo=UTC)
    links = "<https://a.example/read?utm_source=slack> <https://b.example/> <https://c.example/x#part> <https://a.example/read>"
    days = {"bread/2026-03-01": [message("1772355600.000000", links)]}
    import_files(ws, [as_zip(tmp_path / "export.zip", export(days))])
    for number, (url, hours) in enumerate(
        [("https://a.example/read", 5), ("https://a.example/read", 9), ("https://b.example/", -3)]
    ):
        drain_inbox.inbox(ws).drop(
            event("visit", number, now + timedelta(hours=hours), url=url, transition="link")
        )
    drain_inbox.drain(ws)
    found = rows(
        ws,
        "SELECT DISTINCT domain, shared_by, is_opened, epoch(opened_after)::BIGINT - 1772355600 AS after, "
        "visits_before FROM shared_links ORDER BY domain",
    )
    assert [tuple(row.values()) for row in found] == [
        ("a.example", "Ida", True, 5 * 3600, 0),
        ("b.example", "Ida", True, None, 1),
        ("c.example", "Ida", False, None, 0),
    ]


def test_denied_links_are_left_out_and_secrets_never_stored(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('deny = ["bank.example"]\n')
    ws = open_workspace(home)
    text = "<https://bank.example/me> <https://a.example/?access_token=Zq7w3e9r2t5y8u1i4o6p> password: Hunter2hunter2!"
    import_files(ws, [as_zip(tmp_path / "export.zip", export({"bread/2026-03-01": [message(ROOT, text)]}))])
    assert [row["domain"] for row in rows(ws, "SELECT domain FROM shared_links")] == ["a.example"]
    everything = json.dumps(
        rows(ws, "SELECT * FROM store.slack_messages, store.slack_links, documents"), default=str
    )
    assert "Zq7w3e9r2t5y8u1i4o6p" not in everything
    assert "access_token=~" in everything


@pytest.mark.parametrize(
    ("lists", "days", "channel", "author"),
    [
        ({"users": None, "org_users": USERS}, {"bread/2026-03-01": [message(ROOT, "x")]}, "bread", "Ida"),
        ({"users": None}, {"bread/2026-03-01": [message(ROOT, "x")]}, "bread", "U1"),
        ({"channels": None}, {"bread/2026-03-01": [message(ROOT, "x")]}, "bread", "Ida"),
        (
            {"groups": [{"id": "G1", "name": "quiet"}]},
            {"quiet/2026-03-01": [message(ROOT, "x")]},
            "quiet",
            "Ida",
        ),
        (
            {"dms": [{"id": "D1", "members": ["U1", "U2"]}]},
            {"D1/2026-03-01": [message(ROOT, "x")]},
            "Ida, Omar Sailor",
            "Ida",
        ),
        (
            {"dms": [{"id": "D1", "user": "U2"}]},
            {"D1/2026-03-01": [message(ROOT, "x")]},
            "Omar Sailor",
            "Ida",
        ),
        (
            {"mpims": [{"id": "G2", "name": "mpdm-ida--omar-1"}]},
            {"mpdm-ida--omar-1/2026-03-01": [message(ROOT, "x")]},
            "mpdm-ida--omar-1",
            "Ida",
        ),
        ({}, {"C1/2026-03-01": [message(ROOT, "x")]}, "bread", "Ida"),
        (
            {},
            {
                "bread/2026-03-01": [
                    {"ts": ROOT, "text": "x", "subtype": "bot_message", "username": "Deploys"}
                ]
            },
            "bread",
            "Deploys",
        ),
        (
            {},
            {"bread/2026-03-01": [{"ts": ROOT, "text": "x", "bot_id": "B1", "bot_profile": {"name": "CI"}}]},
            "bread",
            "CI",
        ),
        ({}, {"bread/2026-03-01": [{"ts": ROOT, "text": "x"}]}, "bread", "unknown"),
    ],
)
def test_every_layout_tells_where_and_who(
    ws: Workspace, tmp_path: Path, lists: Any, days: Any, channel: str, author: str
) -> None:
    assert taken(ws, as_zip(tmp_path / "export.zip", export(days, **lists)))[:3] == ("imported", 1, 1)
    assert rows(ws, "SELECT channel, author FROM slack_messages") == [{"channel": channel, "author": author}]


def test_what_is_damaged_is_named_and_the_rest_is_taken(ws: Workspace, tmp_path: Path) -> None:
    days: dict[str, Any] = {
        "bread/2026-03-01": [
            message("yesterday", "no time"),
            "no object",
            message("1772355600.000000", "good one"),
            {"type": "reaction_added", "ts": "1772355601.000000"},
            message("1772355602.000000", "odd thread", thread_ts="never"),
            message(
                "1772355603.000000",
                "odd parts",
                blocks=[{"type": []}, 7],
                files="x",
                reactions=[{"name": 1}, None],
                edited=5,
            ),
        ],
        "bread/2026-03-02": {"not": "a list"},
        "bread/2026-03-03": b'[{"type": "message", "ts": "17723',
        "bread/2026-03-04": b"[" * 100_000,
        "sea/2026-03-05": [message("1772355700.000000", "the last")],
    }
    files = export(days, users=b"\xff\xfe", groups=[{"name": "no id"}, 5])
    path = as_zip(tmp_path / "export.zip", files)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("sea/2026-03-05.json", b"[]")
    (outcome,) = import_files(ws, [path]).imports
    assert (outcome.status, outcome.seen, outcome.new) == ("partial", 3, 3)
    where = [reject["where"] for reject in show_import(ws, outcome.id or "").rejects]
    assert sorted(where) == sorted(
        [
            *("users.json", "groups.json[0]", "groups.json[1]"),
            *(f"bread/2026-03-01.json[{number}]" for number in (0, 1, 3, 4)),
            *(f"bread/2026-03-0{day}.json" for day in (2, 3, 4)),
            "sea/2026-03-05.json",
        ]
    )
    assert [row["text"] for row in rows(ws, "SELECT text FROM slack_messages ORDER BY sent_at")] == [
        *("good one", "odd parts", "the last"),
    ]


def test_half_a_zip_gives_what_it_still_has(ws: Workspace, tmp_path: Path) -> None:
    days = {
        f"bread/2026-03-{day:02}": [message(f"17723556{day:02}.000000", "word " * 500)]
        for day in range(1, 20)
    }
    whole = as_zip(tmp_path / "whole.zip", export(days)).read_bytes()
    half = tmp_path / "half.zip"
    half.write_bytes(whole[: len(whole) // 2])
    (outcome,) = import_files(ws, [half]).imports
    assert outcome.status == "partial"
    assert 3 < outcome.new < 15
    assert outcome.rejected >= 1
    whole_path = tmp_path / "whole.zip"
    assert taken(ws, whole_path) == ("imported", 19, 19 - outcome.new, 0, 0)


def test_a_bomb_is_refused_within_bounds(ws: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in export({"bread/2026-03-01": [message(ROOT, "fine")]}).items():
            archive.writestr(name, content)
        for day in range(2, 6):
            archive.writestr(f"bread/2026-03-0{day}.json", b"[" + b" " * 90_000_000 + b"]")
    (outcome,) = import_files(ws, [path]).imports
    assert (outcome.status, outcome.new) == ("partial", 1)
    reasons = {reject["reason"] for reject in show_import(ws, outcome.id or "").rejects}
    assert any("far more than it should" in reason for reason in reasons)


def test_since_takes_what_was_said_from_then_on(ws: Workspace, tmp_path: Path) -> None:
    since = int(datetime(2026, 3, 2, tzinfo=UTC).timestamp() * 1_000_000)
    path = as_zip(tmp_path / "export.zip", export(DAYS))
    (outcome,) = import_files(ws, [path], ImportOptions(since_us=since)).imports
    assert outcome.new == 3


def test_a_zip_of_other_things_is_no_export(tmp_path: Path) -> None:
    for name, files in {
        "lists": {"channels.json": b"[]", "users.json": b"[]"},
        "days": {"bread/2026-03-01.json": b"[]"},
        "none": {"a.txt": b"x"},
    }.items():
        assert not slack_export.detect(as_zip(tmp_path / f"{name}.zip", files)), name
        assert not slack_export.detect_folder(as_folder(tmp_path / name, files)), name


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = """
ts thread_ts user text type subtype edited files file blocks attachments reactions bot_id bot_profile user_profile
reply_count message previous_message deleted_ts username comment"""
FIELDS = st.sampled_from(NAMES.split())
MESSAGES = st.dictionaries(
    FIELDS, ANY | st.just(ROOT) | st.just("message_changed") | st.just("message_deleted"), max_size=8
)


@settings(max_examples=60, deadline=None)
@given(st.lists(MESSAGES | ANY, max_size=4), ANY, ANY)
def test_no_export_is_too_strange_to_be_read(
    tmp_path_factory: Any, said: Any, users: Any, channels: Any
) -> None:
    files = export(
        {"bread/2026-03-01": said}, users=users if users is not None else [], channels=channels or []
    )
    path = as_zip(tmp_path_factory.mktemp("odd") / "export.zip", files)
    try:
        items = list(slack_export.read(path))
    except EmptySource:
        return
    taken = sum(
        item.rows.num_rows for item in items if isinstance(item, Batch) and item.record == "slack_messages"
    )
    refused = sum(isinstance(item, Rejected) and item.where.startswith("bread") for item in items)
    assert taken + refused == len(said)
