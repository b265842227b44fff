import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Served

from brain.cli.demo import QUESTIONS


@pytest.fixture(scope="module")
def shown(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a first demo of the small sample says, as its JSON document, and the folder it was kept in."""
    import contextlib
    import io

    from brain.cli import main

    folder = tmp_path_factory.mktemp("demo") / "kept"
    served.announce(folder)
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setenv("BRAIN_NOW", NOW)
        patch.setenv("BRAIN_TZ", "Europe/Vienna")
        code = main(["demo", "--json", "--scale", "small", "--keep", str(folder)])
    assert code == 0
    return folder, json.loads(out.getvalue())


def test_the_flows_imported_what_the_sample_holds(shown: Any) -> None:
    _, document = shown
    assert document["sample"] == {
        "scale": "small",
        "seed": 1,
        "files": 18,
        "visits": 320,
        "pages": document["sample"]["pages"],
    }
    steps = {row["step"]: row for row in document["flows"]["rows"]}
    assert list(steps) == ["import", "index", "maintain"]
    assert (steps["import"]["files"], steps["import"]["seen"], steps["import"]["new"]) == (18, 767, 581)
    # What Google repeats of the browser's own file counts once.
    assert document["summary"]["visible_visits"] < steps["import"]["visible"]
    # Pages that were kept and never visited can be found too.
    assert steps["index"]["indexed"] > document["summary"]["pages"]


def test_the_charts_count_every_visible_visit_once(shown: Any) -> None:
    _, document = shown
    summary = document["summary"]
    assert len(summary["hours"]) == 24
    assert sum(summary["hours"].values()) == sum(summary["weeks"].values()) == summary["visible_visits"]


def test_three_questions_are_asked_and_exact_words_are_found_first(shown: Any) -> None:
    _, document = shown
    assert [(s["family"], s["query"]) for s in document["searches"]] == [
        (family, text) for family, (text, _) in QUESTIONS.items()
    ]
    ranks = {s["family"]: s["rank"] for s in document["searches"]}
    assert (ranks["exact"], ranks["cjk"]) == (1, 1)
    if document["model"]:
        assert ranks["paraphrase"] == 1


def test_nothing_lies_after_the_fixed_clock(shown: Any) -> None:
    _, document = shown
    assert document["summary"]["last"] <= "2026-11-30T12:00:00.000000Z"


def test_a_second_demo_in_the_same_folder_finds_nothing_new(
    shown: Any, brain: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, first = shown
    monkeypatch.setenv("BRAIN_TZ", "Europe/Vienna")
    again = brain("demo", "--json", "--scale", "small", "--keep", folder)
    assert again.code == 0
    assert again.json["flows"]["rows"][0]["new"] == 0
    for name in ("visits", "visible_visits", "pages", "hours", "weeks"):
        assert again.json["summary"][name] == first["summary"][name]


def test_it_reads_well_in_a_pipe(shown: Any, brain: Callable[..., Any]) -> None:
    folder, _ = shown
    said = brain("demo", "--scale", "small", "--keep", folder)
    assert (said.code, said.err) == (0, "")
    assert "\x1b" not in said.out
    for text, _ in QUESTIONS.values():
        assert f'brain search "{text}"' in said.out
    assert "brain import --auto" in said.out
    assert "Booking KX7Q2M: Osaka to Naha" in said.out


def test_a_lake_that_no_demo_made_is_left_alone(brain: Callable[..., Any], tmp_path: Path) -> None:
    from brain import open_workspace

    open_workspace(tmp_path).lake.ensure()
    before = (tmp_path / "lake.duckdb").read_bytes()
    refused = brain("demo", "--keep", tmp_path)
    assert refused.code == 2
    assert "no demo made" in refused.err
    assert (tmp_path / "lake.duckdb").read_bytes() == before
