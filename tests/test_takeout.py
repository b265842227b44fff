"""Takeout's Chrome history. The fixtures are built from the exports' documented form: arrays named in English inside
files of any name, instants in microseconds, newest first."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from bookmark_files import DAMAGES, Damage, damaged, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain import importers
from brain.errors import EmptySource, SourceError
from brain.importers import my_activity, takeout
from brain.models import SOURCE_SCHEMAS, Batch, Rejected
from brain.services.import_files import import_files
from brain.workspace import Workspace

EPOCH_1601_US = 11_644_473_600_000_000
US = 1_700_000_000_123_457
VISIT = {
    "favicon_url": "https://a.example/i.ico",
    "page_transition": "LINK",
    "title": "Caf\u00e9 \u6e29\u6cc9",
    "url": "https://a.example/x?q=a%26b#c",
    "time_usec": US,
    "client_id": "dev\u2713",
    "ptoken": {},
}
EXPORT: dict[str, Any] = {
    "Browser History": [
        VISIT,
        {
            "page_transition_qualifier": "TYPED",
            "title": "",
            "url": "https://b.example/",
            "time_usec": US - 60_000_000,
        },
        {
            "page_transition": "RELOAD",
            "title": "Old",
            "url": "https://a.example/x?q=a%26b#c",
            "time_usec": US - 120_000_000,
        },
        {
            "page_transition": "AUTO_SUBFRAME",
            "title": "",
            "url": "https://ad.example/",
            "time_usec": US - 180_000_000,
        },
        {
            "page_transition_qualifier": "CLIENT_REDIRECT",
            "title": "R",
            "url": "https://r.example/",
            "time_usec": US - 1,
        },
    ],
    "Typed Url": [
        {
            "url": "https://b.example/",
            "title": "B",
            "hidden": False,
            "visits": [US - 60_000_000 + EPOCH_1601_US, US - 86_400_000_000 + EPOCH_1601_US],
            "visit_transitions": [1, 805306369],
        }
    ],
    "Session": [
        {"session_tag": "laptop", "header": {"window": []}},
        {
            "session_tag": "laptop",
            "tab": {
                "current_navigation_index": 1,
                "navigation": [
                    {"virtual_url": "https://back.example/", "title": "Back"},
                    {
                        "virtual_url": "https://open.example/",
                        "title": "Open",
                        "timestamp_msec": 1_700_000_000_000,
                    },
                ],
            },
        },
    ],
}


def read(
    path: Path, importer: Any = takeout
) -> tuple[dict[str, list[dict[str, Any]]], list[tuple[str, str]]]:
    """Rows by record, visits with the URL they name, and rejects; every batch keeps its schema and its promises."""
    rows: dict[str, list[dict[str, Any]]] = {"urls": [], "visits": [], "bookmarks": []}
    rejects = []
    known: dict[int, str] = {}
    for item in importer.read(path):
        if isinstance(item, Rejected):
            assert "\n" not in item.reason
            rejects.append((item.where, item.reason))
            continue
        assert isinstance(item, Batch)
        assert item.rows.schema == SOURCE_SCHEMAS[item.record]
        item.rows.validate(full=True)
        for row in item.rows.to_pylist():
            if item.record == "urls":
                assert row["url_ref"] not in known
                known[row["url_ref"]] = row["url"]
            if item.record == "visits":
                row["url"] = known[row["url_ref"]]
            rows[item.record].append(row)
    natives = [row["native_id"] for row in rows["visits"]]
    assert len(natives) == len(set(natives))
    return rows, rejects


@pytest.mark.parametrize("name", ["History.json", "BrowserHistory.json", "Verlauf.json", "x"])
def test_every_visit_is_read_exactly_whatever_the_file_is_called(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, json.dumps(EXPORT))
    assert importers.pick(path) is takeout
    rows, rejects = read(path)
    assert rejects == []
    assert [(v["url"], v["visited_us"], v["navigation"], v["is_visible"]) for v in rows["visits"]] == [
        ("https://a.example/x?q=a%26b#c", US, "link", True),
        ("https://b.example/", US - 60_000_000, "typed", True),
        ("https://a.example/x?q=a%26b#c", US - 120_000_000, "reload", True),
        ("https://ad.example/", US - 180_000_000, "subframe", False),
        ("https://r.example/", US - 1, "redirect", True),
        ("https://b.example/", US - 60_000_000, "typed", True),
        ("https://b.example/", US - 86_400_000_000, "typed", True),
    ]
    first = rows["visits"][0]
    assert (first["origin_device"], first["origin"], first["duration_us"]) == ("dev\u2713", None, None)
    assert [v["is_reload"] for v in rows["visits"]] == [False, False, True, False, False, False, False]
    titles = {row["url"]: row["title"] for row in rows["urls"][:4]}
    assert titles["https://a.example/x?q=a%26b#c"] == "Caf\u00e9 \u6e29\u6cc9"
    assert titles["https://b.example/"] == "B"  # the address bar knows it


def test_open_tabs_are_kept_as_tabs_and_never_as_visits(tmp_path: Path) -> None:
    rows, _ = read(written(tmp_path / "x", json.dumps({"Session": EXPORT["Session"]})))
    assert rows["visits"] == []
    (tab,) = rows["bookmarks"]
    assert (tab["url"], tab["title"], tab["folder"], tab["shelf"], tab["added_us"]) == (
        "https://open.example/",
        "Open",
        ["laptop"],
        "open_tabs",
        None,
    )
    assert tab["last_used_us"] == 1_700_000_000_000_000


def test_arrays_may_come_in_any_order_and_strangers_among_them_are_passed_over(tmp_path: Path) -> None:
    export = {
        "Typed Url": [],
        "Something": {"Browser History": [{"url": 1}]},
        **dict(reversed(EXPORT.items())),
    }
    rows, rejects = read(written(tmp_path / "x", json.dumps(export)))
    assert (len(rows["visits"]), rejects) == (7, [])


def test_a_bad_record_is_named_and_the_rest_is_taken(tmp_path: Path) -> None:
    bad: list[Any] = [
        {"title": "no url", "time_usec": US},
        {"url": "https://x.example/", "time_usec": "soon"},
        {"url": "https://x.example/", "time_usec": -5},
        {"url": "https://x.example/", "time_usec": 12.5},
        {"url": "https://x.example/", "time_usec": 10**30},
        {"url": ["x"], "time_usec": US},
        {"url": "https://x.example/"},
        "text",
        None,
        [],
    ]
    good = [
        {"url": "https://g.example/", "time_usec": str(US)},
        {"url": "https://h.example/", "time_usec": float(2**50)},
    ]
    rows, rejects = read(written(tmp_path / "x", json.dumps({"Browser History": [*bad, *good]})))
    assert [v["visited_us"] for v in rows["visits"]] == [US, 2**50]
    assert [where for where, _ in rejects] == [f"Browser History[{n}]" for n in range(len(bad))]
    assert rejects[1][1] == "time_usec soon is no plausible instant"


def test_a_record_that_is_no_json_takes_no_other_with_it(tmp_path: Path) -> None:
    texts = [json.dumps(VISIT | {"time_usec": US - n}) for n in range(4)]
    texts[1] = texts[1].replace('"LINK"', "LINK")
    texts[2] = texts[2].replace(str(US - 2), "9" * 6_000)
    rows, rejects = read(written(tmp_path / "x", f'{{"Browser History": [{", ".join(texts)}]}}'))
    assert [v["visited_us"] for v in rows["visits"]] == [US, US - 3]
    assert rejects == [
        ("Browser History[1]", "it is no object: no JSON: Expecting value"),
        ("Browser History[2]", "time_usec inf is no plausible instant"),
    ]


def test_the_transition_is_taken_by_either_key_and_a_redirect_only_where_nothing_else_is_said(
    tmp_path: Path,
) -> None:
    spelt: list[tuple[Any, Any, str]] = [
        ("LINK", None, "link"),
        (None, "KEYWORD_GENERATED", "keyword"),
        ("TYPED", "SERVER_REDIRECT", "typed"),
        ("CLIENT_REDIRECT", "FORM_SUBMIT", "form"),
        (None, "SERVER_REDIRECT", "redirect"),
        ("AUTO_BOOKMARK", "NEW_WORD", "bookmark"),
        ("AUTO_TOPLEVEL", ["x"], "start_page"),
        (5, {}, "other"),
        (None, None, "other"),
    ]
    entries = [
        {
            "url": "https://a.example/",
            "time_usec": US - n,
            "page_transition": a,
            "page_transition_qualifier": b,
        }
        for n, (a, b, _) in enumerate(spelt)
    ]
    rows, rejects = read(written(tmp_path / "x", json.dumps({"Browser History": entries})))
    assert rejects == []
    assert [v["navigation"] for v in rows["visits"]] == [word for _, _, word in spelt]
    assert [v["is_visible"] for v in rows["visits"]] == [word != "keyword" for _, _, word in spelt]
    assert not any(v["is_hop"] for v in rows["visits"])


def test_a_typed_url_without_visits_is_known_and_its_own_count_kept(tmp_path: Path) -> None:
    typed = [
        {"url": "https://t.example/", "title": "T", "visits": []},
        {"url": "https://u.example/", "title": "", "visits": [US + EPOCH_1601_US], "visit_transitions": [1]},
        {"url": "https://u.example/", "visits": [5, "x"]},
        {"title": "no url"},
    ]
    rows, rejects = read(written(tmp_path / "x", json.dumps({"Typed Url": typed})))
    assert [(u["url"], u["title"], u["typed_count"], u["last_visit_us"]) for u in rows["urls"]] == [
        ("https://u.example/", None, 1, US),
        ("https://t.example/", "T", None, None),
    ]
    assert [(v["url"], v["visited_us"]) for v in rows["visits"]] == [("https://u.example/", US)]
    assert [where for where, _ in rejects] == [
        *("Typed Url[2].visits[0]", "Typed Url[2].visits[1]", "Typed Url[3]")
    ]


def test_the_title_is_that_of_the_newest_visit_that_has_one(tmp_path: Path) -> None:
    told = [("", 5), ("Newest", 4), ("Older", 3), ("Oldest", 1), ("", 2)]
    entries = [{"url": "https://a.example/", "title": t, "time_usec": US + n} for t, n in told]
    rows, _ = read(written(tmp_path / "x", json.dumps({"Browser History": entries})))
    assert [(u["title"], u["last_visit_us"]) for u in rows["urls"]] == [("Newest", US + 5)]


def test_the_history_is_found_behind_a_large_array_of_another_name(tmp_path: Path) -> None:
    others = [{"n": n, "text": '\u6e29"]} , Browser History' * 9} for n in range(3_000)]
    export = {"Device Information": others, **EXPORT}
    path = written(tmp_path / "x", json.dumps(export, ensure_ascii=False, indent=1))
    assert path.stat().st_size > 500_000
    assert importers.pick(path) is takeout
    assert len(read(path)[0]["visits"]) == 7
    deeper = {"version": 1, "windows": [{"Browser History": [VISIT]}], "Session": []}
    assert not takeout.detect(written(tmp_path / "y", json.dumps(deeper)))


def test_what_stands_before_the_damage_is_taken_whatever_its_name(tmp_path: Path) -> None:
    data = json.dumps({"Typed Url": EXPORT["Typed Url"], "Browser History": EXPORT["Browser History"]})
    rows, rejects = read(written(tmp_path / "x", data[: data.index("RELOAD")]))
    assert [v["url"] for v in rows["visits"]] == [
        *["https://b.example/"] * 2,
        "https://a.example/x?q=a%26b#c",
        "https://b.example/",
    ]
    assert rejects == [
        ("Browser History", "the rest cannot be read, 5 records came before: it ends too early")
    ]


@pytest.mark.parametrize("part", [0.2, 0.5, 0.9, 0.999])
def test_a_file_cut_off_keeps_what_came_before(tmp_path: Path, part: float) -> None:
    entries = [
        {"url": f"https://a.example/{n}", "time_usec": US - n, "title": "\u6e29" * 9} for n in range(50)
    ]
    data = json.dumps({"Browser History": entries}, ensure_ascii=False).encode()
    rows, rejects = read(written(tmp_path / "x", data[: int(len(data) * part)]))
    assert rows["visits"] == read(written(tmp_path / "y", data))[0]["visits"][: len(rows["visits"])]
    assert len(rows["visits"]) >= int(50 * part) - 1
    assert len(rejects) == 1
    assert "the rest cannot be read" in rejects[0][1]


@pytest.mark.parametrize(
    "text", ['{"Browser History": []}', '{"Session": []}', '{"Browser History": [], "Typed Url": []}']
)
def test_an_export_without_visits_is_empty(tmp_path: Path, text: str) -> None:
    with pytest.raises(EmptySource):
        read(written(tmp_path / "x", text))


@pytest.mark.parametrize(
    "text",
    [
        '{"windows": []}',
        "[]",
        "{",
        '{"roots": {"Browser History": 1}}',
        '"Browser History"',
        '{"Session": 1}',
        "",
    ],
)
def test_other_json_is_not_taken_for_a_history(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "x", text)
    if takeout.detect(path):
        with pytest.raises(SourceError):
            read(path)


def test_a_byte_order_mark_and_bytes_that_are_no_utf8_do_no_harm(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + json.dumps(EXPORT, ensure_ascii=False).encode().replace(b"Old", b"O\xffd")
    rows, rejects = read(written(tmp_path / "x", data))
    assert (len(rows["visits"]), rejects) == (7, [])
    lone = json.dumps({"Browser History": [VISIT | {"title": "x"}]}).replace('"x"', '"a\\ud800b"')
    rows, _ = read(written(tmp_path / "y", lone))
    assert rows["urls"][0]["title"] in ("a?b", "a\ufffdb", "ab")


def test_parts_of_an_export_with_one_path_and_overlapping_visits_give_each_visit_once(
    workspace: Workspace, tmp_path: Path
) -> None:
    entries = [{"url": f"https://a.example/{n}", "time_usec": US - n * 10_000_000} for n in range(30)]
    for part, held in enumerate((entries[:20], entries[10:], entries[:20]), 1):
        with zipfile.ZipFile(tmp_path / f"takeout-20261130T000000Z-00{part}.zip", "w") as archive:
            archive.writestr("Takeout/Chrome/History.json", json.dumps({"Browser History": held}))
    outcomes = import_files(workspace, [tmp_path]).imports
    assert [(o.status, o.seen, o.new) for o in outcomes[:2]] == [("imported", 20, 20), ("imported", 20, 10)]
    assert [o.status for o in outcomes[2:]] == ["unchanged"]
    assert workspace.lake.sql("SELECT count(*), count(DISTINCT id) FROM visits").row(0) == (30, 30)


def test_two_exports_that_overlap_give_each_visit_once(workspace: Workspace, tmp_path: Path) -> None:
    entries = [
        {"url": f"https://a.example/{n}", "time_usec": US - n * 10_000_000, "title": "T"} for n in range(30)
    ]
    for name, part in (("one", entries[:20]), ("two", entries[10:])):
        path = tmp_path / name / "Takeout" / "Chrome" / "History.json"
        path.parent.mkdir(parents=True)
        written(path, json.dumps({"Browser History": part}))
    first, second = import_files(workspace, [tmp_path / "one", tmp_path / "two"]).imports
    assert (first.new, second.seen, second.new) == (20, 20, 10)
    assert workspace.lake.sql("SELECT count(*) FROM visits").item() == 30
    assert (first.source, first.browser) == ("takeout", "chrome")


def takes_anything(path: Path, content: bytes, importer: Any = takeout) -> None:
    path.write_bytes(content)
    assert importer.detect(path) in (True, False)
    assert "\n" not in refusal(path, importer)


def refusal(path: Path, importer: Any) -> str:
    """Why the importer refuses the file; '' when it does not."""
    try:
        read(path, importer)
    except SourceError as error:
        return str(error)
    return ""


FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(DAMAGES)
def test_damage_gives_records_rejects_or_one_line(tmp_path: Path, damage: Damage) -> None:
    takes_anything(tmp_path / "x", damaged(json.dumps(EXPORT).encode(), damage))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "url",
                    "title",
                    "time_usec",
                    "visits",
                    "tab",
                    "navigation",
                    "virtual_url",
                    "titleUrl",
                    "time",
                    "header",
                    "page_transition",
                    "page_transition_qualifier",
                    "client_id",
                    "visit_transitions",
                    "current_navigation_index",
                    "timestamp_msec",
                    "session_tag",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=14,
)


@FUZZ
@given(st.lists(JSON, max_size=4), st.lists(JSON, max_size=4), st.lists(JSON, max_size=4))
def test_any_json_in_place_of_records_does_no_harm(
    tmp_path: Path, a: list[Any], b: list[Any], c: list[Any]
) -> None:
    takes_anything(tmp_path / "x", json.dumps({"Browser History": a, "Typed Url": b, "Session": c}).encode())
    activities = json.dumps([{"header": "Chrome", "time": 1}, *a]).encode()
    takes_anything(tmp_path / "y", activities, my_activity)


@pytest.mark.parametrize(
    "text", ["[" * 5_000, '{"Browser History": ' + "[" * 5_000, '{"Browser History": [' + '{"a":' * 5_000]
)
def test_deep_nesting_ends_in_one_line(tmp_path: Path, text: str) -> None:
    takes_anything(tmp_path / "x", text.encode())
