"""Moving from other programs. The browserexport fixture was written by browserexport 0.4.4 from a real Chromium file of
this folder; the others are built from the programs' own tables and export formats."""

import csv
import gzip
import io
import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from bookmark_files import DAMAGES, Damage, damaged, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain import importers
from brain.errors import SourceError, UsageError
from brain.importers import bravemcp, browserexport, conversations, markdown, open_brain
from brain.models import SOURCE_SCHEMAS, Batch
from brain.services.find import search
from brain.services.import_files import ImportOptions, import_files
from brain.services.index_documents import index_documents
from brain.services.preferences import get_preferences, import_preferences
from brain.services.thought_reads import list_thoughts, search_thoughts
from brain.services.thoughts import delete_thought, update_thought
from brain.workspace import Workspace

DATA = Path(__file__).parent / "data"
EXPORTED = DATA / "browserexport-0.4.4.json"
AT = 1_700_000_000_123_000


def read(path: Path, importer: Any) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Rows by record, and where the rejects are."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SOURCE_SCHEMAS}
    rejects = []
    for item in importer.read(path):
        if isinstance(item, Batch):
            assert item.rows.schema == SOURCE_SCHEMAS[item.record]
            item.rows.validate(full=True)
            rows[item.record] += item.rows.to_pylist()
        else:
            assert "\n" not in item.reason
            rejects.append(item.where)
    return rows, rejects


def as_lines() -> bytes:
    return "".join(json.dumps(row) + "\n" for row in json.loads(EXPORTED.read_text("utf-8"))).encode()


