"""The shape of the code: imports point one way, the core is free of the edges, docs say what is true."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from brain import views
from brain.config import Home
from brain.lake import Lake

ROOT = Path(__file__).parents[1]
FILES = sorted([*(ROOT / "brain").rglob("*.py"), *(ROOT / "pipelines").rglob("*.py")])

# From the bottom up: a module may import from its own room and from rooms below.
ROOMS: tuple[tuple[str, ...], ...] = (
    (
        "brain.errors",
        "brain.models",
        "brain.config",
        "brain.intervals",
        "brain.events",
        "brain.ids",
        "brain.progress",
        "brain.sql",
        "brain.plaintext",
        "brain.private_files",
        "brain.jsonc",
    ),
    (
        *("brain.archives", "brain.archive_members", "brain.sniffing"),
        *("brain.importers", "brain.snapshot", "brain.discovery", "brain.browser_places", "brain.scrub"),
        *(
            "brain.secret_shapes",
            "brain.urls",
            "brain.origins",
            "brain.site_rules",
            "brain.policy",
            "brain.locks",
        ),
        *(
            "brain.leases",
            "brain.view",
            "brain.views",
            "brain.views_slack",
            "brain.merge",
            "brain.merge_records",
            "brain.merge_slack",
            "brain.thought_rows",
            "brain.removals",
            "brain.prepare",
            "brain.prepare_slack",
            "brain.migrations",
            "brain.lake",
            "brain.inbox",
            "brain.applying",
            "brain.receipts",
            "brain.event_files",
        ),
        *("brain.embedding", "brain.chunking", "brain.extraction", "brain.sample", "brain.slack"),
    ),
    (
        *(
            "brain.index",
            "brain.search",
            "brain.fusion",
            "brain.ranking",
            "brain.querytext",
            "brain.snippets",
        ),
        *(
            "brain.cards",
            "brain.cleanup_rules",
            "brain.grouping_critic",
            "brain.recognition",
            "brain.summary",
        ),
    ),
    ("brain.workspace",),
    ("brain.services",),
    ("brain.render", "pipelines", "brain.cli", "brain.mcp_server", "brain.bridge", "brain.__main__"),
)
EDGES = ROOMS[-1]
EDGE_LIBRARIES = {"typer", "click", "rich", "prefect", "mcp", "fastmcp", "mcp_types", "starlette"}
HEAVY = {
    "duckdb",
    "polars",
    "pyarrow",
    "numpy",
    "lancedb",
    "onnxruntime",
    "prefect",
    "rich",
    "typer",
    "mcp",
    "torch",
}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> int | None:
    """The level of the most exact entry that names the module or a package above it."""
    found = [
        (len(entry), level)
        for level, room in enumerate(ROOMS)
        for entry in room
        if module == entry or module.startswith(f"{entry}.")
    ]
    return max(found)[1] if found else None


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import that runs, those within functions too."""
    tree = ast.parse(path.read_text("utf-8"))
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test).endswith("TYPE_CHECKING")
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: relative import"
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
            known = [m for m in modules if (ROOT / m.replace(".", "/")).with_suffix(".py").exists()]
            yield from ((node.lineno, m) for m in (known or [node.module or ""]))


def ours(module: str) -> bool:
    return module.split(".")[0] in {"brain", "pipelines"}


def test_every_module_has_a_room() -> None:
    assert [name_of(p) for p in FILES if room_of(name_of(p)) is None] == ["brain"]


def test_imports_point_downwards() -> None:
    upward = []
    for path in FILES:
        level = room_of(name_of(path))
        for line, module in imports(path):
            other = room_of(module) if ours(module) else None
            if level is not None and other is not None and other > level:
                upward.append(f"{name_of(path)}:{line} imports {module}")
    assert upward == []


def test_no_two_modules_import_each_other() -> None:
    """Not even within a room, and at any distance; imports within functions count."""
    names = {name_of(p) for p in FILES}
    graph = {
        name_of(p): {m for _, m in imports(p) if m in names and not name_of(p).startswith(f"{m}.")}
        - {name_of(p)}
        for p in FILES
    }
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, " -> ".join((*way[way.index(module) :], module))
        if module in done:
            return
        for other in graph[module]:
            # A package hands out what its modules hold; that a module asks its package is no circle of theirs.
            visit(other, (*way, module))
        done.add(module)

    for module in sorted(graph.keys() - {"brain"}):
        visit(module, ())


def core() -> list[Path]:
    return [p for p in FILES if not name_of(p).startswith(tuple(EDGES))]


def test_the_core_knows_no_edge_library() -> None:
    found = [
        f"{name_of(p)}:{line} imports {module}"
        for p in core()
        for line, module in imports(p)
        if module.split(".")[0] in EDGE_LIBRARIES
    ]
    assert found == []


def test_the_core_never_prints_asks_or_exits() -> None:
    found = []
    for path in core():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in {"print", "input", "exit", "quit", "sys.exit", "os._exit", "sys.stdout.write"}:
                    found.append(f"{name_of(path)}:{node.lineno} {called}")
    assert found == []


def test_files_stay_short() -> None:
    long = {name_of(p): n for p in FILES if (n := len(p.read_text("utf-8").splitlines())) > 400}
    assert long == {}


def test_there_is_no_room_for_odds_and_ends() -> None:
    assert [p for p in FILES if p.stem.strip("_") in {"utils", "util", "helpers", "misc", "common"}] == []


def test_importing_brain_costs_nothing() -> None:
    code = "import sys; before = set(sys.modules); import brain; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = {module.split(".")[0] for module in run.stdout.split()}
    assert loaded & HEAVY == set()
    assert "brain" in loaded


def test_opening_a_workspace_loads_nothing_heavy() -> None:
    code = "import sys, brain; brain.open_workspace(sys.argv[1]); print(*sorted(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", code, "nowhere"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert {module.split(".")[0] for module in run.stdout.split()} & HEAVY == set()
    assert not (ROOT / "nowhere").exists()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(Home(tmp_path_factory.mktemp("views") / "home"))
    lake.ensure()
    return lake


@pytest.mark.parametrize("view", views.VIEWS, ids=lambda view: view.name)
def test_a_view_has_the_columns_that_are_documented(lake: Lake, view: views.View) -> None:
    assert lake.sql(f"SELECT * FROM {view.name} LIMIT 0").columns == list(view.columns)
    assert all(view.columns.values())


def test_no_view_is_undocumented(lake: Lake) -> None:
    found = lake.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'")
    assert set(found["view_name"]) == {view.name for view in views.VIEWS}


def test_the_data_dictionary_is_up_to_date() -> None:
    assert (ROOT / "docs" / "data-dictionary.md").read_text("utf-8") == views.dictionary()


def test_the_home_holds_what_the_architecture_says() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    for part in ("lake", "keys", "raw", "inbox", "index", "snapshots", "cache", "prefect", "config"):
        assert f"`{getattr(Home(Path()), part).name}" in text
