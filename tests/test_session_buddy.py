"""Session Buddy's JSON: exports of versions 4 and 3, built from the keys that they are known to have."""

import json
from pathlib import Path
from typing import Any

import pytest
from bookmark_files import DAMAGES, Damage, damaged, read, refusal, row, takes_anything, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain import importers
from brain.errors import EmptySource, SourceError
from brain.importers import _json_stream, session_buddy


def link(native: str, url: object, title: object) -> dict[str, Any]:
    return {"id": native, "url": url, "title": title, "favIconUrl": "https://a.example/favicon.ico"}


def tab(native: int, url: object, title: object, **more: object) -> dict[str, Any]:
    return {"url": url, "title": title, "id": native, "index": 0, "pinned": False} | more


def collections(*kept: object) -> dict[str, Any]:
    return {"format": "nxs.json.v1", "created": "2024-02-03T04:05:06.789Z", "collections": list(kept)}


TRIP = {
    "id": "c-1",
    "title": "Trip / plans",
    "created": 1_706_933_106_789,
    "updated": 1_706_933_999_000,
    "folders": [
        {
            "id": "f-1",
            "title": "Window 1",
            "links": [
                link("l-1", "https://a.example/?q=%26", "Größe"),
                link("l-2", "chrome://settings/", ""),
            ],
        },
        {"id": "f-2", "title": "", "links": [link("l-3", "https://b.example/", "B")]},
    ],
}
V4 = collections(TRIP, {"folders": [{"links": [{"url": "file:///home/me/x.pdf"}]}]})
V3 = {
    "sessions": [
        {
            "type": "saved",
            "name": "Trip",
            "generated": "2019-05-06T07:08:09.010Z",
            "gid": "g-1",
            "windows": [
                {
                    "tabs": [
                        tab(12, "https://a.example/", "A"),
                        tab(13, "https://p.example/", "", incognito=True),
                    ]
                },
                {"incognito": True, "tabs": [tab(14, "https://q.example/", "Q")]},
            ],
        },
        {
            "type": "previous",
            "generated": "2019-05-05T00:00:00.000Z",
            "gid": "g-2",
            "windows": [{"tabs": [tab(12, "https://b.example/", "B")]}],
        },
        {
            "type": "current",
            "name": "",
            "generated": "2019-05-07T00:00:00.000Z",
            "gid": "g-3",
            "windows": [{"tabs": [tab(12, "https://c.example/", "C")]}],
        },
    ]
}


def a_session_buddy(path: Path, version: int) -> Path:
    return written(path, json.dumps(V4 if version == 4 else V3))


@pytest.mark.parametrize("indent", [None, 2])
def test_collections_exactly(indent: int | None, tmp_path: Path) -> None:
    path = written(tmp_path / "x.json", json.dumps(V4, indent=indent))
    assert importers.pick(path) is session_buddy
    saved = {"added_us": 1_706_933_106_789_000, "shelf": "saved_tabs"}
    window = {"folder": ["Trip / plans", "Window 1"], **saved}
    assert read(path) == (
        [
            row("https://a.example/?q=%26", title="Größe", native_id="c-1/l-1", **window),
            row("chrome://settings/", native_id="c-1/l-2", **window),
            row("https://b.example/", title="B", native_id="c-1/l-3", folder=["Trip / plans"], **saved),
            row("file:///home/me/x.pdf", shelf="saved_tabs"),
        ],
        [],
    )


@pytest.mark.parametrize("before", [{}, {"generated": "2019-05-07T00:00:00.000Z", "count": 3}])
def test_sessions_exactly(before: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path / "x.json", json.dumps(before | V3))
    assert importers.pick(path) is session_buddy
    assert read(path) == (
        [
            row(
                "https://a.example/",
                title="A",
                native_id="g-1/12",
                folder=["Trip"],
                added_us=1_557_126_489_010_000,
                shelf="saved_tabs",
            ),
            row(
                "https://b.example/",
                title="B",
                native_id="g-2/12",
                added_us=1_557_014_400_000_000,
                shelf="saved_tabs",
            ),
            row("https://c.example/", title="C", native_id="g-3/12", shelf="open_tabs"),
        ],
        [
            ("session 1, window 1, tab 2", "it was in a private window"),
            ("session 1, window 2, tab 1", "it was in a private window"),
        ],
    )


@pytest.mark.parametrize(
    ("date", "raw"),
    [(None, None), (0, None), (-5, None), (True, None), ({}, None), ("soon", "soon"), (7e30, "7e+30")],
)
def test_a_date_that_is_none_is_unknown(date: object, raw: str | None, tmp_path: Path) -> None:
    path = written(tmp_path / "x", json.dumps(collections(TRIP | {"created": date})))
    assert {(r["added_us"], r["added_raw"]) for r in read(path)[0]} == {(None, raw)}


