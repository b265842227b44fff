"""The bookmark files of Chromium's browsers and of Safari, built from their documented keys, and damage to them."""

import json
import plistlib
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from bookmark_files import DAMAGES, Damage, damaged, read, row, takes_anything, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain import importers
from brain.errors import EmptySource, SourceError
from brain.importers import _whole_file, chrome_bookmarks, safari_bookmarks
from brain.models import Rejected

ADDED_1601 = "13300000000000000"
ADDED_US = 1_655_526_400_000_000  # 2022-06-18T04:26:40Z

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "children",
                    "type",
                    "url",
                    "name",
                    "roots",
                    "meta_info",
                    "date_added",
                    "guid",
                    "other",
                    "windows",
                    "1",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


def url(name: object, address: object, **more: object) -> dict[str, Any]:
    return {
        "type": "url",
        "id": "9",
        "guid": "g",
        "name": name,
        "url": address,
        "date_added": ADDED_1601,
    } | more


def folder(name: object, *children: object, **more: object) -> dict[str, Any]:
    return {"type": "folder", "id": "1", "name": name, "children": list(children), "date_added": "0"} | more


def chrome(path: Path, more: dict[str, Any] | None = None, **roots: object) -> Path:
    tree = {"checksum": "00ff", "roots": roots, "version": 1} if more is None else {"roots": roots} | more
    return written(path, json.dumps(tree, indent=3))


