"""Firefox's bookmarks: a database and a backup that Firefox 153 wrote, and odd and old ones built from its tables."""

import gzip
import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from bookmark_files import DAMAGES, Damage, Row, damaged, row, takes_anything, written
from bookmark_files import read as read_bookmarks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain import importers
from brain.errors import SourceError
from brain.importers import firefox, firefox_backup
from brain.importers._bookmark_rows import DEEPEST_FOLDER
from brain.models import Batch, Rejected

DATA = Path(__file__).parent / "data"
SOURDOUGH = "https://bread.example/sourdough?a=1&b=caf%C3%A9#start"
# What was bookmarked in Firefox 153. A query, a separator, three tags and a keyword were there too.
REAL: list[Row] = [
    row(
        SOURDOUGH,
        native_id="sourdough001",
        title="Sourdough — the long version",
        folder=["Bookmarks menu", "Recipes / bread"],
        tags=["baking", "naïve", "weekend"],
        added_us=1_767_323_100_000_000,
        modified_us=1_769_904_000_123_000,
    ),
    row(
        "https://bread.example/rye",
        native_id="ryeloaf00001",
        folder=["Bookmarks menu", "Recipes / bread", "Rye"],
        added_us=1_772_600_767_089_000,
        modified_us=1_772_600_767_089_000,
    ),
    row(
        "javascript:alert('hi')",
        native_id="bookmarklet1",
        title="Say hi",
        folder=["Bookmarks toolbar"],
        added_us=1_796_095_050_782_000,
        modified_us=1_796_095_050_782_000,
    ),
    row(
        SOURDOUGH,
        native_id="sourdough002",
        title="Again",
        folder=["Bookmarks toolbar"],
        tags=["baking", "naïve", "weekend"],
        added_us=1_777_593_600_000_000,
        modified_us=1_777_593_600_000_000,
    ),
    row(
        "about:robots",
        native_id="aboutpage001",
        title="Robots",
        folder=["Other bookmarks"],
        added_us=1_780_272_000_000_000,
        modified_us=1_780_272_000_000_000,
    ),
    row(
        "https://phone.example/",
        native_id="mobilemark01",
        title="電話 ☎",
        folder=["Mobile bookmarks"],
        tags=["weekend"],
        added_us=1_782_864_000_000_000,
        modified_us=1_782_864_000_000_000,
    ),
]

TABLES = """
CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR);
CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER, visit_date INTEGER,
    visit_type INTEGER, session INTEGER);
CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, type INTEGER, fk INTEGER DEFAULT NULL, parent INTEGER,
    position INTEGER, title LONGVARCHAR, keyword_id INTEGER, folder_type TEXT, dateAdded INTEGER, lastModified INTEGER,
    guid TEXT);
INSERT INTO moz_places VALUES (1, 'https://a.example/', NULL), (2, 'https://b.example/', NULL);
INSERT INTO moz_historyvisits VALUES (1, 0, 1, 1600000000000000, 1, 0);
INSERT INTO moz_bookmarks (id, type, parent, title, guid) VALUES (1, 2, 0, '', 'root________'),
    (2, 2, 1, 'menu', 'menu________'), (4, 2, 1, 'tags', 'tags________');
"""


def read(path: Path) -> tuple[list[Row], list[Rejected], int]:
    """Bookmarks, rejects and the number of visits."""
    items = list(firefox.read(path))
    batches = [item for item in items if isinstance(item, Batch)]
    kept = [r for b in batches if b.record == "bookmarks" for r in b.rows.to_pylist()]
    return (
        kept,
        [item for item in items if isinstance(item, Rejected)],
        sum(b.rows.num_rows for b in batches if b.record == "visits"),
    )


def make(path: Path, *statements: str) -> Path:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as con:
        con.executescript(TABLES)
        for statement in statements:
            con.execute(statement)
        con.commit()
    return path


def mark(native: int, parent: object, *, place: object = 1, kind: int = 1, title: str = "x") -> str:
    return (
        "INSERT INTO moz_bookmarks (id, type, fk, parent, title, guid)"
        f" VALUES ({native}, {kind}, {place}, {parent}, '{title}', 'g{native}')"
    )


