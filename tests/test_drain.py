"""From the inbox into the lake: visits and notes arrive once, private ones leave nothing behind."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from histories import Visit, chromium
from test_import_files import places_of

from brain.inbox import DrainReport
from brain.services.drain_inbox import appliers, drain, inbox
from brain.services.import_files import ImportOptions, import_files
from brain.workspace import Workspace

AT = "2026-11-30T11:00:00.123456Z"
SECRET = "hunter2-Zq8vX3kLm9Tn4RwB7yCd"


def visit(url: Any = "https://a.example/", *, at: str = AT, **data: Any) -> dict[str, Any]:
    return {"kind": "visit", "at": at, "data": {"url": url, **data}, "browser": "chrome", "profile": "Work"}


def note(text: Any, **data: Any) -> dict[str, Any]:
    return {"kind": "note", "at": AT, "data": {"text": text, **data}, "source": "cli", "client": "test"}


def settle(ws: Workspace, *events: dict[str, Any]) -> DrainReport:
    for event in events:
        inbox(ws).drop(event)
    return drain(ws)


def rows(ws: Workspace, query: str) -> list[tuple[Any, ...]]:
    return list(ws.lake.sql(query).rows())


def test_a_visit_becomes_a_visit(workspace: Workspace) -> None:
    assert settle(workspace, visit(title="A page", transition="typed")) == DrainReport(applied=1)
    columns = "url, title, navigation, is_visible, is_reload, source, browser, profile, visited_at, import_id"
    assert rows(workspace, f"SELECT {columns} FROM visits") == [
        (
            *("https://a.example/", "A page", "typed", True, False, "extension", "chrome", "Work"),
            datetime(2026, 11, 30, 11, 0, 0, 123_456, tzinfo=UTC),
            None,
        )
    ]
    assert rows(workspace, "SELECT title, visible_visits FROM pages") == [("A page", 1)]


def test_the_receipt_names_the_visit(workspace: Workspace) -> None:
    receipt = inbox(workspace).submit(visit(transition="reload"), appliers(workspace))
    assert receipt
    assert receipt.state == "applied"
    assert rows(workspace, "SELECT id, is_reload FROM visits") == [(receipt.result_id, True)]


def test_the_same_event_twice_is_one_visit(workspace: Workspace) -> None:
    event = visit() | {"id": "same"}
    assert settle(workspace, event, event) == DrainReport(applied=1, duplicate=1)
    assert settle(workspace, event) == DrainReport(duplicate=1)
    assert rows(workspace, "SELECT count(*) FROM visits") == [(1,)]


def test_a_note_becomes_a_document(workspace: Workspace) -> None:
    receipt = inbox(workspace).submit(
        note("Remember the milk", url="https://a.example/x"), appliers(workspace)
    )
    assert receipt
    assert rows(
        workspace, "SELECT id, kind, text, url, domain, source, origin, first_at, state FROM documents"
    ) == [
        (
            *(
                receipt.result_id,
                "note",
                "Remember the milk",
                "https://a.example/x",
                "a.example",
                "cli",
                "test",
            ),
            datetime(2026, 11, 30, 11, 0, 0, 123_456, tzinfo=UTC),
            "stale",
        )
    ]
    assert rows(workspace, "SELECT count(*) FROM visits") == [(0,)]


def test_a_visit_that_a_browsers_file_has_too_is_counted_once(workspace: Workspace, tmp_path: Path) -> None:
    path = chromium(
        tmp_path / "History",
        [Visit(AT, "https://a.example/"), Visit("2026-11-30T11:10:00Z", "https://b.example/")],
    )
    settle(workspace, visit("https://b.example/", at="2026-11-30T11:10:00.5Z"))  # before the file
    (outcome,) = import_files(workspace, [path], ImportOptions(browser="chrome")).imports
    assert outcome.counts["duplicates"] == 1
    settle(
        workspace, visit(at="2026-11-30T11:00:03.123456Z"), visit(at="2026-11-30T11:00:03.123457Z")
    )  # after it
    assert rows(workspace, "SELECT domain, visits, visible_visits FROM pages ORDER BY 1") == [
        ("a.example", 3, 2),
        ("b.example", 2, 1),
    ]


def test_the_visit_that_counts_takes_over_what_only_the_repeat_knows(
    workspace: Workspace, tmp_path: Path
) -> None:
    told = Visit(AT, "https://b.example/", "B", foreground_us=7_000_000, duration_us=9_000_000, from_visit=2)
    path = chromium(tmp_path / "History", [told, Visit("2026-11-30T10:59:00Z", "https://a.example/")])
    settle(workspace, visit("https://b.example/", at="2026-11-30T11:00:01Z"))  # before the file
    import_files(workspace, [path], ImportOptions(browser="chrome"))
    columns = "source, title, foreground_us, duration_us, from_id IS NOT NULL"
    query = f"SELECT {columns} FROM visits WHERE is_visible AND domain = 'b.example'"
    assert rows(workspace, query) == [("extension", "B", 7_000_000, 9_000_000, True)]


class TestPrivacy:
    @pytest.mark.parametrize(
        "event",
        [
            pytest.param(visit("https://zebra.example/", title="Zebra", incognito=True), id="private window"),
            pytest.param(visit("https://bank.example/zebra", title="Zebra"), id="denied"),
            pytest.param(visit("file:///home/me/zebra.txt", title="Zebra"), id="denied scheme"),
            pytest.param(note("Zebra", url="https://bank.example/zebra"), id="note on a denied page"),
            pytest.param(note("Zebra", incognito=True), id="note in a private window"),
            # What is refused is kept with its reason; what is private must not be kept at all.
            pytest.param(visit("https://bank.example/zebra", title=["Zebra"]), id="denied and malformed"),
            pytest.param(visit(["zebra"], incognito=True), id="private and malformed"),
            pytest.param(visit("https://bank.example/" + "zebra" * 20_000), id="denied and too long"),
            pytest.param(
                note(["Zebra"], url="https://bank.example/zebra"), id="malformed note on a denied page"
            ),
        ],
    )
    def test_what_is_private_leaves_no_trace(self, workspace: Workspace, event: dict[str, Any]) -> None:
        ws = Workspace(replace(workspace.settings, deny=("bank.example",)))
        assert settle(ws, event, visit("https://control.example/okapi")) == DrainReport(applied=2)
        assert places_of(ws.home.root, "okapi")
        for word in ("zebra", "Zebra", "bank.example"):
            assert places_of(ws.home.root, word) == []
        assert rows(ws, "SELECT count(*) FROM visits") == [(1,)]

    def test_private_windows_are_taken_when_asked_for(self, workspace: Workspace) -> None:
        ws = Workspace(replace(workspace.settings, keep_private=True))
        settle(ws, visit(incognito=True))
        assert rows(ws, "SELECT count(*) FROM visits") == [(1,)]

    def test_secrets_are_replaced(self, workspace: Workspace) -> None:
        settle(
            workspace,
            visit(f"https://okapi.example/?access_token={SECRET}", title=f"password: {SECRET}"),
            note(f"The token: {SECRET}", url=f"https://okapi.example/?sig={SECRET}&access_token={SECRET}"),
        )
        assert places_of(workspace.home.root, "okapi")
        assert places_of(workspace.home.root, SECRET) == []


class TestRefused:
    @pytest.mark.parametrize(
        ("event", "reason"),
        [
            (visit(None), "`data.url` is missing"),
            (visit("  "), "`data.url` is missing"),
            (visit(5), "`data.url` must be text"),
            (
                visit("https://a.example/" + "x" * 70_000),
                "`data.url` has 70,018 characters; at most 65,536 are taken",
            ),
            (visit(title=7), "`data.title` must be text"),
            (note(None), "`data.text` is missing"),
            (note({}), "`data.text` must be text"),
            (
                {"kind": "dance", "data": {}},
                "unknown kind 'dance'; known: bookmark, capture, command, command_done, dwell, highlight, note, "
                "preference_remove, preference_set, slack_message, slack_thought, tabs, "
                "thought, thought_delete, thought_edit, thought_restore, thought_supersede, visit",
            ),
        ],
    )
    def test_what_cannot_be_applied_is_kept_with_its_reason(
        self, workspace: Workspace, event: dict[str, Any], reason: str
    ) -> None:
        assert settle(workspace, event, visit()) == DrainReport(applied=1, rejected=1)
        ((path, why),) = inbox(workspace).rejected()
        assert why == reason
        assert path.exists()
        assert rows(workspace, "SELECT count(*) FROM visits") == [(1,)]
        assert inbox(workspace).waiting() == 0

    def test_strange_provenance_is_no_reason_to_lose_a_note(self, workspace: Workspace) -> None:
        assert settle(workspace, note("kept") | {"client": {"name": "x"}, "source": 7}).applied == 1
        assert rows(workspace, "SELECT text FROM documents") == [("kept",)]

    def test_halves_of_characters_are_replaced(self, workspace: Workspace) -> None:
        (workspace.home.ensure().inbox / "new").mkdir()
        raw = '{"id": "x", "kind": "note", "at": "2026-11-30T11:00:00Z", "data": {"text": "a\\ud83d"}}'
        (workspace.home.inbox / "new" / "1-x-1.json").write_text(raw)
        assert drain(workspace).applied == 1
        assert rows(workspace, "SELECT text FROM documents") == [("a?",)]


def test_nothing_waiting_makes_no_lake(workspace: Workspace) -> None:
    assert drain(workspace) == DrainReport()
    assert not workspace.home.root.exists()
