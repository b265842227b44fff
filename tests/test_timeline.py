"""What was read around a moment: which items, in which order, around what."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from histories import LINK, Visit, chromium

from brain import config
from brain.errors import UsageError
from brain.services.drain_inbox import drain, inbox
from brain.services.import_files import import_files
from brain.services.index_documents import refresh_pages
from brain.services.timeline import timeline
from brain.workspace import Workspace

A, B, C = "https://a.example/", "https://b.example/", "https://c.example/"


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Four visits and a note; the clock stands at noon of 2026-11-30. To be read only."""
    folder = tmp_path_factory.mktemp("timeline")
    noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
    workspace = Workspace(replace(config.load(folder / "home"), timezone="UTC", fixed_now=noon))
    visits = [
        Visit("2026-11-29T23:30:00Z", A, "A"),
        Visit("2026-11-30T11:30:00Z", B, "B"),
        Visit("2026-11-30T11:45:00Z", C, "frame", transition=LINK | 3),
        Visit("2026-11-30T12:30:00Z", A, "A"),
    ]
    import_files(workspace, [chromium(folder / "History", visits)])
    inbox(workspace).drop(
        {
            "id": "one",
            "kind": "note",
            "at": "2026-11-30T11:40:00Z",
            "data": {"text": "Remember B"},
            "client": "test",
        }
    )
    assert drain(workspace).applied == 1
    refresh_pages(workspace)
    return workspace


def seen(week: Workspace, around: str | None, window: str = "30m") -> list[tuple[str, str, str | None]]:
    return [(i["at"], i["kind"], i["title"]) for i in timeline(week, around, window).items]


FIRST = ("2026-11-29T23:30:00.000000Z", "page", "A")
SECOND = ("2026-11-30T11:30:00.000000Z", "page", "B")
NOTE = ("2026-11-30T11:40:00.000000Z", "note", "Remember B")
LAST = ("2026-11-30T12:30:00.000000Z", "page", "A")


def test_visits_and_notes_come_in_order_and_frames_do_not(week: Workspace) -> None:
    assert seen(week, "2026-11-30T12:00:00Z", "1d") == [FIRST, SECOND, NOTE, LAST]


@pytest.mark.parametrize(
    ("around", "window", "items"),
    [
        (None, "30m", [SECOND, NOTE]),  # around now; the window is half-open
        (None, "31m", [SECOND, NOTE, LAST]),
        ("2026-11-30T11:45:00Z", "5m", [NOTE]),
        ("yesterday", "30m", [FIRST]),
        ("2026-11-30", "30m", [SECOND, NOTE, LAST]),
        ("2026-11-28", "30m", []),
    ],
)
def test_a_moment_is_now_an_instant_or_a_phrase(
    week: Workspace, around: str | None, window: str, items: list[tuple[str, str, str]]
) -> None:
    assert seen(week, around, window) == items


def test_days_are_those_of_the_zone(week: Workspace) -> None:
    vienna = Workspace(replace(week.settings, timezone="Europe/Vienna"))
    answer = timeline(vienna, "2026-11-30")
    assert [i["at"] for i in answer.items] == [FIRST[0], SECOND[0], NOTE[0], LAST[0]]
    assert answer.coverage.interval == {
        "since": "2026-11-29T23:00:00.000000Z",
        "until": "2026-11-30T23:00:00.000000Z",
    }
    assert answer.coverage.zone == "Europe/Vienna"


def test_ids_lead_to_their_moment(week: Workspace) -> None:
    items = {(i["kind"], i["at"]): i for i in timeline(week, "2026-11-30", "1d").items}
    visit, note = items["page", SECOND[0]]["id"], items["note", NOTE[0]]["id"]
    assert (visit[0], note[0], len(visit), len(note)) == ("v", "n", 17, 17)
    assert seen(week, visit, "5m") == [SECOND]
    assert seen(week, note, "5m") == [NOTE]
    (page,) = week.lake.sql("SELECT id FROM documents WHERE kind = 'page' AND title = 'A'")["id"].to_list()
    assert seen(week, page, "5m") == [LAST]  # the newest visit of the page


def test_the_earliest_come_first_when_there_are_too_many(week: Workspace) -> None:
    assert [i["at"] for i in timeline(week, "2026-11-30T12:00:00Z", "1d", limit=2).items] == [
        FIRST[0],
        SECOND[0],
    ]


def test_each_item_tells_where_it_comes_from(week: Workspace) -> None:
    first, note = (i for i in timeline(week, "2026-11-30T11:35:00Z", "6m").items)
    assert (first["url"], first["origin"]) == (B, "chromium")
    assert (note["url"], note["origin"]) == (None, "test")


@pytest.mark.parametrize("window", ["100000w", "999999m"])
def test_a_window_wider_than_time_holds_all(week: Workspace, window: str) -> None:
    assert len(seen(week, "2026-11-30T12:00:00Z", window)) == 4


@pytest.mark.parametrize(
    ("around", "window"),
    [
        ("soon", "30m"),
        (None, "wide"),
        (None, "0m"),
        ("v0000000000000000", "30m"),
        ("n0123456789abcdef", "30m"),
    ],
)
def test_what_is_not_understood_is_refused(week: Workspace, around: str | None, window: str) -> None:
    with pytest.raises(UsageError):
        timeline(week, around, window)


def test_an_empty_lake_has_no_items(workspace: Workspace) -> None:
    answer = timeline(workspace)
    assert answer.items == []
    assert answer.coverage.interval == {
        "since": "2026-11-30T11:30:00.000000Z",
        "until": "2026-11-30T12:30:00.000000Z",
    }
    assert not workspace.home.root.exists()
