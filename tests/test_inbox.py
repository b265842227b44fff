import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.applying import Together
from brain.config import Home
from brain.errors import EventRefused, LakeBusy, LakeError
from brain.events import MAX_EVENT_BYTES, Event, parse
from brain.inbox import DrainReport, Inbox
from brain.leases import Leases
from brain.receipts import Receipt

NOW = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)


def note(con, event: Event) -> str:
    """An applier with a rule: a text is taken once, and one that says `bug` breaks the program after a write."""
    if con.execute("SELECT 1 FROM notes WHERE text = ?", [event.data["text"]]).fetchall():
        raise EventRefused("stale: this text is there already")
    con.execute("INSERT INTO notes VALUES (?, ?, ?)", [event.id, event.data["text"], event.at])
    if event.data["text"] == "bug":
        raise KeyError("a bug")
    return f"n-{event.id}"


APPLIERS = {"note": note}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "a home's 家").ensure()
    with Leases(home).write() as con:
        con.execute("CREATE TABLE notes (id VARCHAR, text VARCHAR, at TIMESTAMPTZ)".replace(" at ", ' "at" '))
    return home


@pytest.fixture
def inbox(home: Home) -> Inbox:
    return Inbox(home, Leases(home), now=lambda: NOW)


def event(text: str, **more: object) -> dict[str, object]:
    return {"kind": "note", "data": {"text": text}, **more}


def rows(home: Home, sql: str) -> list[tuple]:
    with Leases(home).read(timeout=30) as con:
        return con.execute(sql).fetchall()


def files(home: Home, folder: str) -> list[str]:
    return sorted(path.name for path in (home.inbox / folder).iterdir())


def test_a_dropped_event_is_a_private_file_until_it_is_drained(home: Home, inbox: Inbox) -> None:
    inbox.drop(event("hello", id="one", client="test"))
    (path,) = (home.inbox / "new").iterdir()
    assert json.loads(path.read_text("utf-8")) == {
        "id": "one",
        "at": "2026-11-30T12:00:00.123456Z",
        "kind": "note",
        "data": {"text": "hello"},
        "client": "test",
    }
    assert path.stat().st_mode & 0o777 == 0o600
    assert (inbox.waiting(), inbox.wait("one", timeout=0)) == (1, None)
    assert inbox.drain(APPLIERS) == DrainReport(applied=1)
    assert (inbox.waiting(), files(home, "new"), files(home, "tmp")) == (0, [], [])
    assert inbox.wait("one", timeout=0) == Receipt("one", "applied", "n-one")
    assert rows(home, "FROM notes") == [("one", "hello", NOW)]
    assert rows(home, "FROM store.events") == [("one", "note", NOW, "applied", "n-one", None, NOW)]


def test_submit_returns_the_receipt(inbox: Inbox) -> None:
    assert inbox.submit(event("a", id="1"), APPLIERS) == Receipt("1", "applied", "n-1")
    assert inbox.submit(event("a", id="2"), APPLIERS) == Receipt(
        "2", "rejected", None, "stale: this text is there already"
    )


def test_events_are_applied_in_the_order_they_were_dropped(home: Home, inbox: Inbox) -> None:
    for i in range(30):
        inbox.drop(event(f"text {i}", id=f"{-i}"))
    inbox.drain(APPLIERS)
    assert rows(home, "SELECT text FROM notes ORDER BY rowid") == [(f"text {i}",) for i in range(30)]


def test_an_event_dropped_again_changes_nothing(home: Home, inbox: Inbox) -> None:
    for _ in range(3):
        inbox.drop(event("same", id="one"))
    assert inbox.drain(APPLIERS) == DrainReport(applied=1, duplicate=2)
    inbox.drop(event("other text, same id", id="one"))
    assert inbox.drain(APPLIERS) == DrainReport(duplicate=1)
    assert rows(home, "SELECT id, text FROM notes") == [("one", "same")]
    assert files(home, "rejected") == []