FORMS = {
    "array": EXPORTED.read_bytes(),
    "lines": as_lines(),
    "array gz": gzip.compress(EXPORTED.read_bytes()),
    "lines gz": gzip.compress(as_lines()),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_browserexport_wrote_is_read_exactly_in_every_form(tmp_path: Path, form: str) -> None:
    path = written(tmp_path / "x", FORMS[form])
    assert importers.pick(path) is browserexport
    rows, rejects = read(path, browserexport)
    assert (len(rows["visits"]), rejects) == (24, [])
    assert rows["urls"][0]["url"] == "http://127.0.0.1:38080/docs/page-0?utm_source=x&i=0"
    assert rows["urls"][0]["title"] == "Page /docs/page-0?utm_source=x&i=0 — café notes"
    assert rows["visits"][0]["visited_us"] == 1_796_067_364_446_587


def test_its_visits_are_those_of_the_browsers_own_file(workspace: Workspace) -> None:
    import_files(workspace, [DATA / "chromium-156-History", EXPORTED])
    counts = workspace.lake.sql(
        "SELECT count(*), count(*) FILTER (WHERE is_visible), (SELECT count(*) FROM observations) FROM visits"
    ).row(0)
    # The program lost a microsecond of nine instants: those are near repeats, counted once.
    assert counts == (33, 23, 48)


def test_bad_records_are_named_and_the_rest_is_taken(tmp_path: Path) -> None:
    good = {"url": "https://a.example/", "dt": "2023-11-14T22:13:20.123+00:00", "metadata": {"duration": 5}}
    bad: list[Any] = [
        {"url": 5, "dt": 1},
        {"url": "x"},
        {"url": "x", "dt": "soon"},
        7,
        {"url": "x", "dt": 1e300},
    ]
    path = written(tmp_path / "x", json.dumps([good, *bad, good | {"dt": AT / 1e6, "metadata": None}]))
    rows, rejects = read(path, browserexport)
    assert [(v["visited_us"], v["duration_us"]) for v in rows["visits"]] == [(AT, 5_000_000), (AT, None)]
    assert rejects == [f"record[{n}]" for n in range(1, 6)]


@pytest.mark.parametrize("form", ["array gz", "lines gz", "array", "lines"])
def test_what_comes_before_a_cut_is_kept(tmp_path: Path, form: str) -> None:
    path = written(tmp_path / "x", FORMS[form][: len(FORMS[form]) * 9 // 10])
    rows, rejects = read(path, browserexport)
    assert 5 < len(rows["visits"]) < 24
    assert len(rejects) == 1


def test_no_other_list_of_visits_is_taken_for_its_own(tmp_path: Path, sample: Path) -> None:
    others = [
        [{"url": "https://a.example/", "title": "A", "time_usec": AT}],
        [{"titleUrl": "https://a.example/", "time": "2024-05-01T10:00:00Z", "header": "Chrome"}],
        [{"dt": 1.5, "url": "https://a.example/"}],
        {"url": "https://a.example/", "at": 1.5},
        [["url", "dt"]],
    ]
    for other in others:
        assert not browserexport.detect(written(tmp_path / "x", json.dumps(other)))
    assert not any(
        browserexport.detect(p) for p in sample.rglob("*") if p.is_file() and "browserexport" not in p.parts
    )


BRAVE = """
CREATE TABLE pages (id TEXT PRIMARY KEY, url TEXT NOT NULL, title TEXT, content TEXT, summary TEXT, domain TEXT,
    created_at INTEGER, last_visited INTEGER, visit_count INTEGER DEFAULT 1);
CREATE TABLE bookmarks (id TEXT PRIMARY KEY, url TEXT NOT NULL, title TEXT, folder TEXT, created_at INTEGER);
CREATE TABLE highlights (id TEXT PRIMARY KEY, page_id TEXT, text TEXT NOT NULL, note TEXT, created_at INTEGER);
CREATE TABLE notes (id TEXT PRIMARY KEY, content TEXT NOT NULL, source_url TEXT, created_at INTEGER);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, urls TEXT, created_at INTEGER, ended_at INTEGER);
CREATE VIRTUAL TABLE search_index USING fts5(source_id, source_type, title, summary, content);
"""


def a_bravemcp(path: Path) -> Path:
    ms = AT // 1_000
    with closing(sqlite3.connect(path)) as con:
        con.executescript(BRAVE)
        con.execute(
            "INSERT INTO pages VALUES ('p1', 'https://a.example/', 'A', 'All about ovens', 'Ovens.', 'a.example', ?, ?, 4)",  # noqa: E501
            [ms, ms + 60_000],
        )
        con.execute(
            "INSERT INTO pages VALUES ('p2', 'https://b.example/', 'B', NULL, NULL, 'b.example', ?, ?, 1)",
            [ms, ms],
        )
        con.execute("INSERT INTO bookmarks VALUES ('k1', 'https://c.example/', 'C', 'Later', ?)", [ms])
        con.execute("INSERT INTO highlights VALUES ('h1', 'p1', 'steam matters', 'yes', ?)", [ms])
        con.execute("INSERT INTO notes VALUES ('n1', 'Try rye', 'https://a.example/', ?)", [ms])
        con.commit()
    return path


def test_a_bravemcp_database_moves_with_everything_in_it(workspace: Workspace, tmp_path: Path) -> None:
    path = a_bravemcp(tmp_path / "brave-mcp.db")
    assert importers.pick(path) is bravemcp
    rows, rejects = read(path, bravemcp)
    assert rejects == []
    assert [v["visited_us"] for v in rows["visits"]] == [AT, AT + 60_000_000, AT]
    assert [u["visit_count"] for u in rows["urls"]] == [4, 1]
    assert [
        (t["kind"], t["text"], t["url"], t["created_us"] and t["created_us"] // 1_000) for t in rows["texts"]
    ] == [
        ("capture", "Ovens.\n\nAll about ovens", "https://a.example/", AT // 1_000 + 60_000),
        ("highlight", "steam matters\nyes", "https://a.example/", AT // 1_000),
        ("note", "Try rye", "https://a.example/", AT // 1_000),
    ]
    assert [(b["url"], b["folder"]) for b in rows["bookmarks"]] == [("https://c.example/", ["Later"])]
    (outcome,) = import_files(workspace, [path]).imports
    assert (outcome.status, outcome.seen, outcome.counts["texts"], outcome.counts["bookmarks"]) == (
        "imported",
        3,
        3,
        1,
    )
    index_documents(workspace, embed=False)
    assert {hit.kind for hit in search(workspace, "ovens steam rye", mode="keyword").results} >= {
        "capture",
        "highlight",
    }


THOUGHTS: list[dict[str, Any]] = [
    {
        "id": "u1",
        "content": "Met Anna about the harbour",
        "metadata": {
            "type": "meeting",
            "people": ["Anna"],
            "topics": ["harbour"],
            "action_items": ["call"],
            "dates": [],
        },
        "embedding": "[0.1,0.2]",
        "created_at": "2024-05-01T10:00:00.123456+00:00",
        "updated_at": "2024-05-01T10:00:00.123456+00:00",
    },
    {
        "id": "u2",
        "content": 'TODO: buy\nflour, "fine"',
        "metadata": None,
        "created_at": "2024-05-02 10:00:00+00",
    },
]


def as_csv(rows: list[dict[str, Any]] | None = None) -> str:
    out = io.StringIO()
    table = csv.DictWriter(out, ["id", "content", "metadata", "embedding", "created_at", "updated_at"])
    table.writeheader()
    for row in rows or THOUGHTS:
        table.writerow(row | {"metadata": json.dumps(row["metadata"]) if row["metadata"] else ""})
    return out.getvalue()


ROWS = {
    "array": json.dumps(THOUGHTS),
    "lines": "\n".join(json.dumps(row) for row in THOUGHTS),
    "csv": as_csv(),
}


@pytest.mark.parametrize("form", ROWS)
def test_open_brains_thoughts_become_thoughts_once(workspace: Workspace, tmp_path: Path, form: str) -> None:
    path = written(tmp_path / "thoughts", ROWS[form])
    assert importers.pick(path) is open_brain
    (outcome,) = import_files(workspace, [path]).imports
    assert (outcome.status, outcome.seen, outcome.new) == ("imported", 2, 2)
    second, first = list_thoughts(workspace).thoughts
    assert (first.content, first.type, first.people, first.topics, first.action_items) == (
        "Met Anna about the harbour",
        "meeting",
        ["Anna"],
        ["harbour"],
        ["call"],
    )
    assert first.created_at == "2024-05-01T10:00:00.123456Z"
    assert (second.content, second.type) == ('TODO: buy\nflour, "fine"', "task")
    written(path, ROWS[form] + "\n")
    (again,) = import_files(workspace, [path]).imports
    assert (again.status, again.new) == ("imported", 0)
    assert len(list_thoughts(workspace).thoughts) == 2
    index_documents(workspace, embed=False)
    assert [t.id for t in search_thoughts(workspace, "harbour").thoughts] == [first.id]


def test_what_was_thought_twice_is_two_thoughts_and_found_as_one(
    workspace: Workspace, tmp_path: Path
) -> None:
    texts = ["Bread needs time", "Ovens need steam", "bread  needs TIME"]
    rows = [
        {"id": f"u{n}", "content": text, "metadata": {"topics": []}, "created_at": f"2024-05-0{n}T10:00:00Z"}
        for n, text in enumerate(texts, 1)
    ]
    (outcome,) = import_files(workspace, [written(tmp_path / "x", json.dumps(rows))]).imports
    assert (outcome.seen, outcome.new) == (3, 3)
    kept = workspace.lake.sql("SELECT id, content, same_as FROM thoughts ORDER BY created_at")
    assert kept["content"].to_list() == texts
    assert kept["same_as"].to_list() == [None, None, kept["id"][0]]
    documents = workspace.lake.sql("SELECT id, first_at, last_at FROM documents ORDER BY first_at")
    assert documents["id"].to_list() == kept["id"].to_list()[:2]
    assert (documents["first_at"][0].day, documents["last_at"][0].day) == (1, 3)
    later = [rows[0] | {"id": "u4", "created_at": "2024-05-04T10:00:00Z"}, *rows]
    (more,) = import_files(workspace, [written(tmp_path / "x", json.dumps(later))]).imports
    assert (more.seen, more.new) == (4, 1)
    (last,) = workspace.lake.sql("SELECT same_as FROM thoughts WHERE created_at > '2024-05-04'")["same_as"]
    assert last == kept["id"][0]


def test_a_thought_deleted_or_edited_here_stays_so_when_it_is_imported_again(
    workspace: Workspace, tmp_path: Path
) -> None:
    import_files(workspace, [written(tmp_path / "x", ROWS["array"])])
    second, first = list_thoughts(workspace).thoughts
    delete_thought(workspace, first.id)
    update_thought(workspace, second.id, "Flour was bought")
    (again,) = import_files(workspace, [written(tmp_path / "x", ROWS["array"] + " ")]).imports
    assert (again.status, again.new, again.updated) == ("imported", 0, 0)
    assert [t.content for t in list_thoughts(workspace).thoughts] == ["Flour was bought"]


def test_thousands_of_thoughts_are_one_import(workspace: Workspace, tmp_path: Path) -> None:
    told = {"type": "idea", "topics": [], "people": [], "action_items": [], "dates": []}
    rows = [
        {"id": n, "content": f"Thought {n}", "metadata": told, "created_at": "2024-05-01T10:00:00Z"}
        for n in range(5_000)
    ]
    (outcome,) = import_files(workspace, [written(tmp_path / "x", json.dumps(rows))]).imports
    assert (outcome.seen, outcome.new) == (5_000, 5_000)
    assert workspace.lake.sql("SELECT count(*) FROM documents WHERE kind = 'thought'").item() == 5_000


def test_a_thought_may_hold_any_line_separator_and_its_type_stand_in_a_column(tmp_path: Path) -> None:
    row = THOUGHTS[0] | {
        "content": "one\u2028two\u0085three",
        "metadata": {"people": []},
        "type": "lesson",
        "importance": 3,
    }
    path = written(tmp_path / "x", json.dumps(row, ensure_ascii=False) + "\n" + json.dumps(THOUGHTS[1]))
    rows, rejects = read(path, open_brain)
    assert rejects == []
    assert [t["text"] for t in rows["texts"]] == ["one\u2028two\u0085three", THOUGHTS[1]["content"]]
    assert json.loads(rows["texts"][0]["details"]) == {"people": [], "type": "lesson", "importance": 3}


@pytest.mark.parametrize("form", ROWS)
def test_a_bad_thought_is_named_and_the_others_are_taken(tmp_path: Path, form: str) -> None:
    bad = [
        {"content": " ", "metadata": None, "created_at": "2024-05-01"},
        THOUGHTS[0] | {"created_at": "soon"},
    ]
    rows = [THOUGHTS[0], *bad, THOUGHTS[1]]
    made = {
        "array": json.dumps([*rows, 7]),
        "lines": "\n".join([*map(json.dumps, rows), "{"]),
        "csv": as_csv(rows),
    }
    found, rejects = read(written(tmp_path / "x", made[form]), open_brain)
    assert [t["native_id"] for t in found["texts"]] == ["u1", "u2"]
    assert rejects == ["row[1]", "row[2]", *([] if form == "csv" else ["row[4]"])]


def test_open_brains_preferences_move_as_json_and_csv(workspace: Workspace, tmp_path: Path) -> None:
    row = {
        "preference_name": "Tone",
        "domain": "writing",
        "want": "plain",
        "reject": "jargon",
        "constraint_type": "formatting",
    }
    out = io.StringIO()
    table = csv.DictWriter(out, list(row))
    table.writeheader()
    table.writerow(row)
    for form in (json.dumps([row]), out.getvalue()):
        with pytest.raises(SourceError, match="`brain prefs import` takes"):
            importers.pick(written(tmp_path / "taste_preferences", form))
    assert import_preferences(workspace, out.getvalue()).new == ["writing: Tone"]
    assert import_preferences(workspace, json.dumps([row])).kept == ["writing: Tone"]
    (kept,) = get_preferences(workspace).preferences
    assert (kept.name, kept.want, kept.reject, kept.constraint_type) == (
        "Tone",
        "plain",
        "jargon",
        "formatting",
    )


def test_a_preference_that_is_known_is_kept_however_its_name_is_spaced(workspace: Workspace) -> None:
    first = {"preference_name": "No jargon", "domain": "writing", "want": "plain words"}
    rows = [first, first | {"preference_name": " no  JARGON ", "domain": "Writing", "want": "other words"}]
    taken = import_preferences(workspace, json.dumps(rows))
    assert (taken.new, taken.kept) == (["writing: No jargon"], ["Writing: no JARGON"])
    assert import_preferences(workspace, "\n".join(map(json.dumps, rows))).new == []
    (kept,) = get_preferences(workspace).preferences
    assert (kept.want, kept.version) == ("plain words", 1)
    assert workspace.lake.sql("SELECT action, reason FROM audit").rows() == [("set", "import")]


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_row_that_is_no_preference_is_refused_and_the_others_are_taken(
    workspace: Workspace, dry_run: bool
) -> None:
    good = {"name": "Tone", "domain": None, "reject": "a\ud800b", "constraint_type": ""}
    bad: list[Any] = [
        7,
        {"name": "x"},
        {"name": 5, "want": "y"},
        {"want": "y"},
        {"name": "x", "want": ["y"]},
        {"name": "x", "want": "y", "constraint_type": "whim"},
        {"name": "x", "want": "y" * 5_000},
    ]
    taken = import_preferences(workspace, json.dumps([*bad, good]), dry_run=dry_run)
    assert taken.new == ["general: Tone"]
    assert [line.partition(":")[0] for line in taken.refused] == [f"row {n}" for n in range(1, 8)]
    assert [p.reject for p in get_preferences(workspace).preferences] == ([] if dry_run else ["a?b"])


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(DAMAGES)
def test_damaged_preferences_are_taken_refused_or_told_in_one_line(
    workspace: Workspace, damage: Damage
) -> None:
    row = {"preference_name": "Tone", "domain": "writing", "want": "plain", "constraint_type": "formatting"}
    table = ",".join(row) + "\r\n" + ",".join(row.values()) + "\r\n"
    for form in (json.dumps([row, row]), f"{json.dumps(row)}\n" * 2, table):
        with suppress(UsageError):
            text = damaged(form.encode(), damage).decode("utf-8", "replace")
            import_preferences(workspace, text, dry_run=True)


def node(role: str, text: str | None, parent: str | None, **more: Any) -> dict[str, Any]:
    message = {
        "author": {"role": role},
        "content": {"content_type": "text", "parts": [text]},
        "metadata": more,
    }
    return {"message": message if text is not None else None, "parent": parent, "children": []}


CHATGPT = [
    {
        "title": "Bread",
        "create_time": AT / 1e6,
        "update_time": AT / 1e6 + 60,
        "conversation_id": "c1",
        "current_node": "e",
        "mapping": {
            "r": node("system", None, None),
            "a": node("system", "be kind", "r"),
            "b": node("user", "How long?", "a"),
            "x": node("assistant", "an abandoned branch", "b"),
            "c": node("assistant", "An hour.", "b"),
            "h": node("user", "hidden", "c", is_visually_hidden_from_conversation=True),
            "d": node("tool", "numbers", "h"),
            "e": node("assistant", "Or two.", "d"),
        },
    },
    {"title": "Empty", "create_time": 1, "mapping": {}},
]
CLAUDE = [
    {
        "uuid": "u1",
        "name": "Ovens",
        "created_at": "2024-05-01T10:00:00.000001Z",
        "updated_at": "2024-05-01T11:00:00Z",
        "chat_messages": [
            {
                "sender": "human",
                "text": "",
                "content": [{"type": "text", "text": "Steam?"}],
                "created_at": "2024-05-01T10:00:00Z",
            },
            {"sender": "assistant", "text": "Yes.", "content": []},
        ],
    }
]


@pytest.mark.parametrize(
    ("export", "title", "text", "created"),
    [
        (CHATGPT, "Bread", "You: How long?\n\nAssistant: An hour.\n\nAssistant: Or two.", AT),
        (CLAUDE, "Ovens", "You: Steam?\n\nAssistant: Yes.", 1_714_557_600_000_001),
    ],
    ids=["ChatGPT", "Claude"],
)
def test_conversations_are_read_in_order_without_what_tools_and_systems_say(
    tmp_path: Path, export: list[Any], title: str, text: str, created: int
) -> None:
    path = written(tmp_path / "conversations.json", json.dumps(export))
    assert importers.pick(path) is conversations
    rows, rejects = read(path, conversations)
    assert rejects == []
    (made,) = rows["texts"]
    assert (made["kind"], made["title"], made["text"], made["created_us"]) == (
        "capture",
        title,
        text,
        created,
    )


def said(tmp_path: Path, conversation: dict[str, Any]) -> str:
    rows, rejects = read(written(tmp_path / "x", json.dumps([conversation])), conversations)
    assert rejects == []
    return str(rows["texts"][0]["text"])


def test_speech_and_code_are_words_and_calls_of_tools_are_not(tmp_path: Path) -> None:
    mapping = {
        "a": node("user", "spoken", None),
        "b": node("assistant", "x", "a"),
        "c": node("assistant", "search(1)", "b"),
        "d": node("assistant", "As one says\ue200cite\ue202turn0search0\ue201.", "c"),
    }
    heard = {"content_type": "audio_transcription", "text": "How long?", "direction": "in"}
    mapping["a"]["message"]["content"] = {
        "content_type": "multimodal_text",
        "parts": [{"content_type": "audio_asset_pointer"}, heard, "and", 5],
    }
    mapping["b"]["message"]["content"] = {"content_type": "code", "language": "python", "text": "bake(60)"}
    mapping["c"]["message"]["recipient"] = "web"
    mapping["d"]["message"]["recipient"] = "all"
    text = "You: How long?\nand\n\nAssistant: ```python\nbake(60)\n```\n\nAssistant: As one says."
    assert said(tmp_path, {"mapping": mapping, "current_node": "d", "create_time": 1.7e9}) == text


def test_without_a_known_end_the_newest_branch_is_read(tmp_path: Path) -> None:
    for end in (None, "gone"):
        conversation = CHATGPT[0] | {"current_node": end}
        assert said(tmp_path, conversation).endswith("Assistant: Or two.")


def test_of_what_was_asked_again_only_the_last_is_read(tmp_path: Path) -> None:
    def message(key: str, parent: str, sender: str, text: str) -> dict[str, Any]:
        return {"uuid": key, "parent_message_uuid": parent, "sender": sender, "text": text, "content": []}

    asked = [
        message("1", "00000000-0000-4000-8000-000000000000", "human", "Steam?"),
        message("2", "1", "assistant", "No."),
        message("3", "00000000-0000-4000-8000-000000000000", "human", "Steam, surely?"),
        message("4", "3", "assistant", "Yes."),
    ]
    assert said(tmp_path, {"uuid": "u", "chat_messages": asked}) == "You: Steam, surely?\n\nAssistant: Yes."
    kept = {"uuid": "u", "chat_messages": asked, "current_leaf_message_uuid": "2"}
    assert said(tmp_path, kept) == "You: Steam?\n\nAssistant: No."
    del asked[1]["parent_message_uuid"]
    assert said(tmp_path, {"uuid": "u", "chat_messages": asked}).count("You:") == 2


def test_thinking_and_tools_of_claude_are_left_out(tmp_path: Path) -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "text": "hm"},
        {"type": "text", "text": "Yes:"},
        {"type": "tool_use", "name": "web", "input": {}},
        {"type": "tool_result", "content": [{"type": "text", "text": "page"}]},
        {"type": "text", "text": "```\ncode\n```"},
    ]
    messages = [{"sender": "assistant", "text": "all of it", "content": content}]
    assert said(tmp_path, {"uuid": "u", "chat_messages": messages}) == "Assistant: Yes:\n```\ncode\n```"


@pytest.mark.parametrize("export", [CHATGPT, CLAUDE], ids=["ChatGPT", "Claude"])
def test_a_bad_conversation_is_named_and_what_comes_before_a_cut_is_kept(
    tmp_path: Path, export: list[Any]
) -> None:
    bad = [None, "x", {"title": "x", "mapping": 5}, {"uuid": "x", "chat_messages": {}}]
    path = written(
        tmp_path / "x",
        json.dumps([export[0], *bad, export[0] | {"id": "2", "uuid": "2", "conversation_id": "2"}]),
    )
    rows, rejects = read(path, conversations)
    assert len(rows["texts"]) == 2
    assert rejects == [f"conversation[{n}]" for n in range(1, 5)]
    whole = json.dumps([export[0], export[0]])
    rows, rejects = read(written(path, whole[:-20]), conversations)
    assert (len(rows["texts"]), rejects) == (1, ["conversations"])


def test_conversations_are_imported_once_and_renewed_where_they_went_on(
    workspace: Workspace, tmp_path: Path
) -> None:
    path = written(tmp_path / "conversations-000.json", json.dumps(CHATGPT))
    (outcome,) = import_files(workspace, [path]).imports
    assert (outcome.status, outcome.seen, outcome.new, outcome.browser) == ("imported", 1, 1, "unknown")
    longer = json.loads(json.dumps(CHATGPT))
    longer[0]["mapping"]["f"] = node("user", "Thanks", "e")
    longer[0] |= {"current_node": "f", "update_time": AT / 1e6 + 99}
    later = tmp_path / "chrome export"
    later.mkdir()
    (renewed,) = import_files(workspace, [written(later / "conversations.json", json.dumps(longer))]).imports
    assert (renewed.new, renewed.updated, renewed.browser) == (0, 1, "unknown")
    since = ImportOptions(since_us=AT + 1, dry_run=True)
    assert import_files(workspace, [path], since).imports[0].seen == 0


def test_the_sample_holds_one_of_each_and_its_merged_visits_are_known_ones(
    workspace: Workspace, sample: Path
) -> None:
    moved = sample / "moved"
    kinds = {
        importers.pick(p).NAME
        for p in moved.rglob("*")
        if p.is_file() and p.suffix in (".gz", ".json", ".md") and ".obsidian" not in p.parts
    }
    assert kinds == {"browserexport", "open_brain", "conversations", "markdown"}
    import_files(workspace, [sample / "chrome" / "Default" / "History"])
    outcomes = {Path(o.path).name: o for o in import_files(workspace, [moved]).imports}
    assert {
        name: (o.status, o.seen, o.new) for name, o in outcomes.items() if name != "conversations.json"
    } == {
        "Notes": ("imported", 12, 12),
        "merged.jsonl.gz": ("imported", 40, 0),
        "thoughts.json": ("imported", 6, 6),
    }
    assert {t.type for t in list_thoughts(workspace).thoughts} == {
        "decision",
        "person_note",
        "idea",
        "task",
        "lesson",
        "reference",
    }
    read_notes, rejects = read(moved / "Notes", markdown)
    assert rejects == []
    assert all(note["created_us"] for note in read_notes["texts"])


def takes_anything(path: Path, importer: Any) -> None:
    assert importer.detect(path) in (True, False)
    with suppress(SourceError):
        read(path, importer)


FUZZ = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(DAMAGES)
def test_damage_gives_records_rejects_or_one_line(tmp_path: Path, damage: Damage) -> None:
    cases = [(browserexport, data) for data in FORMS.values()]
    cases += [(open_brain, data.encode()) for data in ROWS.values()]
    cases += [(conversations, json.dumps(export).encode()) for export in (CHATGPT, CLAUDE)]
    for importer, data in cases:
        takes_anything(written(tmp_path / "x", damaged(data, damage)), importer)
    path = tmp_path / "db"
    path.unlink(missing_ok=True)
    path.write_bytes(damaged(a_bravemcp(path).read_bytes(), damage))
    takes_anything(path, bravemcp)


NAMES = st.sampled_from(
    [
        "url",
        "dt",
        "metadata",
        "content",
        "created_at",
        "mapping",
        "current_node",
        "chat_messages",
        "sender",
        "text",
        "message",
        "parts",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@FUZZ
@given(st.lists(JSON, max_size=4))
def test_any_json_in_place_of_records_does_no_harm(tmp_path: Path, items: list[Any]) -> None:
    path = written(tmp_path / "x", json.dumps(items))
    for importer in (browserexport, open_brain, conversations):
        takes_anything(path, importer)
