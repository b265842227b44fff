"""Scores against figures worked out by hand."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from concepts import Concepts

from brain.errors import UsageError
from brain.services.evaluate import evaluate, score


def write(folder: Path, **values: Any) -> Path:
    file = folder / "judged.json"
    file.write_text(json.dumps(values), "utf-8")
    return file


def test_graded_gains_are_discounted_by_rank() -> None:
    found = score({"q": ["b", "x", "a"]}, {"q": {"a": 3, "b": 1, "c": 2}})
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    assert found.ndcg == round((1 + 3 / 2) / ideal, 4)
    assert (found.recall_5, found.recall_10, found.mrr, found.queries) == (0.6667, 0.6667, 1.0, 1)


def test_only_the_first_ten_count_and_recall_at_five_stops_at_five() -> None:
    ranking = [f"x{n}" for n in range(5)] + ["a"] + [f"y{n}" for n in range(4)] + ["b"]
    found = score({"q": ranking}, {"q": {"a": 1, "b": 1, "zero": 0}})
    assert (found.recall_5, found.recall_10, found.mrr) == (0.0, 0.5, 0.1667)


def test_a_file_is_judged_by_the_products_own_search(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        docs={"one": "sourdough bread", "two": "cheap flights", "empty": "", "it's odd #1": "zebra crossing"},
        qs={"word": "zebra", "meaning": "yeast loaf", "unanswered": "sourdough"},
        rel={"word": {"it's odd #1": 1}, "meaning": {"one": 2}, "unanswered": {"two": 0}},
        fam={"word": "exact", "meaning": "paraphrase"},
    )
    perfect = {"ndcg@10": 1.0, "recall@5": 1.0, "recall@10": 1.0, "mrr": 1.0}
    nothing = dict.fromkeys(perfect, 0.0)
    half = dict.fromkeys(perfect, 0.5)
    one = {"queries": 1}
    assert evaluate(file, "hybrid", Concepts()).as_dict() == {
        "overall": perfect,
        "families": {"exact": perfect | one, "paraphrase": perfect | one},
        "queries": 2,
    }
    assert evaluate(file, "keyword").as_dict() == {
        "overall": half,
        "families": {"exact": perfect | one, "paraphrase": nothing | one},
        "queries": 2,
    }


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"qs": {}, "rel": {}}, "docs is missing"),
        ({"docs": [], "qs": {}, "rel": {}}, "docs is missing or no object"),
        ({"docs": {"a": 1}, "qs": {}, "rel": {}}, "must be text"),
        ({"docs": {"a": ""}, "qs": {"q": "x"}, "rel": {"q": {"b": 1}}}, "unknown document 'b'"),
        ({"docs": {"a": ""}, "qs": {"q": "x"}, "rel": {"q": {"a": "high"}}}, "grades"),
        ({"docs": {"a": ""}, "qs": {"q": "x"}, "rel": {"q": {"a": -1}}}, "grades"),
        ({"docs": {"a": ""}, "qs": {"q": "x"}, "rel": {"q": {"a": 0}}}, "no query with a right answer"),
    ],
)
def test_a_bad_file_is_a_usage_error_that_names_the_fault(
    tmp_path: Path, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate(write(tmp_path, **values))


def test_a_file_that_is_missing_or_no_json_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        evaluate(tmp_path / "none.json")
    (tmp_path / "bad.json").write_bytes(b"\xff{")
    with pytest.raises(UsageError, match="not JSON"):
        evaluate(tmp_path / "bad.json")
