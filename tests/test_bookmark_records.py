"""Bookmarks and texts in the lake: one row per place, one document per page, nothing lost or doubled by a re-import."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from histories import Visit, chromium, us

from brain import importers, migrations
from brain.config import Home
from brain.lake import Lake
from brain.models import Batch, as_record_batch
from brain.services.find import search
from brain.services.import_files import ImportOptions, ImportOutcome, import_files
from brain.services.index_documents import index_documents
from brain.workspace import Workspace

EPOCH_1601_US = 11_644_473_600_000_000


def chrome(path: Path, *marks: tuple[str, str, str, str | None]) -> Path:
    """A Chromium `Bookmarks` file of (folder, name, url, instant)."""
    folders: dict[str, list[dict[str, Any]]] = {}
    for number, (folder, name, url, at) in enumerate(marks):
        added = str(us(at) + EPOCH_1601_US) if at else "0"
        node = {"type": "url", "id": str(number), "name": name, "url": url, "date_added": added}
        folders.setdefault(folder, []).append(node)
    children = [{"type": "folder", "name": name, "children": nodes} for name, nodes in folders.items()]
    roots = {"bookmark_bar": {"type": "folder", "name": "", "children": children}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"roots": roots, "version": 1}), "utf-8")
    return path


def one(ws: Workspace, path: Path, **options: Any) -> ImportOutcome:
    (outcome,) = import_files(ws, [path], ImportOptions(**options)).imports
    return outcome


def counts(outcome: ImportOutcome) -> tuple[str, int, int, int]:
    return outcome.status, outcome.seen, outcome.new, outcome.updated


BREAD = ("Baking", "Bread", "https://bread.example/a?utm_source=x", "2024-03-01T10:00:00+00:00")
AGAIN = ("To read", "Loaf", "https://bread.example/a?utm_source=x", "2025-03-01T10:00:00+00:00")
UNDATED = ("Baking", "Rye", "https://rye.example/", None)


def test_a_url_in_two_folders_is_two_rows_one_page_and_one_document(
    workspace: Workspace, tmp_path: Path
) -> None:
    outcome = one(workspace, chrome(tmp_path / "Bookmarks", BREAD, AGAIN, UNDATED))
    assert counts(outcome) == ("imported", 3, 3, 0)
    assert (outcome.source, outcome.visible) == ("bookmarks", 0)
    rows = workspace.lake.sql(
        "SELECT title, url, folder[-1] AS folder, added_at FROM bookmarks ORDER BY added_at"
    )
    assert [row[:3] for row in rows.rows()] == [
        ("Bread", BREAD[2], "Baking"),
        ("Loaf", AGAIN[2], "To read"),
        ("Rye", UNDATED[2], "Baking"),
    ]
    assert rows["added_at"].dt.epoch("us").to_list() == [us(str(BREAD[3])), us(str(AGAIN[3])), None]
    assert workspace.lake.sql("SELECT count(*) FROM visits").item() == 0
    index_documents(workspace, embed=False)
    documents = workspace.lake.sql(
        "SELECT title, text, url FROM documents WHERE kind = 'bookmark' ORDER BY title"
    )
    assert documents.rows() == [
        ("Loaf", "Bookmarks bar / Baking\nBookmarks bar / To read", AGAIN[2]),
        ("Rye", "Bookmarks bar / Baking", UNDATED[2]),
    ]
    assert workspace.lake.sql("SELECT count(DISTINCT page_id) FROM bookmarks").item() == 2


def test_a_second_import_of_the_same_bookmarks_changes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    file = chrome(tmp_path / "Bookmarks", BREAD, AGAIN, UNDATED)
    one(workspace, file)
    assert one(workspace, file).status == "unchanged"
    chrome(file, AGAIN, BREAD, UNDATED)  # other bytes, the same bookmarks
    assert counts(one(workspace, file)) == ("imported", 3, 0, 0)


def test_a_newer_file_renews_titles_and_never_loses_a_date(workspace: Workspace, tmp_path: Path) -> None:
    file = chrome(tmp_path / "Bookmarks", BREAD, UNDATED)
    one(workspace, file)
    chrome(file, (BREAD[0], "Better bread", BREAD[2], None), (*UNDATED[:3], "2020-01-01T00:00:00+00:00"))
    assert counts(one(workspace, file)) == ("imported", 2, 0, 2)
    rows = workspace.lake.sql("SELECT title, added_at IS NULL FROM bookmarks ORDER BY title").rows()
    assert rows == [("Better bread", False), ("Rye", False)]


def test_the_title_of_a_bookmark_is_not_the_pages_title(workspace: Workspace, tmp_path: Path) -> None:
    one(workspace, chrome(tmp_path / "Bookmarks", BREAD))
    assert workspace.lake.sql("SELECT title, visits FROM pages").rows() == [(None, 0)]


def test_a_denied_site_and_a_secret_leave_no_trace(home: Path, tmp_path: Path) -> None:
    from brain import open_workspace

    home.mkdir(parents=True)
    (home / "config.toml").write_text('deny = ["bank.example"]\n')
    ws = open_workspace(home)
    token = "https://app.example/x?access_token=s3cr3tS3CR3Ts3cr3t99"
    outcome = one(
        ws,
        chrome(
            tmp_path / "Bookmarks",
            ("f", "mine", "https://www.bank.example/acc", None),
            ("f", f"see {token}", token, None),
        ),
    )
    assert (outcome.seen, outcome.new, outcome.counts["denied_records"]) == (2, 1, 1)
    for table in ("store.bookmarks", "store.urls"):
        text = str(ws.lake.sql(f"SELECT * FROM {table}").to_dicts())
        assert "s3cr3t" not in text
        assert "bank.example" not in text
    kept = list(ws.home.raw.rglob("*.parquet"))
    assert kept
    for parquet in kept:
        assert "s3cr3t" not in str(pl.read_parquet(parquet).to_dicts())


def test_a_page_both_visited_and_bookmarked_is_one_hit_unless_kinds_are_asked_for(
    workspace: Workspace, tmp_path: Path
) -> None:
    one(
        workspace,
        chromium(tmp_path / "History", [Visit("2024-03-02T10:00:00+00:00", BREAD[2], "Sourdough bread")]),
    )
    one(workspace, chrome(tmp_path / "Bookmarks", ("Baking", "Sourdough bread", BREAD[2], BREAD[3]), UNDATED))
    index_documents(workspace, embed=False)
    assert len(search(workspace, "sourdough bread", mode="keyword").results) == 1
    (hit,) = search(workspace, "sourdough bread", mode="keyword", kinds=("bookmark",)).results
    assert (hit.kind, hit.title) == ("bookmark", "Sourdough bread")
    (hit,) = search(workspace, "sourdough bread", mode="keyword", kinds=("page",)).results
    assert hit.kind == "page"


def test_since_keeps_what_is_newer_and_what_has_no_date(workspace: Workspace, tmp_path: Path) -> None:
    file = chrome(tmp_path / "Bookmarks", BREAD, AGAIN, UNDATED)
    assert counts(one(workspace, file, since_us=us("2025-01-01T00:00:00+00:00"))) == ("imported", 2, 2, 0)


def test_a_dry_run_counts_and_writes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    file = chrome(tmp_path / "Bookmarks", BREAD, AGAIN, UNDATED)
    assert counts(one(workspace, file, dry_run=True)) == ("imported", 3, 3, 0)
    assert workspace.lake.sql("SELECT count(*) FROM bookmarks").item() == 0
    assert workspace.lake.sql("SELECT count(*) FROM imports").item() == 0


def test_coverage_counts_bookmarks(workspace: Workspace, tmp_path: Path) -> None:
    one(workspace, chrome(tmp_path / "Bookmarks", BREAD, UNDATED))
    index_documents(workspace, embed=False)
    sources = search(workspace, "bread", mode="keyword").coverage.sources
    assert sources == [{"source": "bookmarks", "newest": "2024-03-01T10:00:00.000000Z", "rows": 2}]


class Notes:
    """An importer of texts made for these tests; the file is a JSON list of rows."""

    NAME, SOURCE, BROWSER, VERSION = "notes", "import", "unknown", 1

    @staticmethod
    def detect(path: Path) -> bool:
        return path.read_bytes().startswith(b"[")

    @staticmethod
    def read(path: Path) -> Any:
        rows = json.loads(path.read_text("utf-8"))
        columns = {
            name: [row.get(name) for row in rows] for name in ("native_id", "kind", "url", "title", "text")
        }
        columns["tags"] = [row.get("tags", []) for row in rows]
        columns["created_us"] = pa.array([row.get("created_us") for row in rows], pa.int64())
        columns["kind"] = (
            pa.array(columns["kind"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
        )
        columns["url"] = pa.array(columns["url"], pa.string())
        columns["title"] = pa.array(columns["title"], pa.string())
        columns["tags"] = pa.array(columns["tags"], pa.list_(pa.string()))
        yield Batch("texts", as_record_batch("texts", columns))


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importers, "IMPORTERS", (Notes, *importers.IMPORTERS))


def test_texts_become_documents_and_an_edited_one_is_renewed(
    notes: None, workspace: Workspace, tmp_path: Path
) -> None:
    file = tmp_path / "notes.json"
    first = {
        "native_id": "1",
        "kind": "note",
        "title": "Rye",
        "text": "Rye needs acid",
        "created_us": us("2024-01-01T00:00:00Z"),
    }
    second = {
        "native_id": "2",
        "kind": "highlight",
        "url": "https://a.example/",
        "text": "Marked",
        "tags": ["x"],
    }
    file.write_text(json.dumps([first, second]))
    assert counts(one(workspace, file)) == ("imported", 2, 2, 0)
    index_documents(workspace, embed=False)
    before = workspace.lake.sql(
        "SELECT id, kind, title, text, url, state FROM documents ORDER BY kind"
    ).rows()
    assert [row[1:] for row in before] == [
        ("highlight", None, "Marked", "https://a.example/", "pending"),
        ("note", "Rye", "Rye needs acid", None, "pending"),
    ]
    assert [row[0][0] for row in before] == ["h", "n"]
    file.write_text(json.dumps([first | {"text": "Rye loves acid"}, second]))
    assert counts(one(workspace, file)) == ("imported", 2, 0, 1)
    index_documents(workspace, embed=False)
    (hit,) = search(workspace, "loves acid", mode="keyword").results
    assert hit.id == before[1][0]
    assert search(workspace, "needs", mode="keyword").results == []
    assert workspace.lake.sql("SELECT tags FROM texts WHERE kind = 'highlight'").item().to_list() == ["x"]


def test_a_lake_of_the_first_schema_is_brought_up_to_date_with_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home").ensure()
    with monkeypatch.context() as old:
        old.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:1])
        old.setattr(migrations, "LATEST", 1)
        old.setattr(migrations.views, "create", lambda con: None)
        lake = Lake(home)
        lake.ensure()
        with lake.write(what="old") as con:
            con.execute("INSERT INTO store.sources VALUES (1, 'chromium', 'chrome', 'Default', '')")
            con.execute(
                "INSERT INTO store.visits SELECT 7, 8, make_timestamptz(1700000000000000), NULL, NULL, 1, 'link', true,"
                " false, false, false, false, NULL, NULL, 'local', NULL, 1, NULL, NULL, NULL, 1"
            )
            con.execute(
                "INSERT INTO store.urls SELECT 8, 9, 'https://a.example/', 'a.example', 'https', 'a.example',"
                " 'a.example', 'A', NULL, NULL, 1, 0, NULL, 1"
            )
    lake = Lake(home)
    lake.ensure()
    assert lake.sql("SELECT url, browser, is_visible FROM visits").rows() == [
        ("https://a.example/", "chrome", True)
    ]
    assert lake.sql("SELECT count(*) FROM bookmarks").item() == 0
    with lake.read() as con:
        assert con.execute("SELECT clock_us FROM store.sources").fetchall() == [(1_000_000,)]
        assert migrations.version(con) == migrations.LATEST
