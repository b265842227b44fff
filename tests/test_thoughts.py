"""Thoughts and preferences: append-only, versioned, idempotent, found at once, counted over all rows."""

import json
import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from brain.errors import UsageError
from brain.inbox import Inbox
from brain.services import preferences as prefs
from brain.services.drain_inbox import drain
from brain.services.drain_inbox import inbox as inbox_of
from brain.services.find import search
from brain.services.index_documents import index_documents
from brain.services.thought_reads import (
    get_thought,
    list_thoughts,
    open_action_items,
    search_thoughts,
    thought_stats,
)
from brain.services.thoughts import (
    capture_thought,
    delete_thought,
    restore_thought,
    supersede_thought,
    update_thought,
)
from brain.services.wake_up import wake_up
from brain.workspace import Workspace

NOW = datetime(2026, 3, 4, 9, tzinfo=UTC)


@pytest.fixture
def ws(workspace: Workspace) -> Workspace:
    return Workspace(replace(workspace.settings, fixed_now=NOW, timezone="UTC"))


def at(ws: Workspace, moment: str) -> Workspace:
    return Workspace(replace(ws.settings, fixed_now=datetime.fromisoformat(moment)))


def test_a_captured_thought_has_its_metadata_and_is_found_at_once(ws: Workspace) -> None:
    made = capture_thought(
        ws, "Met Anna Weber about the harbour lights; need to send the plan by Friday", client="laptop"
    )
    assert (made.type, made.people, made.dates, made.status) == (
        "meeting",
        ["Anna Weber"],
        ["2026-03-06"],
        "captured",
    )
    assert made.action_items == ["send the plan"]
    assert made.said.startswith("Captured as meeting - ")
    (hit,) = search_thoughts(ws, "harbour lights").thoughts
    assert (hit.id, hit.client, hit.created_at) == (made.id, "laptop", "2026-03-04T09:00:00.000000Z")
    index_documents(ws)
    assert [h.id for h in search(ws, "harbour lights").results] == [made.id]
    assert ws.lake.sql("SELECT state FROM documents").rows() in ([("ready",)], [("pending",)])


def test_the_same_text_within_a_day_joins_and_later_is_linked(ws: Workspace) -> None:
    first = capture_thought(ws, "Bread needs  time")
    again = capture_thought(ws, "bread NEEDS time ")
    assert (again.status, again.id) == ("merged", first.id)
    other = capture_thought(ws, "Bread needs time", source="phone")
    assert other.status == "captured"
    late = capture_thought(at(ws, "2026-03-06T09:00:00+00:00"), "Bread needs time")
    assert late.status == "captured"
    assert len({first.id, other.id, late.id}) == 3
    for repeat in (other, late):
        thought = get_thought(ws, repeat.id)
        assert thought is not None
        assert thought.same_as == first.id
    assert len(search_thoughts(ws, "bread needs time").thoughts) == 1
    assert search_thoughts(ws, "bread needs time").thoughts[0].repeats == 2
    assert thought_stats(ws).total == 3
    assert ws.lake.sql("SELECT count(*) FROM store.thought_occurrences").item() == 4


def test_an_idempotency_key_captures_once_whatever_the_text(ws: Workspace) -> None:
    first = capture_thought(ws, "one", idempotency_key="k1")
    assert capture_thought(ws, "one", idempotency_key="k1").id == first.id
    assert capture_thought(ws, "two", idempotency_key="k1").id == first.id
    assert capture_thought(ws, "two", idempotency_key="k1", source="other").id != first.id
    assert thought_stats(ws).total == 2