def test_bad_events_never_hold_up_the_others(home: Home, inbox: Inbox) -> None:
    inbox.drop(event("a"))
    bad = {
        b"{": "not JSON: ",
        b"[]": "not a JSON object",
        b'{"id": "x", "kind": "note", "at": "2026-01-01T00:00:00Z"}': "`data` must be an object",
        b'{"id": "x", "kind": "nope", "at": "2026-01-01T00:00:00Z", "data": {}}': "unknown kind 'nope'; known: note",
        b"\xff\xfe": "not JSON: ",
        b" " * (MAX_EVENT_BYTES + 1): "larger than 5 MB",
        b"[" * 100_000: "not JSON: ",
    }
    for number, content in enumerate(bad):
        (home.inbox / "new" / f"00-{number}.json").write_bytes(content)
    inbox.drop(event("bug", id="bug"))
    inbox.drop(event("a", id="refused"))
    inbox.drop(event("b"))
    assert inbox.drain(APPLIERS) == DrainReport(applied=2, rejected=9)
    assert rows(home, "SELECT text FROM notes ORDER BY text") == [("a",), ("b",)]
    reasons = [reason for _, reason in inbox.rejected()]
    for reason, expected in zip(reasons, bad.values(), strict=False):
        assert reason.startswith(expected)
    assert reasons[7:] == ["failed: KeyError: 'a bug'", "stale: this text is there already"]
    assert [path.read_bytes() for path, _ in inbox.rejected()][:7] == list(bad)
    assert files(home, "new") == []


def test_the_caller_learns_of_a_failure_and_may_drop_the_event_again(home: Home, inbox: Inbox) -> None:
    failed = inbox.submit(event("bug", id="one"), APPLIERS)
    assert failed == Receipt("one", "rejected", None, "failed: KeyError: 'a bug'")
    mended = {"note": lambda con, event: f"m-{event.id}"}
    assert inbox.submit(event("bug", id="one"), mended) == Receipt("one", "applied", "m-one")


def test_a_refusal_is_final(inbox: Inbox) -> None:
    inbox.submit(event("a"), APPLIERS)
    inbox.submit(event("a", id="one"), APPLIERS)
    inbox.drop(event("fresh", id="one"))
    assert inbox.drain(APPLIERS) == DrainReport(duplicate=1)
    assert inbox.wait("one").state == "rejected"


@pytest.mark.parametrize("position", [0, 1, 7, 13])
def test_one_failure_in_a_batch_costs_only_itself(home: Home, inbox: Inbox, position: int) -> None:
    for i in range(14):
        inbox.drop(event("bug" if i == position else f"{i}"))
    assert inbox.drain(APPLIERS) == DrainReport(applied=13, rejected=1)
    assert rows(home, "SELECT count(*) FROM notes WHERE text <> 'bug'") == [(13,)]
    assert rows(home, "SELECT count(*) FROM notes") == [(13,)]


def test_a_failure_that_only_the_commit_finds_costs_only_itself(home: Home, inbox: Inbox) -> None:
    with Leases(home).write() as con:
        con.execute("CREATE TABLE strict (n INTEGER PRIMARY KEY)")

    def insert(con, event: Event) -> None:
        con.execute("INSERT INTO strict VALUES (?)", [event.data["n"]])

    for n in (1, 2, 2, 3):
        inbox.drop({"kind": "strict", "data": {"n": n}})
    assert inbox.drain({"strict": insert}) == DrainReport(applied=3, rejected=1)
    assert rows(home, "FROM strict ORDER BY n") == [(1,), (2,), (3,)]


def test_a_lake_that_cannot_take_them_now_leaves_the_events_waiting(home: Home, inbox: Inbox) -> None:
    def broken(con, event: Event) -> None:
        raise OSError("the disk is gone")

    inbox.drop(event("a", id="one"))
    with pytest.raises(OSError, match="the disk is gone"):
        inbox.drain({"note": broken})
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        with Leases(home).write():
            held.set()
            free.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    with pytest.raises(LakeBusy, match="drain waited"):
        inbox.drain(APPLIERS, timeout=0.1)
    assert inbox.submit(event("b", id="two"), APPLIERS, timeout=0.1) is None
    free.set()
    thread.join()
    assert inbox.drain(APPLIERS) == DrainReport(applied=2)


