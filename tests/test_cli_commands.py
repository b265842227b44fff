"""Each command on a small real lake: what it answers, in which shape, with which exit code."""

import json
import re
import shlex
import shutil
from pathlib import Path

import polars as pl
import pytest

from brain.services.access import add_key
from brain.workspace import open_workspace

INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z")


@pytest.fixture
def person(home: Path, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with a Chrome history where Chrome keeps it, and one that cannot be read."""
    own = tmp_path / "person"
    chrome = own / ".config" / "google-chrome"
    shutil.copytree(sample / "chrome" / "Default", chrome / "Default")
    (chrome / "Profile 1" / "History").mkdir(parents=True)  # not a file at all
    monkeypatch.setenv("HOME", str(own))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    return own


# --- bringing data in


def test_an_import_tells_what_it_took_and_a_second_one_takes_nothing(brain, home: Path, sample: Path) -> None:
    first = brain("import", sample, "--no-index", "--json")
    assert first.code == 0
    assert set(first.json) == {"imports", "totals", "index"}
    chrome = next(i for i in first.json["imports"] if i["source"] == "chromium")
    assert set(chrome) == {
        *("id", "path", "source", "browser", "profile", "sha256", "status", "seen", "new", "updated"),
        *("rejected", "visible", "counts", "seconds", "error"),
    }
    assert (chrome["browser"], chrome["profile"], chrome["status"]) == ("chrome", "Default", "imported")
    assert chrome["seen"] == chrome["new"] == 260
    assert first.json["totals"]["files"] == 18
    # Visits of five browsers, bookmarks and saved tabs, texts of other programs, and what two exports repeat.
    assert first.json["totals"]["seen"] == 460 + 99 + 22 + 146 + 40
    assert first.json["totals"]["new"] == 460 + 99 + 22
    again = brain("import", sample, "--no-index", "--json")
    assert again.code == 0
    assert [i["status"] for i in again.json["imports"]] == ["unchanged"] * 18
    assert again.json["totals"]["new"] == 0
    lines = brain("import", sample, "--no-index").out.splitlines()
    assert [line.split()[0] for line in lines[:18]] == ["unchanged"] * 18
    assert [r["status"] for r in brain("imports", "--json").json["imports"]] == ["imported"] * 18


def test_one_bad_file_never_stops_the_others_and_the_exit_code_says_so(brain, home, sample, tmp_path) -> None:
    bad = tmp_path / "History"
    bad.write_bytes(b"no database")
    alone = brain("import", bad, "--no-index")
    assert alone.code == 1
    assert alone.out.startswith("failed")
    absent = brain("import", tmp_path / "absent", "--no-index")
    assert absent.code == 1
    mixed = brain("import", bad, sample, "--no-index", "--json")
    assert mixed.code == 3
    assert [i["status"] for i in mixed.json["imports"]] == ["failed", *["imported"] * 18]
    assert mixed.json["imports"][0]["error"]


def test_a_dry_run_counts_and_writes_nothing(brain, home: Path, sample: Path) -> None:
    ran = brain("import", sample, "--dry-run")
    assert ran.code == 0
    assert "Dry run: nothing was written." in ran.out
    assert brain("imports", "--json").json == {"imports": []}
    assert brain("stats", "--json").json["totals"]["visits"] == 0


def test_since_leaves_out_what_is_older(brain, home: Path, sample: Path) -> None:
    ran = brain("import", sample, "--since", "2026-11-01", "--no-index", "--json")
    seen = sum(
        i["seen"] for i in ran.json["imports"] if i["source"] not in ("bookmarks", "takeout", "import")
    )
    assert 0 < seen < 460
    assert brain("stats", "--until", "2026-10-31", "--json").json["totals"]["visits"] == 0
    assert brain("stats", "--json").json["totals"]["visits"] == seen


def test_sources_are_found_and_auto_imports_those_that_can_be_read(brain, person: Path) -> None:
    found = brain("sources", "--json").json["sources"]
    assert {(s["browser"], s["profile"]) for s in found if s["readable"]} == {("chrome", "Default")}
    assert set(found[0]) >= {"browser", "profile", "path", "kind", "bytes", "readable", "reason"}
    assert "~/.config/google-chrome/Default/History" in brain("sources").out
    ran = brain("import", "--auto", "--no-index", "--json")
    assert ran.code == 0
    assert [(i["browser"], i["new"]) for i in ran.json["imports"]] == [("chrome", 260), ("chrome", 39)]
    unreadable = [s for s in found if not s["readable"]]
    assert [s["path"] for s in ran.json["left_out"]] == [s["path"] for s in unreadable]


def test_auto_says_plainly_that_there_is_nothing(brain, home, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert brain("sources").out.startswith("No browser history was found here")
    ran = brain("import", "--auto")
    assert (ran.code, ran.out) == (1, "")
    assert "none was found" in ran.err


def test_rejects_are_counted_where_they_arise_and_listed_on_request(brain, home, sample, tmp_path) -> None:
    import sqlite3

    damaged = tmp_path / "History"
    shutil.copy(sample / "chrome" / "Default" / "History", damaged)
    with sqlite3.connect(damaged) as con:
        con.execute("UPDATE visits SET visit_time = 1 WHERE id = (SELECT min(id) FROM visits)")
    con.close()
    ran = brain("import", damaged, "--no-index")
    assert ran.code == 3
    assert "1 rejected (brain imports 1)" in ran.out
    detail = brain("imports", "1", "--json").json
    assert detail["import"]["rejected"] == 1
    assert [set(r) for r in detail["rejects"]] == [{"where", "reason"}]
    assert detail["rejects"][0]["reason"] in brain("imports", "1").out


# --- asking


def test_a_search_answers_in_its_documented_shape(brain, sample_lake, sample: Path) -> None:
    questions = json.loads((sample / "queries.json").read_text())["queries"]
    exact = next(q for q in questions if q["family"].startswith("exact") and q["answers"])
    ran = brain("search", exact["text"], "--json", "-n", 3)
    assert ran.code == 0
    assert set(ran.json) == {"results", "cursor", "coverage"}
    assert 0 < len(ran.json["results"]) <= 3
    assert set(ran.json["results"][0]) == {
        *(
            "id",
            "kind",
            "title",
            "url",
            "snippet",
            "relevance",
            "match",
            "last_visited",
            "visit_count",
            "origin",
        )
    }
    assert INSTANT.fullmatch(ran.json["results"][0]["last_visited"])
    assert set(ran.json["coverage"]) == {"interval", "zone", "sources", "degraded", "pending"}
    assert ran.json["coverage"]["zone"] == "UTC"


def test_a_search_for_people_shows_everything_of_a_hit_uncut(brain, sample_lake) -> None:
    hit = brain("search", "sourdough", "bread", "--json").json["results"][0]
    ran = brain("search", "sourdough", "bread")
    assert ran.code == 0
    assert f"1. {hit['title']}" in ran.out
    assert hit["url"] in ran.out
    assert hit["id"] in ran.out
    assert "\x1b" not in ran.out


def test_nothing_found_is_an_answer(brain, sample_lake) -> None:
    ran = brain("search", "zzqx", "--mode", "keyword")
    assert ran.code == 0
    assert ran.out.startswith('Nothing found for "zzqx".')
    assert brain("search", "zzqx", "--mode", "keyword", "--json").json["results"] == []


def test_pages_of_results_follow_each_other_by_cursor(brain, sample_lake) -> None:
    words = ("search", "seek", "--mode", "keyword", "-n", 2, "--json")
    first = brain(*words).json
    assert first["cursor"]
    second = brain(*words, "--cursor", first["cursor"]).json
    assert len(second["results"]) == 2
    assert not {r["id"] for r in first["results"]} & {r["id"] for r in second["results"]}


def test_related_leaves_the_item_itself_out(brain, sample_lake) -> None:
    items = brain("sql", "SELECT id FROM pages WHERE title IS NOT NULL ORDER BY id LIMIT 8", "--json").json
    found = {
        i["id"]: [r["id"] for r in brain("related", i["id"], "--json", "-n", 3).json["results"]]
        for i in items
    }
    assert any(found.values())
    assert all(item not in ids and len(ids) <= 3 for item, ids in found.items())
    assert brain("related", "p0000000000000000").code == 2


def test_stats_add_up(brain, sample_lake) -> None:
    for by in ("day", "hour", "domain", "source"):
        answer = brain("stats", "--by", by, "--json").json
        assert sum(r["visits"] for r in answer["rows"]) == answer["totals"]["visits"] == 460
        assert set(answer["rows"][0]) == {"key", "visits", "visible_visits", "pages", "seconds"}
    text = brain("stats", "--by", "source").out.splitlines()
    assert text[0].split() == ["source", "visits", "visible", "pages", "in", "front"]
    assert [line.split()[0] for line in text[1:3]] == ["chromium", "firefox"]


def test_a_timeline_shows_a_day_in_order(brain, sample_lake) -> None:
    items = brain("timeline", "2026-11-28", "--json").json["items"]
    assert items == sorted(items, key=lambda i: i["at"])
    assert {i["at"][:10] for i in items} <= {"2026-11-28"}
    visit = brain("sql", "SELECT id FROM visits WHERE is_visible ORDER BY visited_at LIMIT 1", "--json").json[
        0
    ]["id"]
    assert visit in [i["id"] for i in brain("timeline", visit, "--json").json["items"]]
    assert brain("timeline", visit).out.startswith("when")


# --- SQL


def test_sql_gives_rows_as_objects_with_exact_instants(brain, sample_lake) -> None:
    rows = brain("sql", "SELECT id, visited_at FROM visits ORDER BY visited_at LIMIT 2", "--json").json
    assert [set(r) for r in rows] == [{"id", "visited_at"}] * 2
    assert INSTANT.fullmatch(rows[0]["visited_at"])
    assert brain("sql", "SELECT 1 AS one, NULL AS none", "--format", "json").json == [
        {"one": 1, "none": None}
    ]


def test_sql_as_a_table_and_as_csv(brain, sample_lake) -> None:
    statement = "SELECT 1 AS n, 'a,b' AS t, [1, 2] AS l, TIMESTAMPTZ '2026-01-02 03:04:05+00' AS at"
    assert brain("sql", statement).out == (
        "n  t    l       at\n1  a,b  [1, 2]  2026-01-02T03:04:05.000000Z\n"
    )
    assert brain("sql", statement, "--format", "csv").out == (
        'n,t,l,at\n1,"a,b","[1, 2]",2026-01-02T03:04:05.000000Z\n'
    )


@pytest.mark.parametrize("ending", ["json", "csv", "parquet", "txt"])
def test_sql_into_a_file_follows_its_name(brain, sample_lake, tmp_path, ending) -> None:
    file = tmp_path / f"out.{ending}"
    ran = brain("sql", "SELECT 42 AS answer", "-o", file)
    assert (ran.code, ran.out, ran.err) == (0, "", f"1 rows to {file}\n")
    if ending == "parquet":
        assert pl.read_parquet(file).to_dicts() == [{"answer": 42}]
    else:
        assert (
            file.read_text()
            == {
                "json": '[\n  {\n    "answer": 42\n  }\n]\n',
                "csv": "answer\n42\n",
                "txt": "answer\n    42\n",
            }[ending]
        )
    assert [p.name for p in tmp_path.iterdir()] == [file.name]


def test_cut_rows_are_said_on_stderr(brain, sample_lake) -> None:
    ran = brain("sql", "SELECT id FROM visits", "--rows", 3, "--json")
    assert len(ran.json) == 3
    assert ran.err == "only the first 3 rows are shown; --rows N shows more\n"


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM visits",
        "SELECT 1; SELECT 2",
        "SELEC 1",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM x",
    ],
)
def test_sql_outside_the_bounds_is_refused_in_one_line(brain, sample_lake, statement) -> None:
    ran = brain("sql", statement)
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert json.loads(brain("sql", statement, "--json").err)["error"]["code"] == "query"


def test_the_schema_names_every_column_and_its_meaning(brain, sample_lake) -> None:
    views = brain("schema", "--json").json["views"]
    assert {"visits", "pages"} <= {v["name"] for v in views}
    assert all(column["meaning"] for view in views for column in view["columns"])
    assert "visited_at" in brain("schema", "visits").out
    assert brain("schema", "nothing").code == 2


# --- looking after it


def test_status_and_doctor_of_a_sound_lake(brain, sample_lake) -> None:
    status = brain("status", "--json").json
    assert status["rows"]["visits"] == 460
    assert status["pending"] == 0
    assert "460" in brain("status").out
    ran = brain("doctor", "--json")
    assert ran.code == 0
    assert {"name", "ok", "detail", "fix"} == set(ran.json["checks"][0])
    assert all(check["ok"] for check in ran.json["checks"])
    assert brain("doctor").out.endswith("All is well.\n")


def test_doctor_finds_what_is_wrong_names_the_remedy_and_fixes_it(brain, home: Path, sample: Path) -> None:
    brain("import", sample, "--no-index")
    home.chmod(0o755)
    ran = brain("doctor")
    assert ran.code == 1
    assert "WRONG permissions" in ran.out
    assert "brain doctor --fix" in ran.out
    assert brain("doctor", "--fix").code == 0
    assert home.stat().st_mode & 0o777 == 0o700


def test_indexing_finishes_what_an_import_left(brain, home: Path, sample: Path) -> None:
    brain("import", sample, "--no-index")
    report = brain("index", "--json").json
    assert report["indexed"] > 0
    assert report["pending"] == 0
    assert brain("index").out == "The index is up to date.\n"
    assert brain("index", "--rebuild", "--json").json["indexed"] == report["indexed"]


def test_drain_counts_what_it_applied(brain, home: Path) -> None:
    ran = brain("drain", "--json")
    assert ran.code == 0
    assert ran.json.items() >= {"applied": 0, "duplicate": 0, "rejected": 0}.items()
    assert brain("drain").out == "0 applied, 0 known already, 0 rejected\n"


def test_the_model_is_chosen_in_the_configuration_and_nothing_else_there_changes(brain, home: Path) -> None:
    home.mkdir()
    config = home / "config.toml"
    config.write_text(
        '# mine\ntimezone = "UTC"  # here\nembedder = "other"  # for a while\ndeny = ["a.example"]\n'
    )
    ran = brain("model", "use", "minilm")
    assert ran.code == 0
    assert "brain index" in ran.out
    assert config.read_text() == (
        '# mine\ntimezone = "UTC"  # here\nembedder = "minilm"  # for a while\ndeny = ["a.example"]\n'
    )
    config.write_text('timezone = "UTC"\n')
    assert brain("model", "use", "minilm", "--json").json["name"] == "minilm"
    assert config.read_text() == 'embedder = "minilm"\ntimezone = "UTC"\n'
    before = config.read_text()
    assert brain("model", "use", "no-such-model-anywhere").code == 1
    assert config.read_text() == before


def test_the_model_list_says_what_is_used(brain, home: Path) -> None:
    models = brain("model", "list", "--json").json["models"]
    assert [(m["name"], m["used"], m["default"]) for m in models] == [("minilm", True, True)]
    assert models[0]["identity"]["dimension"] == 384
    assert "all-MiniLM-L6-v2" in brain("model", "list").out


def test_a_missing_model_is_named_with_its_remedy(brain, home, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("BRAIN_MODEL_DIR", str(tmp_path / "none"))
    assert brain("model", "list", "--json").json["models"][0]["installed"] is False
    assert "brain model install" in brain("model", "list").out
    ran = brain("model", "install", "--from", tmp_path)
    assert (ran.code, ran.err.count("\n")) == (1, 1)


# --- trying it out


def test_the_same_seed_writes_the_same_sample(brain, tmp_path: Path) -> None:
    first = brain("sample", tmp_path / "a", "--scale", "small", "--seed", 7, "--json").json
    second = brain("sample", tmp_path / "b", "--scale", "small", "--seed", 7, "--json").json
    assert [f["rows"] for f in first["files"]] == [f["rows"] for f in second["files"]]
    assert first["visits"] == 320
    assert (tmp_path / "a" / "queries.json").read_bytes() == (tmp_path / "b" / "queries.json").read_bytes()


def test_eval_measures_the_search(brain, home: Path, tmp_path: Path) -> None:
    judged = {
        "docs": {"d1": "How to proof sourdough bread", "d2": "Repairing a bicycle chain", "d3": ""},
        "qs": {"q1": "sourdough", "q2": "bicycle"},
        "rel": {"q1": {"d1": 1}, "q2": {"d2": 1}},
        "fam": {"q1": "food", "q2": "wheels"},
    }
    (tmp_path / "judged.json").write_text(json.dumps(judged))
    answer = brain("eval", tmp_path / "judged.json", "--mode", "keyword", "--json").json
    assert answer["overall"] == {"ndcg@10": 1.0, "recall@5": 1.0, "recall@10": 1.0, "mrr": 1.0}
    assert set(answer["families"]) == {"food", "wheels"}
    assert answer["queries"] == 2
    assert not home.exists()


# --- the examples in the help


def _examples() -> list[str]:
    from typer.main import get_command

    from brain.cli.app import app

    found = []
    for child in get_command(app).commands.values():  # type: ignore[attr-defined]
        inner = getattr(child, "commands", None)
        found += [c.epilog for c in (inner.values() if inner else [child])]
    return [text.removeprefix("Example: brain ") for text in found]


# Without an end of its own, or heavier than a unit test may be: what they do has tests of its own.
NOT_RUN = (
    "demo",
    "flows",
    "model install",
    "serve",
    "tabs cleanup",
    "tabs apply",
    "tabs undo",
    "tabs group",
    "slack import",
    "slack sync",
    "slack listen",
)
# These say something more on stderr.
REMARK = ("keys add", "mcp install", "extension pair", "tabs list")


@pytest.mark.parametrize("example", [e for e in _examples() if not e.startswith(NOT_RUN)])
def test_the_example_of_every_command_works_as_written(
    brain, sample_lake, person, tmp_path, monkeypatch, example: str
) -> None:
    home = tmp_path / "copy"
    shutil.copytree(sample_lake.home.root, home)
    monkeypatch.setenv("BRAIN_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    (person / "Downloads").mkdir()
    shutil.copy(person / ".config/google-chrome/Default/History", person / "Downloads" / "History")
    judged = {"docs": {"d": "bread"}, "qs": {"q": "bread"}, "rel": {"q": {"d": 1}}}
    (tmp_path / "judged.json").write_text(json.dumps(judged))
    (tmp_path / "preferences.json").write_text("[]")
    ids = {
        "p0123456789abcdef": brain("search", "sourdough", "--json").json["results"][0]["id"],
        "t0123456789abcdef": brain("thought", "add", "one", "--json").json["id"],
        "t0123456789abcdea": brain("thought", "add", "two", "--json").json["id"],
        "t0123456789abcdeb": brain("thought", "add", "three", "--json").json["id"],
        "r0123456789abcdef": brain("prefs", "set", "x", "--want", "y", "--json").json["id"],
    }
    brain("thought", "delete", ids["t0123456789abcdea"])
    for known, real in ids.items():
        example = example.replace(known, real)
    words = [w.replace("~", str(person)) for w in shlex.split(example)]
    assert brain("keys", "add", "phone").code == 0
    add_key(open_workspace(home), "chrome", "write", browser="chrome")
    ran = brain(*words)
    assert (ran.code, bool(ran.err)) == (0, example.startswith(REMARK))
    assert ran.out
