"""The command's manners: exit codes, streams, one JSON document, options anywhere, a light start."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from brain.cli import hoist

BRAIN = [sys.executable, "-c", "import sys; from brain.cli import main; sys.exit(main())"]
HEAVY = (
    "duckdb",
    "polars",
    "pyarrow",
    "numpy",
    "lancedb",
    "onnxruntime",
    "prefect",
    "pipelines",
    "rich",
    "mcp",
    "pydantic",
)


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The real program in a process of its own, without a terminal."""
    return subprocess.run(
        [*BRAIN, *map(str, arguments)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | environment,
        check=False,
    )


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; from brain.cli import main; code = main(['--help']); "
        f"sys.stderr.write(' '.join(m for m in {HEAVY} if m in sys.modules)); sys.exit(code)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Start here:" in ran.stdout


@pytest.mark.parametrize(
    ("argv", "parted"),
    [
        (["stats", "--json"], (["--json"], ["stats"])),
        (["stats", "--home", "x", "--by", "day"], (["--home=x"], ["stats", "--by", "day"])),
        (["--debug", "search", "--home=a b", "q"], (["--debug", "--home=a b"], ["search", "q"])),
        (["search", "--", "--json", "--home"], ([], ["search", "--", "--json", "--home"])),
        (["stats", "--home"], (["--home"], [])),
        (["stats", "--home="], (["--home"], [])),
        (["stats", "--home", ""], (["--home"], [])),
    ],
)
def test_root_options_are_taken_from_anywhere_before_a_bare_double_dash(
    argv: list[str], parted: tuple[list[str], list[str]]
) -> None:
    assert hoist(argv) == parted


def test_home_after_the_command_means_that_lake(brain, home: Path, tmp_path: Path) -> None:
    named = tmp_path / "a home with blanks, ümlauts and 家"
    assert brain("status", "--json", "--home", named).json["home"] == str(named)
    assert brain("--home", named, "status", "--json").json["home"] == str(named)
    assert brain("status", "--json").json["home"] == str(home)


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["timelin"], 2, "No such command 'timelin'. Did you mean 'timeline'?"),
        (["search", "x", "--mode", "psychic"], 2, "psychic"),
        (["search", "x", "--limit", "0"], 2, "limit"),
        (["stats", "--since", "whenever"], 2, "not a time: 'whenever'"),
        (["stats", "--since", "today", "--until", "yesterday"], 2, "the interval is empty"),
        (["imports", "7"], 2, "there is no import '7'"),
        (["import"], 2, "nothing to import"),
        (["--home"], 2, "requires an argument"),
        (["sql", "SELECT 1"], 1, "there is no lake"),
        (["sample", "x", "--end", "soon"], 2, "not a date: 'soon'"),
        (["sample", "x", "--end", "0001-01-01"], 2, "1990 to 2200"),
        (["sample", __file__], 2, "cannot be written"),
        (["search", "x", "--home", __file__], 2, "Not a directory"),
        (["stats", "--home", "what?"], 2, "choose another home"),
    ],
)
def test_a_fault_is_one_line_on_stderr_and_one_document_with_json(brain, home, argv, code, said) -> None:
    ran = brain(*argv)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert said in ran.err
    ran = brain(*argv, "--json") if argv != ["--home"] else brain("--json", *argv)
    assert (ran.code, ran.out) == (code, "")
    error = json.loads(ran.err)["error"]
    assert set(error) == {"code", "message"}
    assert said in error["message"]


def test_without_a_command_the_help_is_shown_and_the_usage_was_wrong(brain) -> None:
    ran = brain()
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: brain")
    assert json.loads(brain("--json").err)["error"]["code"] == "usage"