class TestRealFiles:
    def test_a_profiles_bookmarks_are_exact_and_queries_tags_and_separators_are_none(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "places.sqlite"
        path.write_bytes(gzip.decompress((DATA / "firefox-153-bookmarks.sqlite.gz").read_bytes()))
        assert importers.pick(path) is firefox
        assert read(path) == (REAL, [], 0)

    def test_the_backup_of_the_same_profile_says_the_same(self) -> None:
        path = DATA / "firefox-153-bookmarks.jsonlz4"
        assert importers.pick(path) is firefox_backup
        assert read_bookmarks(path) == (REAL, [])


class TestTrees:
    def test_no_entry_of_the_tags_root_is_a_bookmark_however_deep(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "p",
            mark(5, 4),
            mark(6, 4, kind=2, place="NULL", title="outer"),
            mark(7, 6, kind=2, place="NULL", title="inner"),
            mark(8, 7),
            mark(9, 6),
            mark(10, 6),
            mark(11, 2),
        )
        kept, rejects, visits = read(path)
        assert [(r["native_id"], r["tags"]) for r in kept] == [("g11", ["inner", "outer"])]
        assert (rejects, visits) == ([], 1)

    def test_circles_and_missing_parents_end_the_path(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "p",
            mark(20, 21, kind=2, place="NULL", title="a"),
            mark(21, 20, kind=2, place="NULL", title="b"),
            mark(22, 22, kind=2, place="NULL", title="self"),
            mark(30, 20),
            mark(31, 777),
            mark(32, "NULL"),
            mark(33, 22),
            mark(34, 30),
        )
        kept, rejects, _ = read(path)
        assert {r["native_id"]: r["folder"] for r in kept} == {
            "g30": ["b", "a"],
            "g31": [],
            "g32": [],
            "g33": ["self"],
            "g34": [],
        }
        assert rejects == []

    def test_folders_of_any_depth_keep_the_names_nearest_to_the_bookmark(self, tmp_path: Path) -> None:
        deep = [mark(100 + n, 99 + n if n else 2, kind=2, place="NULL", title=f"d{n}") for n in range(3_000)]
        (kept,), rejects, _ = read(make(tmp_path / "p", *deep, mark(9_000, 3_099)))
        assert kept["folder"] == [f"d{n}" for n in range(3_000 - DEEPEST_FOLDER, 3_000)]
        assert rejects == []

    def test_a_bookmark_of_nothing_is_named_and_the_rest_is_taken(self, tmp_path: Path) -> None:
        kept, rejects, _ = read(
            make(tmp_path / "p", mark(5, 2, place=404), mark(6, 2, place="NULL"), mark(7, 2))
        )
        assert [r["native_id"] for r in kept] == ["g7"]
        assert [(r.where, r.reason) for r in rejects] == [
            ("moz_bookmarks.id=5", "its URL 404 is not in the file"),
            ("moz_bookmarks.id=6", "fk is missing"),
        ]

    def test_bookmarks_that_cannot_be_read_leave_the_history_whole(self, tmp_path: Path) -> None:
        path = make(tmp_path / "p", *(mark(n, 2) for n in range(10, 400)))
        with closing(sqlite3.connect(path)) as con:
            (page,) = con.execute(
                "SELECT rootpage FROM sqlite_master WHERE name = 'moz_bookmarks'"
            ).fetchone()
        content = bytearray(path.read_bytes())
        content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
        path.write_bytes(content)
        kept, rejects, visits = read(path)
        assert (kept, visits) == ([], 1)
        assert [r.where for r in rejects] == ["moz_bookmarks"]

    def test_roots_of_old_files_are_told_by_their_own_table(self, tmp_path: Path) -> None:
        path = make(
            tmp_path / "p",
            "CREATE TABLE moz_bookmarks_roots (root_name VARCHAR(16) UNIQUE, folder_id INTEGER)",
            "INSERT INTO moz_bookmarks_roots VALUES ('places', 1), ('menu', 2), ('toolbar', 9), ('tags', 4)",
            "UPDATE moz_bookmarks SET guid = NULL",
            "UPDATE moz_bookmarks SET title = 'Lesezeichen-Menü' WHERE id = 2",
            mark(5, 4, kind=2, place="NULL", title="tag"),
            mark(6, 5),
            mark(7, 2),
        )
        kept, _, _ = read(path)
        assert [(r["native_id"], r["folder"], r["tags"]) for r in kept] == [
            ("g7", ["Bookmarks menu"], ["tag"])
        ]

    @pytest.mark.parametrize(
        "scheme",
        [
            "http",
            "https",
            "ftp",
            "file",
            "about",
            "data",
            "javascript",
            "moz-extension",
            "chrome",
            "view-source",
        ],
    )
    def test_any_address_a_person_kept_is_kept(self, scheme: str, tmp_path: Path) -> None:
        url = f"{scheme}:something"
        path = make(tmp_path / "p", f"UPDATE moz_places SET url = '{url}' WHERE id = 1", mark(5, 2))
        assert [r["url"] for r in read(path)[0]] == [url]


def old_backup() -> dict[str, Any]:
    """The form of Firefox 3 to 28: no guids, no type codes, tags as folders."""

    def folder(title: str, root: str | None, *children: dict[str, Any]) -> dict[str, Any]:
        known = {"title": title, "id": 1, "type": "text/x-moz-place-container", "children": list(children)}
        return known | ({"root": root} if root else {})

    def page(uri: str) -> dict[str, Any]:
        return {"title": uri[8:9], "dateAdded": 1_300_000_000_123_456, "type": "text/x-moz-place", "uri": uri}

    return folder(
        "",
        "placesRoot",
        folder(
            "Bookmarks Menu",
            "bookmarksMenuFolder",
            folder("In", None, page("https://a.example/")),
            {"type": "text/x-moz-place-separator"},
            page("place:folder=3"),
        ),
        folder(
            "Tags",
            "tagsFolder",
            folder("red", None, page("https://a.example/")),
            folder("blue", None, page("https://a.example/"), page("https://gone.example/")),
        ),
        folder("Unsorted Bookmarks", "unfiledBookmarksFolder", page("https://b.example/")),
    )


def test_backups_of_old_versions_have_their_tags_from_folders(tmp_path: Path) -> None:
    path = written(tmp_path / "bookmarks-2011-03-13.json", json.dumps(old_backup()))
    assert importers.pick(path) is firefox_backup
    rows, rejects = read_bookmarks(path)
    assert [(r["url"], r["folder"], r["tags"], r["added_us"]) for r in rows] == [
        ("https://a.example/", ["Bookmarks menu", "In"], ["blue", "red"], 1_300_000_000_123_456),
        ("https://b.example/", ["Other bookmarks"], [], 1_300_000_000_123_456),
    ]
    assert rejects == []


def test_a_backup_of_deep_folders_is_walked_or_refused_in_one_line(tmp_path: Path) -> None:
    start, end = '{"guid":"r","typeCode":2,"title":"x","children":[', "]}"
    for depth in (400, 100_000):
        text = start * depth + '{"guid":"b","typeCode":1,"uri":"https://a.example/"}' + end * depth
        path = written(tmp_path / f"{depth}.json", text)
        if depth == 400:
            ((kept,), _) = read_bookmarks(path, firefox_backup)
            assert len(kept["folder"]) == DEEPEST_FOLDER
        else:
            with pytest.raises(SourceError, match="nests too deeply"):
                read_bookmarks(path, firefox_backup)


FUZZ = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(DAMAGES)
def test_damaged_backups_give_bookmarks_rejects_or_one_line(tmp_path: Path, damage: Damage) -> None:
    real = (DATA / "firefox-153-bookmarks.jsonlz4").read_bytes()
    takes_anything(firefox_backup, tmp_path / "l", damaged(real, damage))
    takes_anything(firefox_backup, tmp_path / "j", damaged(json.dumps(old_backup()).encode(), damage))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["children", "uri", "title", "tags", "root", "guid", "dateAdded", "lastModified"]
            ),
            inner | st.sampled_from(["tagsFolder", "https://a.example/"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@FUZZ
@given(JSON)
def test_nodes_of_any_shape_do_no_harm(tmp_path: Path, tree: Any) -> None:
    takes_anything(firefox_backup, tmp_path / "j", json.dumps(tree).encode("utf-8", "surrogatepass"))


@FUZZ
@given(
    st.lists(
        st.tuples(st.sampled_from([1, 2, 3, None]), st.integers(0, 3), st.integers(0, 12)),
        min_size=1,
        max_size=12,
    )
)
def test_trees_of_any_shape_end(tmp_path: Path, nodes: list[tuple[int | None, int, int]]) -> None:
    path = make(tmp_path / "p")
    with closing(sqlite3.connect(path)) as con:
        for number, (kind, place, parent) in enumerate(nodes, 5):
            con.execute(
                "INSERT INTO moz_bookmarks (id, type, fk, parent) VALUES (?, ?, ?, ?)",
                (number, kind, place or None, parent),
            )
        con.commit()
    with suppress(SourceError):
        kept, rejects, visits = read(path)
        assert visits == 1
        assert len(kept) + len(rejects) <= len(nodes) + 1  # and that none at all could be taken