def test_odd_parts_are_named_and_the_rest_taken(tmp_path: Path) -> None:
    odd = collections(
        7,
        {"title": "x"},
        {
            "title": 5,
            "folders": [3, {"links": {}}, {"links": [5, link("l", "here", "X"), {"title": "no address"}]}],
        },
        TRIP,
    )
    rows, rejects = read(written(tmp_path / "x", json.dumps(odd)))
    assert [r["native_id"] for r in rows] == ["c-1/l-1", "c-1/l-2", "c-1/l-3"]
    assert rejects == [
        ("collection 1", "it is no object: 7"),
        ("collection 2", "it has no folders"),
        ("collection 3, folder 1", "it has no links"),
        ("collection 3, folder 2", "it has no links"),
        ("collection 3, folder 3, link 1", "it is no link"),
        ("collection 3, folder 3, link 2", "'here' is no address"),
        ("collection 3, folder 3, link 3", "it has no address"),
    ]


def test_a_collection_that_is_no_json_takes_no_other_with_it(tmp_path: Path) -> None:
    text = json.dumps(collections(TRIP, {"folders": "?"}, TRIP)).replace('"?"', "?")
    rows, rejects = read(written(tmp_path / "x", text))
    assert len(rows) == 6
    assert [where for where, _ in rejects] == ["collection 2"]


def test_a_file_cut_off_keeps_the_collections_before(tmp_path: Path) -> None:
    text = json.dumps(collections(TRIP, TRIP))
    rows, rejects = read(written(tmp_path / "x", text[:-40]))
    assert len(rows) == 3
    assert rejects == [("collections", "the rest cannot be read: it ends too early")]
    assert (
        refusal(written(tmp_path / "x", text[:200]), session_buddy) == "x is no whole JSON: it ends too early"
    )


def test_a_collection_larger_than_any_gives_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_json_stream, "_LARGEST", 1_000_000)
    huge = TRIP | {"title": "x" * 3_000_000}
    path = written(tmp_path / "x", json.dumps(collections(huge)))
    assert refusal(path, session_buddy) == "x is no whole JSON: one value has more than 1,000,000 characters"


def test_no_tab_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(EmptySource):
        read(written(tmp_path / "x", json.dumps(collections())))
    with pytest.raises(SourceError, match="none of the 1 links"):
        read(written(tmp_path / "x", json.dumps(collections(7))))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"sessions": []}',
        '{"sessions": [{"name": "a"}]}',
        '{"sessions": [{"type": "saved", "tabs": []}]}',
        '{"sessions": [{"type": "chat", "windows": []}]}',
        '{"format": "nxs.json.v2", "collections": []}',
        '{"collections": [{"title": "a", "folders": []}]}',
        '{"inner": {"format": "nxs.json.v1"}}',
        '[{"format": "nxs.json.v1"}]',
    ],
)
def test_other_json_is_not_taken(text: str, tmp_path: Path) -> None:
    assert not session_buddy.detect(written(tmp_path / "session_buddy.json", text))


FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
KEYS = [
    "folders",
    "links",
    "windows",
    "tabs",
    "url",
    "title",
    "name",
    "created",
    "generated",
    "type",
    "id",
    "gid",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=15,
)


@FUZZ
@given(DAMAGES)
def test_damage_gives_records_rejects_or_one_line(tmp_path: Path, damage: Damage) -> None:
    for known in (V4, V3):
        takes_anything(session_buddy, tmp_path / "x", damaged(json.dumps(known).encode(), damage))


@FUZZ
@given(JSON, JSON, JSON)
def test_any_json_in_place_of_records_does_no_harm(tmp_path: Path, a: object, b: object, c: object) -> None:
    for value in ({"links": [a]}, {"tabs": [a]}):
        inner = {"folders": [value, b], "windows": [value, b]}
        for whole in (collections(inner, c), {"sessions": [inner, c]}, {"collections": a, "sessions": b}):
            takes_anything(session_buddy, tmp_path / "x", json.dumps(whole).encode())


@pytest.mark.parametrize(
    "text", ["[" * 5_000, '{"sessions": ' + "[" * 5_000, '{"collections": [' + '{"a":' * 5_000]
)
def test_deep_nesting_ends_in_one_line(text: str, tmp_path: Path) -> None:
    takes_anything(session_buddy, tmp_path / "x", text.encode())