def test_while_another_drains_nothing_is_done(home: Home, inbox: Inbox) -> None:
    inbox.drop(event("a"))
    seen = []

    def slow(con, event: Event) -> None:
        thread = threading.Thread(target=lambda: seen.append(Inbox(home, Leases(home)).drain(APPLIERS)))
        thread.start()
        thread.join()

    assert inbox.drain({"note": slow}) == DrainReport(applied=1)
    assert seen == [DrainReport(drained=False)]


def test_old_drafts_are_removed_and_young_ones_left(home: Home, inbox: Inbox) -> None:
    inbox.drop(event("a"))
    for name, age in (("old.json", 90_000), ("young.json", 60)):
        path = home.inbox / "tmp" / name
        path.touch()
        then = path.stat().st_mtime - age
        os.utime(path, (then, then))
    inbox.drain(APPLIERS)
    assert files(home, "tmp") == ["young.json"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kind": "note"}, "`data` must be an object"),
        ({"data": {}}, "`kind` must be a text"),
        ({"kind": "note", "data": {}, "at": "2026-11-30 12:00"}, "with a zone"),
        ({"kind": "note", "data": {}, "at": "1601-01-01T00:00:00Z"}, "out of the years"),
        ({"kind": "note", "data": {}, "at": "9999-12-31T23:59:59-12:00"}, "no instant|out of the years"),
        ({"kind": "note", "data": {}, "at": "soon"}, "no instant"),
        ({"kind": "note", "data": {}, "at": 5}, "ISO 8601"),
        ({"kind": "note", "data": {}, "id": ""}, "`id` must be a text"),
        ({"kind": "note", "data": {}, "id": "a\nb"}, "`id` must be a text"),
        ({"kind": "note", "data": {"n": float("nan")}}, "not storable"),
        ({"kind": "note", "data": {"s": {1, 2}}}, "not storable"),
        ({"kind": "note", "data": {"s": "x" * MAX_EVENT_BYTES}}, "larger than 5 MB"),
        ({"kind": "note", "data": {"s": "\ud800"}}, "not storable"),
    ],
)
def test_what_can_never_be_applied_is_refused_when_dropped(
    home: Home, inbox: Inbox, fields: dict[str, object], said: str
) -> None:
    with pytest.raises(EventRefused, match=said):
        inbox.drop(fields)
    assert inbox.waiting() == 0


def test_an_inbox_that_cannot_be_written_is_a_lake_error(home: Home, inbox: Inbox) -> None:
    home.inbox.rmdir()
    home.inbox.touch()
    with pytest.raises(LakeError, match="the event cannot be stored"):
        inbox.drop(event("a"))


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.text(),
        lambda x: st.dictionaries(st.sampled_from(["id", "kind", "at", "data", "x"]), x),
    ).map(lambda x: json.dumps(x).encode())
)
def test_any_bytes_are_an_event_or_refused(content: bytes) -> None:
    try:
        taken = parse(content)
    except EventRefused:
        return
    assert taken.at.tzinfo is UTC
    assert taken.fields["id"] == taken.id


WORKER = """
import random, sys, time
from pathlib import Path
from brain.config import Home
from brain.inbox import Inbox
from brain.leases import Leases

def note(con, event):
    con.execute("INSERT INTO notes VALUES (?, ?, ?)", [event.id, event.data["text"], event.at])
    return "n-" + event.id

home, role, number = Home(Path(sys.argv[1])), sys.argv[2], sys.argv[3]
inbox = Inbox(home, Leases(home))
print("ready", flush=True)
while role == "drain":
    inbox.drain({"note": note}, timeout=60)
for i in range(25):
    event_id = f"{number}-{i}"
    inbox.drop({"id": event_id, "kind": "note", "data": {"text": "t"}})
    print(event_id, flush=True)  # acknowledged
    if i % 5 == 0:
        time.sleep(0.05)
"""