def test_a_broken_configuration_is_named(brain, home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("colour = 3\n")
    ran = brain("status")
    assert ran.code == 2
    assert ran.err == (
        f"error: {home}/config.toml: unknown setting 'colour'; "
        "known: timezone, embedder, keep_raw, keep_private, deny, allow, slack_capture\n"
    )


def test_an_unforeseen_fault_is_one_line_and_debug_shows_where(brain, home: Path, monkeypatch) -> None:
    monkeypatch.setattr("brain.services.status.status", lambda ws: 1 / 0)
    ran = brain("status")
    assert ran.code == 1
    assert ran.err == "error: ZeroDivisionError: division by zero; run with --debug to see where\n"
    ran = brain("status", "--debug")
    assert ran.err.startswith("Traceback")
    assert ran.err.endswith("run with --debug to see where\n")
    assert json.loads(brain("status", "--json").err) == {
        "error": {
            "code": "internal",
            "message": "ZeroDivisionError: division by zero; run with --debug to see where",
        }
    }


def test_a_full_disk_is_told_with_what_to_do(brain, home: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("brain.config.load", full)
    ran = brain("status", "--json")
    assert ran.code == 1
    assert json.loads(ran.err)["error"]["code"] == "disk"


def test_ctrl_c_is_one_line(brain, home: Path, monkeypatch) -> None:
    def interrupted(ws: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("brain.services.status.status", interrupted)
    ran = brain("status")
    assert (ran.code, ran.out, ran.err) == (130, "", "error: interrupted\n")


def test_a_reader_that_leaves_early_is_not_complained_about(sample_lake) -> None:
    for arguments in (["schema", "visits"], ["stats", "--json"]):
        reading, writing = os.pipe()
        os.close(reading)
        ran = subprocess.run(
            [*BRAIN, *arguments], stdout=writing, stderr=subprocess.PIPE, env=os.environ, check=False
        )
        os.close(writing)
        assert (ran.returncode, ran.stderr) == (1, b"")


def test_another_process_finds_an_imported_file_unchanged(home: Path, sample: Path) -> None:
    file = sample / "chrome" / "Default" / "History"
    ran = [
        command("import", file, "--no-index", "--json", PYTHONHASHSEED=seed, BRAIN_HOME=str(home))
        for seed in ("1", "2")
    ]
    states = [[i["status"] for i in json.loads(r.stdout)["imports"]] for r in ran]
    assert states == [["imported"], ["unchanged"]]


def test_streams_are_utf8_in_any_locale(home: Path) -> None:
    ran = command("search", "日本", "--json", "--kind", "家", LC_ALL="C", PYTHONIOENCODING="ascii")
    assert "家" in ran.stderr.decode("utf-8")
    assert ran.returncode == 2


@pytest.mark.skipif(os.name != "posix", reason="arguments are bytes on POSIX only")
def test_bytes_that_are_no_utf8_are_taken_for_unknown_characters(sample_lake, brain) -> None:
    odd = os.fsdecode(b"z\xff")
    assert brain("search", "zebra", "--domain", odd).code == 0
    assert brain("sql", f"SELECT '{odd}' AS a", "--json").json == [{"a": "z\ufffd"}]


@pytest.mark.parametrize("kept", ["[]", '{"sources": 3}', "{"])
def test_a_damaged_file_of_kept_counts_is_made_anew(brain, workspace, kept: str) -> None:
    workspace.lake.ensure()
    workspace.home.cache.mkdir(exist_ok=True)
    (workspace.home.cache / "coverage.json").write_text(kept)
    assert brain("search", "x", "--json").json["coverage"]["pending"] == 0


def test_version_is_the_packages(brain) -> None:
    from brain import __version__

    assert brain("--version").out == f"brain {__version__}\n"


def test_shell_completion_knows_the_commands() -> None:
    ran = command(_BRAIN_COMPLETE="complete_bash", COMP_WORDS="brain sea", COMP_CWORD="1")
    assert ran.stdout.split() == [b"search"]


# --- every command's help


def _commands() -> list[tuple[str, ...]]:
    from typer.main import get_command

    from brain.cli.app import app

    found = []
    for name, child in get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(child, "commands", None)
        found += [(name, sub) for sub in inner] if inner else [(name,)]
    return found


def _example(brain, words: tuple[str, ...]) -> str:
    ran = brain(*words, "--help")
    assert ran.code == 0
    found = re.search(r"^ *Example: (brain .*(?:\n +.*)*)", ran.out, re.MULTILINE)
    assert found, f"{' '.join(words)} has no example"
    return " ".join(found[1].split())


@pytest.mark.parametrize("words", _commands(), ids=" ".join)
def test_every_command_says_what_it_does_and_gives_an_example_of_itself(brain, words) -> None:
    about = re.search(r"^Usage: .*?\n\n  (\S.*?)$", brain(*words, "--help").out, re.MULTILINE | re.DOTALL)
    assert about
    assert len(about[1]) < 90
    assert _example(brain, words).startswith(" ".join(("brain", *words)))


def test_the_help_lists_every_command_with_a_whole_sentence(brain) -> None:
    text = brain("--help").out
    cut = [line for line in text.split("Start here:")[1].splitlines() if line.endswith("...")]
    assert cut == []
    for words in _commands():
        assert re.search(rf"^  {words[0]} +\S", text, re.MULTILINE)