def test_identical_captures_from_many_threads_are_one_thought(ws: Workspace) -> None:
    ws.lake.ensure()
    made: list[str] = []
    threads = [
        threading.Thread(target=lambda: made.append(capture_thought(ws, "all at once").id)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert len(set(made)) == 1
    assert ws.lake.sql("SELECT count(*) FROM store.thought_occurrences").item() == 8


def test_an_event_applied_twice_changes_nothing(ws: Workspace) -> None:
    box: Inbox = inbox_of(ws)
    event = {"id": "e1", "kind": "thought", "data": {"content": "Once", "source": "x"}}
    for _ in range(2):
        box.drop(event)
        drain(ws)
    assert ws.lake.sql("SELECT count(*) FROM thoughts").item() == 1
    assert ws.lake.sql("SELECT count(*) FROM store.thought_occurrences").item() == 1


@pytest.mark.parametrize("content", ["", "  \n ", "\u200b\u202e", "x" * 100_001])
def test_a_text_that_cannot_be_kept_is_refused(ws: Workspace, content: str) -> None:
    with pytest.raises(UsageError, match="a thought"):
        capture_thought(ws, content)
    assert list_thoughts(ws).thoughts == []


@pytest.mark.parametrize("moment", ["soon", "2026-03-04", "1950-01-01T00:00:00Z", "2026-03-05T09:00:00Z"])
def test_an_impossible_instant_is_refused(ws: Workspace, moment: str) -> None:
    with pytest.raises(UsageError, match="created_at"):
        capture_thought(ws, "text", created_at=moment)


def test_secrets_and_hidden_characters_never_reach_the_lake(ws: Workspace) -> None:
    made = capture_thought(
        ws, "The \u202ekey is password: hunter2hunter2 \x07and https://a.example/?token=s3cr3tS3CR3Ts3cr3t9"
    )
    thought = get_thought(ws, made.id)
    assert thought is not None
    for bad in ("hunter2", "s3cr3t", "\u202e", "\x07"):
        assert bad not in thought.content
    assert search_thoughts(ws, "hunter2hunter2").thoughts == [] or "hunter2" not in str(
        search_thoughts(ws, "key")
    )


def test_an_edit_keeps_the_old_text_and_is_found_by_the_new(ws: Workspace) -> None:
    made = capture_thought(ws, "The meeting is on Tuesday about turnips")
    assert update_thought(ws, made.id, "The meeting is about radishes", version=1).version == 2
    assert [t.id for t in search_thoughts(ws, "radishes").thoughts] == [made.id]
    assert "turnips" not in str(search_thoughts(ws, "turnips").thoughts)
    assert ws.lake.sql("SELECT content FROM store.thought_versions").rows() == [
        ("The meeting is on Tuesday about turnips",)
    ]


def test_a_stale_edit_is_refused_and_says_the_version(ws: Workspace) -> None:
    made = capture_thought(ws, "first words")
    update_thought(ws, made.id, "second words", version=1)
    with pytest.raises(UsageError, match="is at version 2 by now, not 1: read it again"):
        update_thought(ws, made.id, "third words", version=1)
    with pytest.raises(UsageError, match="is at version 2 by now"):
        delete_thought(ws, made.id, version=1)
    thought = get_thought(ws, made.id)
    assert thought is not None
    assert thought.content == "second words"


def test_a_deleted_thought_is_out_of_sight_until_restored(ws: Workspace) -> None:
    made = capture_thought(ws, "a private remark on marmalade")
    delete_thought(ws, made.id)
    assert search_thoughts(ws, "marmalade").thoughts == []
    assert list_thoughts(ws).thoughts == []
    assert [t.id for t in list_thoughts(ws, deleted=True).thoughts] == [made.id]
    assert thought_stats(ws).total == 0
    with pytest.raises(UsageError, match="there is no thought"):
        update_thought(ws, made.id, "x")
    restore_thought(ws, made.id)
    assert [t.id for t in search_thoughts(ws, "marmalade").thoughts] == [made.id]
    with pytest.raises(UsageError, match="is not deleted"):
        restore_thought(ws, made.id)


def test_when_the_shown_thought_is_deleted_its_repeat_is_shown(ws: Workspace) -> None:
    first = capture_thought(ws, "quinces are in season")
    later = capture_thought(ws, "quinces are in season", source="phone")
    delete_thought(ws, first.id)
    assert [t.id for t in search_thoughts(ws, "quinces").thoughts] == [later.id]


def test_a_superseded_thought_stays_and_names_its_successor(ws: Workspace) -> None:
    old, new = capture_thought(ws, "release on Monday"), capture_thought(ws, "release on Thursday")
    supersede_thought(ws, old.id, new.id)
    thought = get_thought(ws, old.id)
    assert thought is not None
    assert thought.superseded_by == new.id
    assert [t.id for t in search_thoughts(ws, "release").thoughts] == [new.id]
    with pytest.raises(UsageError, match="could replace"):
        supersede_thought(ws, new.id, new.id)


def test_lists_are_newest_first_filtered_and_paged_without_gap(ws: Workspace) -> None:
    for n in range(7):
        capture_thought(at(ws, f"2026-03-0{n + 1}T08:00:00+00:00"), f"Met Jonas about the invoice number {n}")
    capture_thought(ws, "The lake is frozen")
    ids: list[str] = []
    cursor = None
    for _ in range(9):
        part = list_thoughts(ws, limit=3, cursor=cursor)
        ids += [t.id for t in part.thoughts]
        if (cursor := part.cursor) is None:
            break
    assert ids == [t.id for t in list_thoughts(ws, limit=50).thoughts]
    assert len(ids) == 8
    assert len(list_thoughts(ws, person="jonas", type="meeting", limit=50).thoughts) == 7
    assert len(list_thoughts(ws, topic="INVOICE", limit=50).thoughts) == 7
    assert len(list_thoughts(ws, person="Jonas", since="2026-03-05", limit=50).thoughts) == 3
    for bad in ({"type": "mood"}, {"limit": 0}, {"days": 0}, {"cursor": "x"}, {"since": "never"}):
        with pytest.raises(UsageError):
            list_thoughts(ws, **bad)  # type: ignore[arg-type]


def test_stats_count_all_rows_and_list_what_is_open(ws: Workspace) -> None:
    for n in range(60):
        capture_thought(ws, f"TODO: water plant {n}", created_at="2026-03-02T10:00:00Z")
    done = capture_thought(ws, "TODO: water the cactus")
    delete_thought(ws, done.id)
    stats = thought_stats(ws)
    assert (stats.total, stats.by_type) == (60, {"task": 60})
    assert stats.weeks == [{"week": "2026-03-02", "thoughts": 60}]
    assert len(stats.open_action_items) == 50
    assert "water the cactus" not in str(open_action_items(ws, limit=100))


def test_weeks_follow_the_users_zone(ws: Workspace) -> None:
    capture_thought(ws, "late on Sunday", created_at="2026-03-01T23:30:00Z")
    there = Workspace(replace(ws.settings, timezone="Asia/Tokyo"))
    assert thought_stats(ws).weeks == [{"week": "2026-02-23", "thoughts": 1}]
    assert thought_stats(there).weeks == [{"week": "2026-03-02", "thoughts": 1}]


def test_a_threshold_hides_only_hits_by_meaning_and_says_so(ws: Workspace) -> None:
    capture_thought(ws, "The sourdough wants a longer proof in the cold")
    capture_thought(ws, "Bread rises slower in winter kitchens")
    everything = search_thoughts(ws, "sourdough proof")
    strict = search_thoughts(ws, "sourdough proof", threshold=1.0)
    assert all(t.match != "semantic" for t in strict.thoughts)
    assert "sourdough" in strict.thoughts[0].content
    assert strict.hidden == len(everything.thoughts) - len(strict.thoughts)
    with pytest.raises(UsageError, match="threshold"):
        search_thoughts(ws, "x", threshold=2)


def test_a_preference_is_looked_up_word_for_word_and_every_change_is_audited(ws: Workspace) -> None:
    made = prefs.set_preference(
        ws, "Tone", domain="Writing", want="plain words", reject="jargon", client="laptop", reason="style"
    )
    assert (made.version, made.constraint_type) == (1, "domain rule")
    changed = prefs.set_preference(
        ws, "tone", domain="writing", want="plain words", reject=None, constraint_type="formatting"
    )
    assert (changed.id, changed.version, changed.reject) == (made.id, 2, None)
    same = prefs.set_preference(
        ws, "tone", domain="writing", want="plain words", constraint_type="formatting"
    )
    assert same.version == 2
    prefs.set_preference(ws, "Units", want="metric")
    assert [p.name for p in prefs.get_preferences(ws, "WRITING").preferences] == ["Units", "tone"]
    assert [p.name for p in prefs.get_preferences(ws, constraint_type="formatting").preferences] == ["tone"]
    assert prefs.get_preferences(ws).text == (
        "## general\n- Units (domain rule): want: metric\n## writing\n- tone (formatting): want: plain words"
    )
    prefs.remove_preference(ws, made.id, client="laptop")
    assert [p.name for p in prefs.get_preferences(ws).preferences] == ["Units"]
    audit = ws.lake.sql(
        "SELECT who, action, reason FROM audit WHERE subject = ? ORDER BY done_at, action DESC", [made.id]
    )
    assert sorted(audit.rows(), key=str) == sorted(
        [("laptop", "set", "style"), (None, "set", None), ("laptop", "removed", None)], key=str
    )
    with pytest.raises(UsageError, match="there is no preference"):
        prefs.remove_preference(ws, made.id)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": " ", "want": "x"}, "needs a name"),
        ({"name": "n"}, "what is wanted"),
        ({"name": "n", "want": " ", "reject": ""}, "what is wanted"),
        (
            {"name": "n", "want": "x", "constraint_type": "mood"},
            "unknown constraint type 'mood'; choose domain rule",
        ),
        ({"name": "n", "want": "x" * 4_001}, "at most 4,000"),
    ],
)
def test_a_preference_without_meaning_is_refused(ws: Workspace, values: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        prefs.set_preference(ws, **values)  # type: ignore[arg-type]
    assert prefs.get_preferences(ws).preferences == []


def test_preferences_go_out_and_come_in_without_overwriting(ws: Workspace, tmp_path) -> None:  # type: ignore[no-untyped-def]
    prefs.set_preference(ws, "Tone", domain="writing", want="plain")
    text = prefs.export_preferences(ws)
    assert prefs.import_preferences(ws, text) == prefs.Taken([], ["writing: Tone"], [])
    naps = {"preference_name": "Naps", "domain": "life", "want": "daily", "constraint_type": "business logic"}
    other = json.dumps([naps, {"want": "x"}])
    assert prefs.import_preferences(ws, other, dry_run=True).new == ["life: Naps"]
    assert len(prefs.get_preferences(ws).preferences) == 1
    taken = prefs.import_preferences(ws, other)
    assert (taken.new, len(taken.refused)) == (["life: Naps"], 1)
    for bad in ("no json", "5", '{"x": []}', "[1]"):
        with pytest.raises(UsageError):
            prefs.import_preferences(ws, bad)


def test_wake_up_puts_preferences_first_and_keeps_within_its_budget(ws: Workspace) -> None:
    assert wake_up(ws).text == ""
    prefs.set_preference(ws, "Tone", want="plain words")
    capture_thought(ws, "Decided to use DuckDB for the reading log")
    for n in range(30):
        capture_thought(ws, f"TODO: call the number {n} on the list")
    pack = wake_up(ws, 400)
    assert pack.text.startswith(
        "# Preferences\n## general\n- Tone (domain rule): want: plain words\n# Open action items\n"
    )
    assert pack.tokens <= 400
    assert "Decided to use DuckDB" in wake_up(ws, 5_000).text
    small = wake_up(ws, 60)
    assert small.tokens <= 60
    assert small.left_out
    with pytest.raises(UsageError, match="budget"):
        wake_up(ws, 1)


def test_an_empty_lake_has_no_thoughts_and_says_so(ws: Workspace) -> None:
    assert list_thoughts(ws).thoughts == []
    assert thought_stats(ws).total == 0
    assert prefs.get_preferences(ws).text == ""
    assert not ws.home.lake.exists()


def test_a_capture_outlasts_a_lake_that_is_held_for_a_while(ws: Workspace) -> None:
    ws.lake.ensure()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with ws.lake.write(what="something long"):
            held.set()
            done.wait(2.5)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    assert capture_thought(ws, "patience is a virtue").status == "captured"
    done.set()
    holder.join()
    assert len(list_thoughts(ws).thoughts) == 1