class TestChromium:
    def test_all_roots_exactly(self, tmp_path: Path) -> None:
        path = chrome(
            tmp_path / "Bookmarks.bak",
            bookmark_bar=folder(
                "Bookmarks bar",
                url(
                    "A",
                    "https://a.example/?q=a%26b&c",
                    guid="0001",
                    date_last_used="13300000000000001",
                    meta_info={"power_bookmark_meta": "x"},
                ),
                folder("a/b", folder("", url("", "https://b.example/", guid="0002"))),
            ),
            other=folder("", url("C", "https://c.example/", date_added="0", date_last_used="0", guid=None)),
            sync_transaction_version="7",
            synced=folder("Mobile bookmarks", url("D", "javascript:void(0)", guid="0004")),
        )
        assert importers.pick(path) is chrome_bookmarks
        assert read(path) == (
            [
                row(
                    "https://a.example/?q=a%26b&c",
                    native_id="0001",
                    title="A",
                    folder=["Bookmarks bar"],
                    added_us=ADDED_US,
                    last_used_us=ADDED_US + 1,
                ),
                row(
                    "https://b.example/",
                    native_id="0002",
                    folder=["Bookmarks bar", "a/b", ""],
                    added_us=ADDED_US,
                ),
                row("https://c.example/", title="C", folder=["Other bookmarks"]),
                row(
                    "javascript:void(0)",
                    native_id="0004",
                    title="D",
                    folder=["Mobile bookmarks"],
                    added_us=ADDED_US,
                ),
            ],
            [],
        )

    @pytest.mark.parametrize("more", [{}, {"version": 1}, {"checksum": "wrong", "sync_metadata": "AAAA"}])
    def test_checksum_and_version_may_be_missing_or_wrong(self, more: dict[str, Any], tmp_path: Path) -> None:
        path = chrome(tmp_path / "b", more, bookmark_bar=folder("Bar", url("A", "https://a.example/")))
        assert importers.pick(path) is chrome_bookmarks
        assert [r["folder"] for r in read(path)[0]] == [["Bar"]]

    def test_vivaldis_description_is_the_note_and_its_trash_is_left_out(self, tmp_path: Path) -> None:
        path = chrome(
            tmp_path / "b",
            bookmark_bar=folder(
                "Bookmarks", url("A", "https://a.example/", meta_info={"Description": "why", "Nickname": "n"})
            ),
            other=folder("Other"),
            trash=folder("Trash", url("gone", "https://gone.example/")),
        )
        assert [(r["title"], r["note"]) for r in read(path)[0]] == [("A", "why")]

    def test_operas_own_folders_are_walked(self, tmp_path: Path) -> None:
        path = chrome(
            tmp_path / "b",
            custom_root={
                "speedDial": folder("Speed Dial", url("A", "https://a.example/")),
                "trash": folder("Trash", url("gone", "https://gone.example/")),
                "unsorted": folder("", url("B", "https://b.example/")),
            },
        )
        assert importers.pick(path) is chrome_bookmarks
        assert [(r["title"], r["folder"]) for r in read(path)[0]] == [
            ("A", ["Speed Dial"]),
            ("B", ["unsorted"]),
        ]

    @pytest.mark.parametrize(
        ("given", "instant", "raw"),
        [
            (ADDED_1601, ADDED_US, None),
            (int(ADDED_1601), ADDED_US, None),
            ("0", None, None),
            (0, None, None),
            ("", None, None),
            ("-5", None, None),
            (None, None, None),
            (True, None, None),
            ({}, None, None),
            ("12", None, "12"),
            ("soon", None, "soon"),
            ("9" * 40, None, "9" * 40),
        ],
    )
    def test_dates(self, given: object, instant: int | None, raw: str | None, tmp_path: Path) -> None:
        path = chrome(tmp_path / "b", other=folder("", url("A", "https://a.example/", date_added=given)))
        [bookmark], _ = read(path)
        assert (bookmark["added_us"], bookmark["added_raw"]) == (instant, raw)

    def test_one_bad_node_is_named_and_the_rest_taken(self, tmp_path: Path) -> None:
        path = chrome(
            tmp_path / "b",
            bookmark_bar=folder(
                "Bar", url("A", "nowhere"), 7, url("B", 5), url("C\ud800", "https://c.example/")
            ),
        )
        rows, rejects = read(path)
        assert [(r["title"], r["url"]) for r in rows] == [("C\ufffd", "https://c.example/")]
        assert rejects == [
            ("roots.bookmark_bar[0]", "'nowhere' is no address"),
            ("roots.bookmark_bar[1]", "it is neither a bookmark nor a folder"),
            ("roots.bookmark_bar[2]", "it has no address"),
        ]

    def test_sixty_levels(self, tmp_path: Path) -> None:
        node = url("A", "https://a.example/")
        for level in reversed(range(60)):
            node = folder(str(level), node)
        [bookmark], _ = read(chrome(tmp_path / "b", other=node))
        assert bookmark["folder"] == [str(level) for level in range(60)]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ('{"roots": {"other": ' + '{"children": [' * 50_000, "nests too deeply"),
            ('{"roots": {"other": {"children": [', "no whole JSON"),
            ('{"roots": []}', "no roots"),
            ("[]", "no roots"),
            ('{"roots": {"other": 1' + "0" * 5_000 + "}}", "no whole JSON"),
        ],
    )
    def test_files_that_are_none_are_refused_in_one_line(
        self, content: str, message: str, tmp_path: Path
    ) -> None:
        with pytest.raises(SourceError, match=message):
            list(chrome_bookmarks.read(written(tmp_path / "b", content)))

    def test_a_profile_without_bookmarks_is_empty(self, tmp_path: Path) -> None:
        path = chrome(tmp_path / "b", bookmark_bar=folder("Bar"), other=folder("Other"))
        with pytest.raises(EmptySource, match="b holds no links"):
            read(path)

    def test_a_huge_file_is_refused_unread(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = chrome(tmp_path / "b", other=folder("", url("A", "https://a.example/")))
        monkeypatch.setattr(_whole_file, "LARGEST", path.stat().st_size - 1)
        with pytest.raises(SourceError, match="more than the"):
            read(path)

    @pytest.mark.parametrize(
        "text",
        [
            '{"roots": {"a": {}}}',
            '{"bookmark_bar": {}, "other": {}}',
            '[{"roots": {"other": {}}}]',
            "{}",
            "",
            "roots",
        ],
    )
    def test_other_json_is_not_taken(self, text: str, tmp_path: Path) -> None:
        assert not chrome_bookmarks.detect(written(tmp_path / "Bookmarks", text))

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(damage=DAMAGES, tree=JSON)
    def test_damage_and_any_tree_never_surprise(self, damage: Damage, tree: object, tmp_path: Path) -> None:
        path = chrome(
            tmp_path / "b", bookmark_bar=folder("Bar", url("A", "https://a.example/")), other=folder("O")
        )
        takes_anything(chrome_bookmarks, path, damaged(path.read_bytes(), damage))
        takes_anything(chrome_bookmarks, path, json.dumps({"roots": {"other": tree, "x": tree}}).encode())


def leaf(address: object, title: object, uuid: str = "U", **more: object) -> dict[str, Any]:
    return {
        "WebBookmarkType": "WebBookmarkTypeLeaf",
        "URLString": address,
        "WebBookmarkUUID": uuid,
        "URIDictionary": {"title": title},
    } | more


def listing(title: str, *children: object) -> dict[str, Any]:
    return {"WebBookmarkType": "WebBookmarkTypeList", "Title": title, "Children": list(children)}


HISTORY = {"WebBookmarkType": "WebBookmarkTypeProxy", "WebBookmarkIdentifier": "History", "Title": "History"}
SAFARI = listing(
    "",
    HISTORY,
    listing(
        "BookmarksBar",
        leaf("https://a.example/", "A", "U-1"),
        listing("In/side", leaf("https://b.example/", "")),
    ),
    listing("BookmarksMenu"),
    listing(
        "com.apple.ReadingList",
        leaf(
            "https://c.example/",
            "C",
            "U-3",
            ReadingList={
                "DateAdded": datetime(2026, 2, 1, 10, 0, 7),
                "DateLastViewed": datetime(2026, 2, 2),
                "PreviewText": "A preview",
            },
            ReadingListNonSync={"Title": "Fetched", "neverFetchMetadata": False},
        ),
        {"URLString": "https://d.example/", "ReadingListNonSync": {"Title": "Fetched", "PreviewText": "p"}},
    ),
    leaf("https://e.example/", "E", "U-5"),
    listing("My folder", leaf("https://f.example/", "F", "U-6")),
) | {"WebBookmarkFileVersion": 1}


class TestSafari:
    @pytest.mark.parametrize("form", [plistlib.FMT_BINARY, plistlib.FMT_XML])
    def test_bookmarks_and_reading_list_exactly(self, form: plistlib.PlistFormat, tmp_path: Path) -> None:
        path = written(tmp_path / "Bookmarks.plist", plistlib.dumps(SAFARI, fmt=form))
        assert importers.pick(path) is safari_bookmarks
        assert read(path) == (
            [
                row("https://a.example/", native_id="U-1", title="A", folder=["Favorites"]),
                row("https://b.example/", native_id="U", folder=["Favorites", "In/side"]),
                row(
                    "https://c.example/",
                    native_id="U-3",
                    title="C",
                    note="A preview",
                    added_us=1_769_940_007_000_000,
                    last_used_us=1_769_990_400_000_000,
                    shelf="reading_list",
                ),
                row("https://d.example/", title="Fetched", note="p", shelf="reading_list"),
                row("https://e.example/", native_id="U-5", title="E"),
                row("https://f.example/", native_id="U-6", title="F", folder=["My folder"]),
            ],
            [],
        )

    def test_odd_nodes_are_named(self, tmp_path: Path) -> None:
        tree = listing(
            "", leaf("nowhere", "A"), 5, leaf("https://b.example/", 7, ReadingList={"DateAdded": 5})
        )
        rows, rejects = read(written(tmp_path / "b", plistlib.dumps(tree)), safari_bookmarks)
        assert [(r["title"], r["added_us"], r["shelf"]) for r in rows] == [(None, None, "reading_list")]
        assert rejects == [
            ("Children[0]", "'nowhere' is no address"),
            ("Children[1]", "it is neither a bookmark nor a folder"),
        ]

    def test_a_list_within_itself_ends(self, tmp_path: Path) -> None:
        content = plistlib.dumps(listing("", listing("X" * 9, HISTORY)), fmt=plistlib.FMT_BINARY)
        reasons: set[str] = set()
        for at in range(8, len(content)):  # a reference to object 0 is one to the root
            path = written(tmp_path / "b", content[:at] + b"\x00" + content[at + 1 :])
            with suppress(SourceError):
                for item in safari_bookmarks.read(path):
                    assert isinstance(item, Rejected)
                    reasons.add(item.reason)
        assert "it stands in another place too" in reasons

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"bplist00", "no whole property list"),
            (plistlib.dumps({"WebBookmarkType": "x"}), "no Children"),
            (plistlib.dumps(SAFARI)[:500], "no whole property list"),
            (plistlib.dumps([]), "no Children"),
            (b"<plist>" + b"<array>" * 5_000 + b"</array>" * 5_000 + b"</plist>", "no Children"),
        ],
    )
    def test_files_that_are_none_are_refused(self, content: bytes, message: str, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match=message):
            list(safari_bookmarks.read(written(tmp_path / "b", content)))

    def test_other_property_lists_are_not_taken(self, tmp_path: Path) -> None:
        for form in (plistlib.FMT_BINARY, plistlib.FMT_XML):
            path = written(tmp_path / "b", plistlib.dumps({"Children": [], "Title": "Bookmarks"}, fmt=form))
            assert not safari_bookmarks.detect(path)
        assert not safari_bookmarks.detect(written(tmp_path / "b", "<p>WebBookmarkType Children</p>"))

    @settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(damage=DAMAGES, form=st.sampled_from([plistlib.FMT_BINARY, plistlib.FMT_XML]))
    def test_damage_never_surprises(self, damage: Damage, form: plistlib.PlistFormat, tmp_path: Path) -> None:
        content = damaged(plistlib.dumps(SAFARI, fmt=form), damage)
        takes_anything(safari_bookmarks, tmp_path / "b", content)
