"""Notes in Markdown, one by one and as a vault; all written here by the rules of Obsidian's help and CommonMark."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from bookmark_files import DAMAGES, Damage, damaged, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain import discovery, importers
from brain.errors import EmptySource, SourceError
from brain.importers import _front_matter, markdown
from brain.importers._front_matter import instant, split
from brain.models import SOURCE_SCHEMAS, Batch
from brain.services.fetch import fetch
from brain.services.find import search
from brain.services.import_files import ImportOptions, import_files
from brain.services.index_documents import index_documents
from brain.workspace import Workspace

BREAD = """\
---
title: "Bread: the long way"
tags: [baking, sour/dough, "a, b"]
aliases:
  - Brot
  - 'Anna''s bread'
created: 2024-05-01T10:00:00.25+02:00
date modified: 2024-05-02
source: https://bread.example/long?x=1#y   # where it was
rating: 4
---

# Another heading

Let it rest #overnight, then #2024 loaves. #Baking and `#code` and x#y.

```
#fenced
```
"""


def read(path: Path) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """The notes, and the rejects."""
    rows: list[dict[str, Any]] = []
    rejects = []
    for item in markdown.read(path):
        if isinstance(item, Batch):
            assert item.record == "texts"
            assert item.rows.schema == SOURCE_SCHEMAS["texts"]
            item.rows.validate(full=True)
            rows += item.rows.to_pylist()
        else:
            assert "\n" not in item.reason + item.where
            rejects.append((item.where, item.reason))
    return rows, rejects


def note(path: Path, text: str | bytes) -> dict[str, Any]:
    (row,), rejects = read(written(path, text))
    assert rejects == []
    return row


def a_vault(folder: Path) -> Path:
    """Three notes that say something, one that does not, and what lies around in a vault."""
    for name, text in {
        "Bread.md": BREAD,
        "Daily/2024-05-01.md": "Baked with Anna. #diary",
        "Daily/Über uns.markdown": "# Über uns ##\nWir.",
        "Empty.md": "\n  \n",
        ".obsidian/app.json": "{}",
        ".trash/Old.md": "gone",
        "node_modules/x/README.md": "no note",
        "picture.png": "\x89PNG",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def test_a_note_is_read_with_all_its_properties(tmp_path: Path) -> None:
    row = note(tmp_path / "bread.md", BREAD)
    text = BREAD.split("---\n", 2)[2].strip()
    details = {
        "aliases": ["Brot", "Anna's bread"],
        "created": "2024-05-01T10:00:00.25+02:00",
        "date modified": "2024-05-02",
        "source": "https://bread.example/long?x=1#y",
        "rating": "4",
    }
    assert json.loads(row.pop("details")) == details
    assert row == {
        "native_id": "bread.md",
        "kind": "note",
        "url": "https://bread.example/long?x=1#y",
        "title": "Bread: the long way",
        "text": text,
        "created_us": 1_714_550_400_250_000,
        "modified_us": 1_714_608_000_000_000,
        "tags": ["baking", "sour/dough", "a, b", "overnight"],
    }


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: ''\n---\n# First #\n# Second", "First"),
        ("## Not this\n\n```\n# nor this\n```\n~~~\n```\n# nor that\n~~~\n#  That \n", "That"),
        ("#hashtag and nothing else", "My note"),
        ("---\ntags: x\n---\ntext", "My note"),
    ],
)
def test_the_title_is_the_first_that_is_given_of_property_heading_and_name(
    tmp_path: Path, text: str, title: str
) -> None:
    assert note(tmp_path / "My note.md", text)["title"] == title


def test_what_is_no_block_of_properties_stays_text(tmp_path: Path) -> None:
    for text in (
        "---\nJust a line drawn above.\n---\nAnd below.",
        "---\ntitle: never closed\n",
        "----\na: b\n---",
    ):
        row = note(tmp_path / "x.md", text)
        assert (row["text"], row["title"], row["created_us"]) == (text.strip("\n"), "x", None)


def test_a_note_of_properties_alone_is_found_by_them(tmp_path: Path) -> None:
    row = note(tmp_path / "Anna.md", "---\nphone: 12\nborn: 1980\n---\n")
    assert (row["title"], row["text"]) == ("Anna", "phone: 12\nborn: 1980")


def test_the_files_own_time_says_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "x.md", "text")
    os.utime(path, (1, 1))
    assert (read(path)[0][0]["created_us"], read(path)[0][0]["modified_us"]) == (None, None)


@pytest.mark.parametrize(
    ("said", "us"),
    [
        ("2024-05-01", 1_714_521_600_000_000),
        ("2024/5/1", 1_714_521_600_000_000),
        ("[[2024-05-01]]", 1_714_521_600_000_000),
        ("2024-05-01 10:00", 1_714_557_600_000_000),
        ("2024-05-01T10:00:00.123456789Z", 1_714_557_600_123_456),
        ("2024-05-01 10:00:00 +0530", 1_714_537_800_000_000),
        ("2024-05-01T10:00:00-01:00", 1_714_561_200_000_000),
        ("2024-02-30", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("2024-05-01T10:00:00+99:99", None),
        ("1024-05-01", None),
        ("202405011000", None),
        ("tomorrow", None),
        ("", None),
    ],
)
def test_dates_are_exact_and_what_is_none_stays_unknown(said: str, us: int | None) -> None:
    assert instant(said) == us


def test_properties_are_read_as_they_are_written() -> None:
    block = (
        "a: 1 # one\nB b: 'it''s'\nc: \"x \\\"y\\\" # z\"\nd: [1, 'b, c', \"d\"]\n"
        "e:\n- f\n-  g: h\n\n# note\ni: |\n  j\n  k\n"
        "l: [[Link]]\nm: http://x.example/?a: b\nn: null\no: one\n  two\na: again\n"
    )
    properties, raw, below = split(f"---  \n{block}---\nbelow")
    assert (raw, below) == (block, "below")
    assert properties == {
        "a": "1",
        "b b": "it's",
        "c": 'x "y" # z',
        "d": ["1", "b, c", "d"],
        "e": ["f", "g: h"],
        "i": "j\nk",
        "l": "[[Link]]",
        "m": "http://x.example/?a: b",
        "n": "",
        "o": "one\ntwo",
    }


def test_tags_come_once_in_their_first_spelling(tmp_path: Path) -> None:
    row = note(
        tmp_path / "x.md",
        "---\ntags: One, two three  # and no more\ntag:\n  - four\n---\n#one #TWO (#no) #f/g-h_1 #1/2 #ça #5",
    )
    assert row["tags"] == ["One", "two", "three", "four", "f/g-h_1", "1/2", "ça"]


@pytest.mark.parametrize(
    "content",
    ["Größe\r\nzwei".encode("utf-8-sig"), "Größe\r\nzwei".encode("utf-16"), "Größe\rzwei".encode()],
)
def test_other_encodings_and_line_ends_give_the_same_text(tmp_path: Path, content: bytes) -> None:
    path = written(tmp_path / "x.md", content)
    assert importers.pick(path) is markdown
    assert note(path, content)["text"] == "Größe\nzwei"


def test_only_a_text_that_is_named_so_is_a_note(tmp_path: Path) -> None:
    assert importers.pick(written(tmp_path / "a.MD", "https://a.example/")) is markdown
    assert not markdown.detect(written(tmp_path / "a.txt", "# Heading"))
    assert not markdown.detect(written(tmp_path / "b.md", b"PK\x03\x04\x00\x00"))
    with pytest.raises(EmptySource, match="zero bytes"):
        importers.pick(written(tmp_path / "c.md", ""))


def test_a_vault_is_read_whole_and_in_order(tmp_path: Path) -> None:
    vault = a_vault(tmp_path / "Vault")
    rows, rejects = read(vault)
    assert [(row["native_id"], row["title"], row["tags"]) for row in rows] == [
        ("Bread.md", "Bread: the long way", ["baking", "sour/dough", "a, b", "overnight"]),
        ("Daily/2024-05-01.md", "2024-05-01", ["diary"]),
        ("Daily/Über uns.markdown", "Über uns", []),
    ]
    assert rejects == []
    assert read(vault)[0] == rows


def test_a_bad_note_leaves_the_others_in_peace(tmp_path: Path) -> None:
    vault = a_vault(tmp_path / "Vault")
    written(vault / "bad\nname.md", b"a\x00b")
    (vault / "large.md").touch()
    os.truncate(vault / "large.md", markdown.LARGEST + 1)
    (vault / "gone.md").symlink_to(vault / "nowhere")
    os.mkfifo(vault / "pipe.md")
    rows, rejects = read(vault)
    assert len(rows) == 3
    assert rejects == [("bad?name.md", "it is no text"), ("large.md", "it is larger than 20,000,000 bytes")]


def test_folders_within_folders_end_somewhere(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(100):
        folder = folder / "a"
        folder.mkdir()
    written(folder / "far.md", "text")
    written(tmp_path / "a" / "near.md", "text")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    assert [row["native_id"] for row in read(tmp_path)[0]] == ["a/near.md"]


def test_names_spelt_in_two_ways_are_one_note(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, name in ((one, "U\u0308ber.md"), (two, "\u00dcber.md")):
        folder.mkdir()
        written(folder / name, "text")
    assert read(one)[0][0]["native_id"] == read(two)[0][0]["native_id"] == "\u00dcber.md"


def test_a_vault_is_one_import_and_an_edited_note_the_same_note(workspace: Workspace, tmp_path: Path) -> None:
    vault = a_vault(tmp_path / "brave new Vault")
    (outcome,) = import_files(workspace, [vault]).imports
    assert (outcome.status, outcome.seen, outcome.new, outcome.rejected) == ("imported", 3, 3, 0)
    assert (outcome.path, outcome.source, outcome.browser, outcome.profile) == (
        str(vault),
        "import",
        "unknown",
        "brave new Vault",
    )
    (again,) = import_files(workspace, [vault]).imports
    assert (again.status, again.id) == ("unchanged", outcome.id)
    written(vault / "Daily/2024-05-01.md", "Baked with Bert. #diary")
    (edited,) = import_files(workspace, [vault]).imports
    assert (edited.status, edited.seen, edited.new, edited.updated) == ("imported", 3, 0, 1)
    index_documents(workspace, embed=False)
    (hit,) = search(workspace, "Bert", mode="keyword").results
    assert (hit.kind, hit.title, hit.origin) == ("note", "2024-05-01", "brave new Vault")
    assert fetch(workspace, hit.id).text == "Baked with Bert. #diary"
    assert search(workspace, "Anna", mode="keyword").results == []
    names = workspace.lake.sql("SELECT native_id FROM texts ORDER BY native_id")["native_id"].to_list()
    assert names == ["Bread.md", "Daily/2024-05-01.md", "Daily/Über uns.markdown"]


def test_a_moved_vault_is_known_and_two_vaults_are_kept_apart(workspace: Workspace, tmp_path: Path) -> None:
    vault = a_vault(tmp_path / "Vault")
    import_files(workspace, [vault])
    moved = vault.rename(tmp_path / "Elsewhere")
    (known,) = import_files(workspace, [moved]).imports
    assert known.status == "unchanged"
    other = tmp_path / "Other"
    (other / ".obsidian").mkdir(parents=True)
    written(other / "Bread.md", "Something else altogether")
    (second,) = import_files(workspace, [other]).imports
    assert (second.new, second.updated) == (1, 0)
    named = import_files(workspace, [other], ImportOptions(profile="Vault")).imports[0]
    assert (named.new, named.updated, named.profile) == (0, 1, "Vault")


def test_a_vault_within_a_folder_is_found_beside_other_sources(
    workspace: Workspace, tmp_path: Path, sample: Path
) -> None:
    vault = a_vault(tmp_path / "docs" / "Vault")
    (vault / "inner" / ".obsidian").mkdir(parents=True)
    written(vault / "inner" / "more.md", "within")
    export = written(vault / "list.txt", "https://a.example/ | A\n")
    written(tmp_path / "docs" / "README.md", "# Nobody asked for this")
    assert discovery.expand(tmp_path / "docs") == [vault, export]
    assert [o.seen for o in import_files(workspace, [tmp_path / "docs"]).imports] == [4, 1]


def test_a_folder_of_notes_needs_no_sign_when_it_is_named(workspace: Workspace, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "sub").mkdir(parents=True)
    written(notes / "a.md", "one")
    written(notes / "sub" / "b.md", "two")
    written(notes / "c.py", "pass")
    written(notes / "sub" / "d.png", b"\x89PNG")
    (outcome,) = import_files(workspace, [notes]).imports
    assert (outcome.status, outcome.seen, outcome.profile) == ("imported", 2, "notes")
    assert discovery.expand(tmp_path) == []
    for name in ("e.c", "f.rs"):
        written(notes / name, "x")
    (refused,) = import_files(workspace, [notes]).imports
    assert refused.status == "failed"
    assert refused.error
    assert "is a folder, and nothing in it can be imported" in refused.error


def test_one_note_of_a_vault_is_the_note_of_the_vault(workspace: Workspace, tmp_path: Path) -> None:
    vault = a_vault(tmp_path / "Vault")
    import_files(workspace, [vault])
    written(vault / "Bread.md", "Shorter now")
    (outcome,) = import_files(workspace, [vault / "Bread.md"]).imports
    assert (outcome.status, outcome.new, outcome.updated, outcome.profile) == ("imported", 0, 1, "Vault")


def test_a_vault_of_nothing_says_so(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "Vault" / ".obsidian").mkdir(parents=True)
    (outcome,) = import_files(workspace, [tmp_path / "Vault"]).imports
    assert (outcome.status, outcome.error) == ("empty", "Vault holds no texts")


def test_thousands_of_notes_are_one_import(workspace: Workspace, tmp_path: Path) -> None:
    vault = tmp_path / "Vault"
    (vault / ".obsidian").mkdir(parents=True)
    for number in range(5_000):
        written(vault / f"{number:04}.md", f"Note number {number}")
    (outcome,) = import_files(workspace, [vault]).imports
    assert (outcome.seen, outcome.new) == (5_000, 5_000)


FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LINES = st.sampled_from(
    [
        "---",
        "...",
        "tags: [a, 'b",
        "tags:",
        "  - x",
        "- y",
        "created: 2024-01-01",
        "date: [",
        "# T",
        "#t",
        "```",
        "",
        "url: |",
    ]
)


def takes_anything(path: Path) -> None:
    assert markdown.detect(path) in (True, False)
    with suppress(SourceError):
        read(path)


@FUZZ
@given(DAMAGES)
def test_damage_gives_a_note_a_reject_or_one_line(tmp_path: Path, damage: Damage) -> None:
    takes_anything(written(tmp_path / "x.md", damaged(BREAD.encode(), damage)))


@FUZZ
@given(st.lists(LINES | st.text(max_size=20), max_size=14))
def test_any_lines_are_a_note(tmp_path: Path, lines: list[str]) -> None:
    text = "\n".join(lines)
    takes_anything(written(tmp_path / "x.md", text.encode("utf-8", "surrogatepass")))
    properties, block, below = split(text)
    assert (block + below in text) if not block else text.count(block)
    assert all(isinstance(v, str | list) for v in properties.values())


@pytest.mark.parametrize(
    "text",
    [
        "---\na: [" + '"\\' * 60_000 + "]\n---\n",
        "---\n" + "a:\n" + "- b\n" * 15_000 + "---\n",
        "---\na: b\n" + " c\n" * 20_000 + "---\n",
        "#" + "1" * 1_000_000,
        "`" * 1_000_001 + " #x",
        ("# " + "#" * 1_000_000),
        "#a " * 300_000,
        "---\n" * 200_000,
    ],
)
def test_time_grows_with_the_text_whatever_it_holds(tmp_path: Path, text: str) -> None:
    assert len(read(written(tmp_path / "x.md", text))[0]) == 1
    assert _front_matter.split(text)
