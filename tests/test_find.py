"""Search as every edge asks for it: the sample's lake, the real model, and what is said when a part is missing."""

import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from brain import open_workspace
from brain.errors import UsageError
from brain.intervals import to_us
from brain.services.find import related, search


def urls(result: Any) -> list[str]:
    return [hit.url for hit in result.results]


def test_an_id_stands_first(sample_lake: Any) -> None:
    hits = search(sample_lake, "PROJ-1482").results
    assert hits[0].title == "[PROJ-1482] Importer drops visits when the clock goes back - Acorn Tracker"
    assert hits[0].relevance > 0.95


@pytest.mark.parametrize(
    ("query", "title"), [("喫茶", "京都の静かな喫茶店10選"), ("温泉", "温泉旅館のマナーと浴衣の着方")]
)
def test_two_characters_inside_a_longer_word_are_found_and_nothing_unrelated_is(
    sample_lake: Any, query: str, title: str
) -> None:
    hits = search(sample_lake, query).results
    assert hits[0].title == title
    assert all(query in f"{hit.title} {hit.url}" for hit in hits)


def test_a_paraphrase_without_a_common_word_is_found_by_meaning(sample_lake: Any) -> None:
    first = search(sample_lake, "bread collapses sideways while baking").results[0]
    assert first.title == "Why your loaf spreads flat: weak gluten and overhydrated dough"
    assert first.match == "semantic"


def test_stop_words_alone_do_not_fail(sample_lake: Any) -> None:
    assert all(hit.relevance < 0.5 for hit in search(sample_lake, "the of and").results)


@pytest.mark.parametrize(
    "query", ['"unclosed', "a AND OR NOT (", "title:x -y", "what's the budget, roughly?", "%_' OR 1=1 --"]
)
def test_user_text_is_never_a_query_language(sample_lake: Any, query: str) -> None:
    search(sample_lake, query)


def test_filters_come_before_ranking(sample_lake: Any, sample: Path) -> None:
    for case in json.loads((sample / "queries.json").read_text("utf-8"))["queries"]:
        if case["family"] == "time-bounded":
            found = search(sample_lake, case["text"], since=case["since"], until=case["until"])
            begin, end = _us(found, "since"), _us(found, "until")
            inside = sample_lake.lake.sql(
                "SELECT DISTINCT page_id FROM visits WHERE is_visible AND visited_at >= make_timestamptz($a::BIGINT) "
                "AND visited_at < make_timestamptz($b::BIGINT)",
                {"a": begin, "b": end},
            )["page_id"].to_list()
            assert {hit.id for hit in found.results if hit.kind == "page"} <= set(inside)
            others = [hit.last_visited for hit in found.results if hit.kind != "page"]
            assert all(begin <= to_us(datetime.fromisoformat(at)) < end for at in others if at)
    assert {hit.kind for hit in search(sample_lake, "dovetails", kinds=("note",)).results} == {"note"}
    assert {hit.kind for hit in search(sample_lake, "release", kinds=("highlight",)).results} == set()


def _us(found: Any, end: str) -> int:
    return to_us(datetime.fromisoformat(found.coverage.interval[end]))


def test_pages_go_on_where_the_last_one_ended(sample_lake: Any) -> None:
    whole = urls(search(sample_lake, "bread", limit=2))
    first = search(sample_lake, "bread", limit=1)
    second = search(sample_lake, "bread", limit=1, cursor=first.cursor)
    assert urls(first) + urls(second) == whole


@pytest.mark.parametrize(
    ("query", "arguments"),
    [("", {}), ("   ", {}), ("x" * 10_001, {}), ("x", {"limit": 0}), ("x", {"limit": 101}), ("x", {"mode": "fuzzy"}),
     ("x", {"kinds": ("pages",)}), ("x", {"sources": ("netscape",)}), ("x", {"since": "soon"}), ("x", {"cursor": "?"})],
)  # fmt: skip
def test_bad_arguments_are_refused_in_one_line(
    sample_lake: Any, query: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(UsageError) as refusal:
        search(sample_lake, query, **arguments)
    assert "\n" not in str(refusal.value)


def test_related_leaves_the_item_out_and_takes_a_visit_for_its_page(sample_lake: Any) -> None:
    page = search(sample_lake, "PROJ-1482", kinds=("page",)).results[0].id
    visit = sample_lake.lake.sql("SELECT id FROM visits WHERE page_id = $1 LIMIT 1", [page]).item()
    near = related(sample_lake, page)
    assert near.results
    assert page not in [hit.id for hit in near.results]
    assert urls(related(sample_lake, visit)) == urls(near)
    with pytest.raises(UsageError, match="nothing with the id"):
        related(sample_lake, "p0000000000000000")


@pytest.fixture
def copy(sample_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The sample's lake, to be damaged."""
    monkeypatch.setenv("BRAIN_TZ", "UTC")
    shutil.copytree(sample_home, tmp_path / "home")
    return open_workspace(tmp_path / "home")


def test_without_a_model_words_still_find_and_the_answer_says_so(
    copy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRAIN_MODEL_DIR", str(tmp_path / "none"))
    found = search(copy, "PROJ-1482")
    assert found.results[0].title.startswith("[PROJ-1482]")
    assert [
        note for note in found.coverage.degraded if note.startswith("keyword only")
    ] == found.coverage.degraded
    assert len(found.coverage.degraded) == 1
    with pytest.raises(UsageError, match="brain model install"):
        search(copy, "PROJ-1482", mode="semantic")


@pytest.mark.parametrize("damage", ["missing", "pointer", "tables"])
def test_without_the_index_plain_text_still_finds_and_the_answer_says_so(copy: Any, damage: str) -> None:
    if damage == "missing":
        shutil.rmtree(copy.home.index)
    elif damage == "pointer":
        for file in copy.home.index.glob("*.json"):
            file.write_text("{")
    else:
        for table in copy.home.index.glob("*.lance"):
            shutil.rmtree(table)
    found = search(copy, "proj-1482 importer")
    assert found.results[0].title.startswith("[PROJ-1482]")
    assert found.coverage.degraded[0].startswith("plain text matching only")
    second = search(copy, "bread", limit=2, cursor=search(copy, "bread", limit=2).cursor)
    assert not set(urls(second)) & set(urls(search(copy, "bread", limit=2)))


def test_an_empty_lake_answers_with_nothing_and_says_why(workspace: Any) -> None:
    found = search(workspace, "anything")
    assert found.results == []
    assert found.coverage.degraded == ["the lake is empty: import something first"]