def test_nothing_acknowledged_is_lost_or_doubled_while_drainers_are_killed(home: Home, inbox: Inbox) -> None:
    def start(role: str, number: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WORKER, str(home.root), role, str(number)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    droppers = [start("drop", n) for n in range(4)]
    for turn in range(4):
        drainers = [start("drain", 0), start("drain", 0)]
        for drainer in drainers:
            assert drainer.stdout.readline() == "ready\n"
        time.sleep(0.1 * turn)  # at another point of the work each time
        for drainer in drainers:
            drainer.send_signal(signal.SIGKILL)
            drainer.communicate()
    victim = start("drop", 9)
    acknowledged = [victim.stdout.readline().strip() for _ in range(6)][1:]
    victim.send_signal(signal.SIGKILL)
    acknowledged += victim.communicate()[0].split()
    for dropper in droppers:
        acknowledged += dropper.communicate()[0].split()[1:]
    inbox.drain({"note": lambda con, e: note(con, Event(e.id, e.kind, e.at, {"text": e.id}, e.fields))})
    stored = [name for (name,) in rows(home, "SELECT id FROM notes")]
    assert len(stored) == len(set(stored))
    assert set(acknowledged) <= set(stored)
    assert len([name for name in stored if not name.startswith("9-")]) == 100
    assert rows(
        home, "SELECT count(*), count(DISTINCT event_id) FROM store.events WHERE state = 'applied'"
    ) == [(len(stored), len(stored))]
    assert (files(home, "new"), files(home, "rejected")) == ([], [])


def test_processes_that_submit_together_all_get_their_receipts(home: Home) -> None:
    code = WORKER.replace(
        'inbox.drop({"id": event_id, "kind": "note", "data": {"text": "t"}})',
        """
    receipt = inbox.submit({"id": event_id, "kind": "note", "data": {"text": "t"}}, {"note": note}, timeout=60)
    event_id = receipt.result_id""".strip(),
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(home.root), "submit", str(n)], stdout=subprocess.PIPE, text=True
        )
        for n in range(3)
    ]
    said = [process.communicate()[0].split() for process in processes]
    assert said == [["ready", *(f"n-{n}-{i}" for i in range(25))] for n in range(3)]
    assert rows(home, "SELECT count(*), count(DISTINCT id) FROM notes") == [(75, 75)]


def together(con, events) -> list[str | EventRefused]:
    """An applier of many at once: refuses an empty text, breaks the program at `bug` after writing all."""
    taken = [event for event in events if event.data["text"]]
    for event in taken:
        con.execute("INSERT INTO notes VALUES (?, ?, ?)", [event.id, event.data["text"], event.at])
    if any(event.data["text"] == "bug" for event in events):
        raise KeyError("a bug")
    return [f"{len(events)} at once" if event in taken else EventRefused("empty") for event in events]


TOGETHER = {"note": Together(together), "alone": note}


