"""`--honour-deletes`: what the browser's owner deleted goes here too, and nothing else ever does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from histories import Visit, chromium, us
from test_bookmark_records import AGAIN, BREAD, UNDATED, chrome

from brain.services.find import search
from brain.services.import_files import ImportOptions, ImportOutcome, import_files
from brain.services.index_documents import index_documents
from brain.workspace import Workspace

OLD = Visit("2026-01-05T10:00:00+00:00", "https://old.example/", "Old")
SECRET = Visit("2026-10-05T10:00:00+00:00", "https://secret.example/", "Secret gift")
LATE = Visit("2026-11-05T10:00:00+00:00", "https://late.example/", "Late")
HERE = {"browser": "chrome", "profile": "Default"}


def one(ws: Workspace, path: Path, **options: Any) -> ImportOutcome:
    (outcome,) = import_files(ws, [path], ImportOptions(**options)).imports
    return outcome


def urls(ws: Workspace) -> list[str]:
    return ws.lake.sql("SELECT url FROM visits ORDER BY visited_at")["url"].to_list()


def test_by_default_nothing_is_ever_removed(workspace: Workspace, tmp_path: Path) -> None:
    one(workspace, chromium(tmp_path / "History", [OLD, SECRET, LATE]), **HERE)
    one(workspace, chromium(tmp_path / "History", [LATE]), **HERE)
    assert urls(workspace) == [OLD.url, SECRET.url, LATE.url]


def test_a_young_visit_that_is_gone_goes_and_an_expired_one_stays(
    workspace: Workspace, tmp_path: Path
) -> None:
    one(workspace, chromium(tmp_path / "History", [OLD, SECRET, LATE]), **HERE)
    index_documents(workspace, embed=False)
    assert search(workspace, "secret gift", mode="keyword").results
    outcome = one(workspace, chromium(tmp_path / "History", [LATE]), honour_deletes=True, **HERE)
    assert outcome.counts["removed"] == 1
    assert urls(workspace) == [OLD.url, LATE.url]
    assert workspace.lake.sql("SELECT count(*) FROM observations").item() == 2
    index_documents(workspace, embed=False)
    assert search(workspace, "secret gift", mode="keyword").results == []
    assert workspace.lake.sql("SELECT count(*) FROM documents").item() == 2


def test_a_dry_run_says_how_many_would_go(workspace: Workspace, tmp_path: Path) -> None:
    one(workspace, chromium(tmp_path / "History", [OLD, SECRET, LATE]), **HERE)
    file = chromium(tmp_path / "History", [LATE])
    assert one(workspace, file, honour_deletes=True, dry_run=True, **HERE).counts["would_remove"] == 1
    assert urls(workspace) == [OLD.url, SECRET.url, LATE.url]
    assert one(workspace, file, honour_deletes=True, dry_run=True, **HERE).new == 0


def test_asking_after_the_file_was_imported_already_works_too(workspace: Workspace, tmp_path: Path) -> None:
    one(workspace, chromium(tmp_path / "History", [SECRET, LATE]), **HERE)
    file = chromium(tmp_path / "History", [LATE])
    one(workspace, file, **HERE)
    assert one(workspace, file, honour_deletes=True, **HERE).counts["removed"] == 1
    assert "removed" not in one(workspace, file, honour_deletes=True, **HERE).counts


def test_an_old_copy_does_not_bring_it_back_but_another_source_does(
    workspace: Workspace, tmp_path: Path
) -> None:
    old_copy = chromium(tmp_path / "copy" / "History", [OLD, SECRET, LATE])
    one(workspace, old_copy, **HERE)
    one(workspace, chromium(tmp_path / "History", [LATE]), honour_deletes=True, **HERE)
    outcome = one(workspace, chromium(old_copy, [SECRET, OLD, LATE]), **HERE)
    assert outcome.new == 0
    assert urls(workspace) == [OLD.url, LATE.url]
    one(workspace, chromium(tmp_path / "phone" / "History", [SECRET]), browser="chrome", profile="Phone")
    assert urls(workspace) == [OLD.url, SECRET.url, LATE.url]


def test_what_another_source_saw_too_stays(workspace: Workspace, tmp_path: Path) -> None:
    one(workspace, chromium(tmp_path / "History", [SECRET, LATE]), **HERE)
    near = Visit("2026-10-05T10:00:00.400000+00:00", SECRET.url, SECRET.title)
    one(workspace, chromium(tmp_path / "phone" / "History", [near]), browser="chrome", profile="Phone")
    outcome = one(workspace, chromium(tmp_path / "History", [LATE]), honour_deletes=True, **HERE)
    assert "removed" not in outcome.counts
    assert SECRET.url in urls(workspace)


def test_another_profile_or_a_file_of_another_time_removes_nothing(
    workspace: Workspace, tmp_path: Path
) -> None:
    one(workspace, chromium(tmp_path / "History", [SECRET, LATE]), **HERE)
    one(
        workspace,
        chromium(tmp_path / "b" / "History", [LATE]),
        honour_deletes=True,
        browser="chrome",
        profile="Other",
    )
    one(workspace, chromium(tmp_path / "c" / "History", [OLD]), honour_deletes=True, **HERE)
    assert {SECRET.url, LATE.url} <= set(urls(workspace))


def test_a_file_not_read_as_a_whole_removes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    one(workspace, chromium(tmp_path / "History", [SECRET, LATE]), **HERE)
    absurd = Visit("1980-01-01T00:00:00+00:00", "https://x.example/", "x")
    outcome = one(workspace, chromium(tmp_path / "History", [absurd, LATE]), honour_deletes=True, **HERE)
    assert (outcome.status, outcome.rejected) == ("partial", 1)
    assert (
        outcome.error
        == "nothing was removed: only a file read as a whole tells what its source no longer has"
    )
    since = one(
        workspace, chromium(tmp_path / "History", [LATE]), honour_deletes=True, since_us=us(LATE.at), **HERE
    )
    assert since.error == outcome.error
    assert SECRET.url in urls(workspace)


def test_bookmarks_that_are_gone_go_with_their_document(workspace: Workspace, tmp_path: Path) -> None:
    file = chrome(tmp_path / "Bookmarks", BREAD, AGAIN, UNDATED)
    one(workspace, file)
    index_documents(workspace, embed=False)
    chrome(file, BREAD)
    assert "removed" not in one(workspace, file).counts
    assert one(workspace, file, honour_deletes=True).counts["removed"] == 2
    index_documents(workspace, embed=False)
    assert workspace.lake.sql("SELECT title FROM documents").rows() == [("Bread",)]


def test_the_command_takes_the_option(
    workspace: Workspace, tmp_path: Path, brain: Callable[..., Any]
) -> None:
    one(workspace, chromium(tmp_path / "History", [SECRET, LATE]), **HERE)
    file = chromium(tmp_path / "History", [LATE])
    ran = brain(
        "--home", workspace.home.root, "import", file, "--browser", "chrome", "--profile", "Default",
        "--honour-deletes", "--no-index", "--json",
    )  # fmt: skip
    assert (ran.code, ran.json["imports"][0]["counts"]["removed"]) == (0, 1)
