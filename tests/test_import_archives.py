"""Importing archives and folders: an entry per source in them, nothing twice, faults told once, nothing left behind."""

import os
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from histories import Visit, chromium

from brain.services import import_log
from brain.services.import_files import ImportOptions, ImportOutcome, import_files
from brain.workspace import Workspace

DATA = Path(__file__).parent / "data"
HTML = (
    "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n"
    '<DT><A HREF="https://a.example/{0}" ADD_DATE="1700000000">A {0}</A>\n</DL><p>\n'
)


def taken(ws: Workspace, *paths: Path, **options: Any) -> list[ImportOutcome]:
    return import_files(ws, paths, ImportOptions(**options)).imports


def rows(ws: Workspace, query: str) -> list[tuple[Any, ...]]:
    return list(ws.lake.sql(query).rows())


def zipped(path: Path, members: dict[str, bytes | str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def history(folder: Path, name: str = "a") -> bytes:
    visit = Visit("2026-11-01T10:00:00Z", f"https://{name}.example/", name)
    return chromium(folder / "made" / "History", [visit]).read_bytes()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return zipped(
        tmp_path / "old disk.zip",
        {
            "home/.config/google-chrome/Default/History": history(tmp_path),
            "home/photo.jpg": b"\xff\xd8\xff",
            "home/notes.txt": "nothing of the kind",
            "home/Lesezeichen ü.html": HTML.format(1),
        },
    )


MEMBERS = ["home/.config/google-chrome/Default/History", "home/Lesezeichen ü.html"]


class TestArchives:
    def test_every_source_in_it_is_an_entry_of_its_own(self, workspace: Workspace, archive: Path) -> None:
        first, second = taken(workspace, archive)
        assert [first.path, second.path] == [f"{archive}/{name}" for name in MEMBERS]
        assert (first.status, first.browser, first.profile, first.seen, first.visible) == (
            "imported",
            "chrome",
            "Default",
            1,
            1,
        )
        assert (second.status, second.source, second.seen, second.new) == ("imported", "bookmarks", 1, 1)
        assert [r["path"] for r in import_log.list_imports(workspace)] == [first.path, second.path]
        assert list(workspace.home.cache.glob("import-*")) == []

    def test_a_tar_gz_is_read_with_the_logs_of_its_databases(
        self, workspace: Workspace, tmp_path: Path
    ) -> None:
        with tarfile.open(tmp_path / "takeout.tgz", "w:gz") as tar:
            for suffix in ("-wal", ""):
                tar.add(DATA / f"firefox-153-live-places.sqlite{suffix}", f"p/places.sqlite{suffix}")
        (outcome,) = taken(workspace, tmp_path / "takeout.tgz")
        assert (outcome.status, outcome.seen, outcome.visible) == ("imported", 21, 20)
        direct = taken(workspace, DATA / "firefox-153-live-places.sqlite")
        assert [(o.status, o.id, o.sha256) for o in direct] == [("unchanged", outcome.id, outcome.sha256)]

    def test_one_that_nobody_wrote_since_is_not_even_read(self, workspace: Workspace, archive: Path) -> None:
        first = taken(workspace, archive)
        lake = workspace.home.lake.read_bytes()
        status = archive.stat()
        with archive.open("r+b") as file:  # as no one could, without leaving a trace
            file.write(b"PK\x03\x04" + bytes(status.st_size - 4))
        os.utime(archive, ns=(status.st_atime_ns, status.st_mtime_ns))
        again = taken(workspace, archive)
        assert {(o.path, o.status, o.id, o.sha256, o.seen) for o in again} == {
            (o.path, "unchanged", o.id, o.sha256, o.seen) for o in first
        }
        assert workspace.home.lake.read_bytes() == lake

    def test_members_known_by_their_content_are_unchanged(
        self, workspace: Workspace, archive: Path, tmp_path: Path
    ) -> None:
        first = taken(workspace, archive)
        os.utime(archive, (1, 1))
        other = shutil.copy(archive, tmp_path / "again.zip")
        for path in (archive, Path(other)):
            assert [(o.status, o.id) for o in taken(workspace, path)] == [
                ("unchanged", outcome.id) for outcome in first
            ]
        assert rows(workspace, "SELECT count(*) FROM visits") == [(1,)]

    def test_what_a_killed_import_left_undone_is_done_by_the_next(
        self, workspace: Workspace, archive: Path
    ) -> None:
        first, second = taken(workspace, archive)
        with workspace.lake.write(what="test") as con:
            con.execute("DELETE FROM store.imports WHERE import_id = ?", [int(second.id or 0)])
        assert [(o.status, o.id == first.id) for o in taken(workspace, archive)] == [
            ("unchanged", True),
            ("imported", False),
        ]
        assert [o.status for o in taken(workspace, archive)] == ["unchanged", "unchanged"]

    def test_the_same_archive_as_of_another_profile_is_read_again(
        self, workspace: Workspace, archive: Path
    ) -> None:
        taken(workspace, archive)
        assert [o.status for o in taken(workspace, archive, browser="brave", profile="B")] == ["imported"] * 2

    def test_a_dry_run_counts_and_keeps_nothing(self, workspace: Workspace, archive: Path) -> None:
        assert [(o.status, o.id, o.new) for o in taken(workspace, archive, dry_run=True)] == [
            ("imported", None, 1),
            ("imported", None, 1),
        ]
        assert import_log.list_imports(workspace) == []
        assert list(workspace.home.cache.glob("import-*")) == []

    @pytest.mark.parametrize(
        ("members", "says"),
        [
            ({"photo.jpg": b"x", "list.json": b"[1]"}, "a.zip: it holds nothing that can be imported"),
            ({}, "a.zip: it holds nothing that can be imported"),
            (
                {"takeout-001.zip": b"PK\x03\x04 and so on"},
                "a.zip: it holds nothing that can be imported;"
                " archives within archives are not looked into, so unpack it first",
            ),
        ],
    )
    def test_one_without_any_source_says_so_in_one_line(
        self, workspace: Workspace, tmp_path: Path, members: dict[str, bytes | str], says: str
    ) -> None:
        path = zipped(tmp_path / "a.zip", members)
        (outcome,) = taken(workspace, path)
        assert (outcome.path, outcome.status, outcome.error) == (str(path), "failed", says)
        (record,) = import_log.list_imports(workspace)
        assert (record["id"], record["path"], record["error"]) == (outcome.id, str(path), says)

    def test_members_that_cannot_be_had_are_named_and_the_others_taken(
        self, workspace: Workspace, tmp_path: Path
    ) -> None:
        names = {f"../{n}.html": HTML.format(n) for n in range(5)}
        path = zipped(tmp_path / "a.zip", {"good.html": HTML.format(9), **names})
        for _ in range(2):  # known or not, the fault is still there
            good, own = taken(workspace, path)
        assert good.status == "unchanged"
        assert (own.path, own.status, own.rejected) == (str(path), "partial", 5)
        assert own.error == (
            "a.zip: left out: ../0.html, ../1.html, ../2.html and 2 more (its name leads out of the archive)"
        )
        assert own.id
        rejects = import_log.show_import(workspace, own.id).rejects
        assert [r["where"] for r in rejects] == list(names)

    def test_of_a_broken_download_what_is_whole_is_taken(self, workspace: Workspace, archive: Path) -> None:
        content = archive.read_bytes()
        archive.write_bytes(content[: content.index(b"PK\x01\x02") - 20])
        first, own, after = taken(workspace, archive, DATA / "chromium-156-History")
        assert (first.path, first.status) == (f"{archive}/{MEMBERS[0]}", "imported")
        assert own.status == "partial"
        assert str(own.error).startswith("old disk.zip: it is damaged or cut off at home/Lesezeichen ü.html")
        assert after.status == "imported"

    def test_a_member_that_fails_is_told_under_its_name(self, workspace: Workspace, tmp_path: Path) -> None:
        broken = bytearray(history(tmp_path))
        broken[100:4096] = os.urandom(3996)
        path = zipped(tmp_path / "a.zip", {"x/History": bytes(broken), "b.html": HTML.format(1)})
        bad, good = taken(workspace, path)
        assert (bad.path, bad.status, good.status) == (f"{path}/x/History", "failed", "imported")
        assert str(bad.error).startswith("History ")
        assert "import-" not in str(bad.error)


class TestFolders:
    def test_a_profile_folder_gives_each_of_its_sources_once(
        self, workspace: Workspace, tmp_path: Path
    ) -> None:
        profile = tmp_path / "google-chrome" / "Default"
        profile.mkdir(parents=True)
        (profile / "History").write_bytes(history(tmp_path))
        bookmarks = (
            '{"roots": {"bookmark_bar": {"type": "folder", "name": "B", "children": [%s]}}, "version": 1}'
        )
        node = (
            '{"type": "url", "name": "%s", "url": "https://%s.example/", "date_added": "13340000000000000"}'
        )
        (profile / "Bookmarks").write_text(bookmarks % (node % ("now", "now")))
        (profile / "Bookmarks.bak").write_text(bookmarks % (node % ("then", "then")))
        (profile / "Preferences").write_text('{"browser": {}}')
        found = taken(workspace, tmp_path / "google-chrome", profile, profile / "Bookmarks")
        assert [(Path(o.path).name, o.browser, o.profile, o.status) for o in found] == [
            ("Bookmarks", "chrome", "Default", "imported"),
            ("History", "chrome", "Default", "imported"),
        ]
        assert [o.status for o in taken(workspace, profile / "Bookmarks.bak")] == ["imported"]

    def test_archives_in_a_folder_are_taken_too(self, workspace: Workspace, tmp_path: Path) -> None:
        folder = tmp_path / "downloads"
        folder.mkdir()
        for part in (1, 2):
            zipped(
                folder / f"takeout-20261101T000000Z-00{part}.zip",
                {f"Takeout/Chrome/{part}.html": HTML.format(part), "Takeout/same.html": HTML.format("x")},
            )
        zipped(folder / "program.zip", {"program.exe": b"MZ"})
        assert [(o.path[len(str(folder)) + 1 :], o.status) for o in taken(workspace, folder)] == [
            ("takeout-20261101T000000Z-001.zip/Takeout/Chrome/1.html", "imported"),
            ("takeout-20261101T000000Z-001.zip/Takeout/same.html", "imported"),
            ("takeout-20261101T000000Z-002.zip/Takeout/Chrome/2.html", "imported"),
            ("takeout-20261101T000000Z-002.zip/Takeout/same.html", "unchanged"),
        ]

    def test_a_folder_of_archives_without_sources_says_so_once(
        self, workspace: Workspace, tmp_path: Path
    ) -> None:
        folder = tmp_path / "downloads"
        folder.mkdir()
        for name in ("a.zip", "b.zip"):
            zipped(folder / name, {"program.exe": b"MZ"})
        (outcome,) = taken(workspace, folder)
        assert (outcome.status, outcome.error) == (
            "failed",
            f"{folder} is a folder, and nothing in it can be imported",
        )


class TestRefusals:
    def test_a_huge_file_of_no_kind_is_refused_before_it_is_copied(
        self, workspace: Workspace, tmp_path: Path
    ) -> None:
        with (tmp_path / "huge.bin").open("wb") as file:
            file.truncate(1 << 40)  # more than there is room for
        (outcome,) = taken(workspace, tmp_path / "huge.bin")
        assert outcome.status == "failed"
        assert str(outcome.error).startswith("huge.bin is of no known kind")

    def test_a_path_that_does_not_exist_is_no_event_in_the_log(
        self, workspace: Workspace, home: Path, tmp_path: Path, archive: Path
    ) -> None:
        (outcome,) = taken(workspace, tmp_path / "absent")
        assert (outcome.id, outcome.status) == (None, "failed")
        assert not home.exists()
        assert [o.status for o in taken(workspace, tmp_path / "absent", archive)] == [
            "failed",
            "imported",
            "imported",
        ]
        assert len(import_log.list_imports(workspace)) == 2

    def test_the_command_says_so_on_stderr(self, brain: Any, home: Path, tmp_path: Path) -> None:
        ran = brain("import", tmp_path / "absent")
        assert (ran.code, ran.out, ran.err.strip()) == (1, "", f"error: {tmp_path}/absent does not exist")
        both = brain("import", tmp_path / "absent", tmp_path / "b", "--json")
        assert (both.code, both.out) == (1, "")
        assert "do not exist" in both.err
        assert not home.exists()


def test_a_dry_run_is_told_in_its_own_words(brain: Any, home: Path, archive: Path) -> None:
    lines = brain("import", archive, "--dry-run").out.splitlines()
    assert [line.startswith("would import") for line in lines[:2]] == [True, True]
    told = brain("import", archive, "--dry-run", "--json").json["imports"]
    assert [(entry["status"], entry["id"]) for entry in told] == [("imported", None)] * 2


def test_an_archives_own_fault_is_told_with_the_way_to_its_rejects(
    brain: Any, home: Path, tmp_path: Path
) -> None:
    zipped(tmp_path / "a.zip", {"../x.html": HTML.format(1), "good.html": HTML.format(2)})
    ran = brain("import", tmp_path / "a.zip", "--no-index")
    assert ran.code == 3
    assert "left out: ../x.html (its name leads out of the archive) (brain imports 2)" in " ".join(
        ran.out.split()
    )
    assert "../x.html" in brain("imports", "2").out