class TestTogether:
    def test_events_that_follow_one_another_are_applied_at_once(self, home: Home, inbox: Inbox) -> None:
        for i in range(3):
            inbox.drop(event(f"n{i}", id=f"n{i}"))
        inbox.drop({"kind": "alone", "data": {"text": "a"}, "id": "a"})
        inbox.drop(event("last", id="last"))
        assert inbox.drain(TOGETHER) == DrainReport(applied=5)
        told = rows(home, "SELECT event_id, result_id FROM store.events ORDER BY rowid")
        assert told == [
            *((f"n{i}", "3 at once") for i in range(3)),
            ("a", "n-a"),
            ("last", "1 at once"),
        ]

    def test_those_refused_are_kept_with_their_reason_and_the_others_applied(
        self, home: Home, inbox: Inbox
    ) -> None:
        for i, text in enumerate(["a", "", "b", ""]):
            inbox.drop(event(text, id=str(i)))
        assert inbox.drain(TOGETHER) == DrainReport(applied=2, rejected=2)
        assert [reason for _, reason in inbox.rejected()] == ["empty", "empty"]
        assert rows(home, "SELECT text FROM notes ORDER BY 1") == [("a",), ("b",)]
        states = rows(home, "SELECT event_id, state FROM store.events ORDER BY 1")
        assert states == [("0", "applied"), ("1", "rejected"), ("2", "applied"), ("3", "rejected")]

    @pytest.mark.parametrize("place", [0, 3, 8])
    def test_one_that_breaks_the_program_harms_no_other(self, home: Home, inbox: Inbox, place: int) -> None:
        for i in range(9):
            inbox.drop(event("bug" if i == place else f"n{i}", id=str(i)))
        report = inbox.drain(TOGETHER)
        assert (report.applied, report.rejected) == (8, 1)
        ((_, reason),) = inbox.rejected()
        assert reason == "failed: KeyError: 'a bug'"
        assert (
            len(rows(home, "SELECT DISTINCT id FROM notes")) == len(rows(home, "SELECT id FROM notes")) == 8
        )


class TestAnswers:
    def test_whoever_drains_leaves_the_answer_and_it_is_taken_once(self, home: Home) -> None:
        followup = lambda con, done: lambda: {event.id: {"found": result} for event, result in done}  # noqa: E731
        inbox = Inbox(home, Leases(home), followup=followup)
        inbox.drop(event("a", id="a"), awaited=True)
        inbox.drop(event("b", id="b"))
        inbox.drain(APPLIERS)
        assert len(files(home, "answers")) == 1
        assert inbox.wait("a") == Receipt("a", "applied", "n-a", note={"found": "n-a"})
        assert inbox.wait("a") == Receipt("a", "applied", "n-a")  # from the lake
        assert inbox.wait("b") == Receipt("b", "applied", "n-b")

    def test_the_follow_up_ends_before_anyone_is_told(self, home: Home) -> None:
        waiting: list[int] = []
        inbox = Inbox(
            home,
            Leases(home),
            followup=lambda con, done: lambda: waiting.append(len(files(home, "new"))) or {},
        )
        inbox.drop(event("a"), awaited=True)
        inbox.drain(APPLIERS)
        assert waiting == [1]

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b'["a"]', b"[1, 2, 3, 4, 5, 6]"])
    def test_a_damaged_answer_is_none(self, home: Home, inbox: Inbox, content: bytes) -> None:
        inbox.drop(event("a", id="a"), awaited=True)
        inbox.drain(APPLIERS)
        (name,) = files(home, "answers")
        (home.inbox / "answers" / name).write_bytes(content)
        assert inbox.wait("a") == Receipt("a", "applied", "n-a")

    def test_an_answer_that_nobody_took_is_removed_and_never_taken_for_a_later_one(
        self, home: Home, inbox: Inbox
    ) -> None:
        inbox.drop(event("bug", id="a"), awaited=True)
        inbox.drain(APPLIERS)
        assert inbox.submit(event("mended", id="a"), APPLIERS) == Receipt("a", "applied", "n-a")
        inbox.drop(event("b", id="b"), awaited=True)
        inbox.drain(APPLIERS)
        (name,) = files(home, "answers")
        os.utime(home.inbox / "answers" / name, (0, 0))
        inbox.drain(APPLIERS)
        assert files(home, "answers") == []

    def test_one_who_waits_does_not_drain_for_all_others_for_ever(self, home: Home, inbox: Inbox) -> None:
        def busy(con, applied: Event) -> str:
            inbox.drop(event(f"after {applied.data['text']}"))  # there is always one more
            return "x"

        assert inbox.submit(event("a", id="a"), {"note": busy}) == Receipt("a", "applied", "x")
        assert inbox.waiting() == 1
