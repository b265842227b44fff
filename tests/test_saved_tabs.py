"""Lists of saved tabs: OneTab's text and Tab Session Manager's JSON, built from their documented forms."""

import json
from pathlib import Path
from typing import Any

import pytest
from bookmark_files import DAMAGES, Damage, damaged, read, row, takes_anything, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain import importers
from brain.errors import EmptySource, SourceError
from brain.importers import onetab, tab_session_manager

ONETAB = (
    "https://a.example/?x=1|2 | A | with a bar\nhttps://b.example/\n\n"
    "file:///home/me/x.pdf | Größe\nchrome://settings | Settings\n"
)


class TestOneTab:
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_tabs_exactly(self, encoding: str, end: str, tmp_path: Path) -> None:
        path = written(tmp_path / "tabs.txt", ONETAB.replace("\n", end).encode(encoding))
        assert importers.pick(path) is onetab
        assert read(path) == (
            [
                row("https://a.example/?x=1|2", title="A | with a bar", shelf="saved_tabs"),
                row("https://b.example/", shelf="saved_tabs"),
                row("file:///home/me/x.pdf", title="Größe", shelf="saved_tabs"),
                row("chrome://settings", title="Settings", shelf="saved_tabs"),
            ],
            [],
        )

    def test_a_group_more_on_top_changes_no_other_tab(self, tmp_path: Path) -> None:
        before, _ = read(written(tmp_path / "a", ONETAB))
        after, _ = read(written(tmp_path / "b", f"https://new.example/ | New\n\n{ONETAB}"))
        assert after[1:] == before

    def test_a_line_without_address_is_named(self, tmp_path: Path) -> None:
        rows, rejects = read(written(tmp_path / "a", f"{ONETAB}\nonly a title\n"), onetab)
        assert len(rows) == 4
        assert rejects == [("line 7", "'only a title' is no address")]

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "\n\n",
            "https://a.example/\nhttps://b.example/\n",  # any list of addresses
            "Shopping | list\nhttps://a.example/ | A\n",
            "See https://a.example/ | A\n",
            "name | value\nx | y\n",
            "https://a.example/ A | B\n",
            "# | a | table |\n|---|---|\n",
            '{"a": "https://a.example/ | A"}',
            "https://a.example/ | A\x00\n",
        ],
    )
    def test_other_texts_are_not_taken(self, text: str, tmp_path: Path) -> None:
        assert not onetab.detect(written(tmp_path / "onetab.txt", text))

    def test_a_long_list_is_known_by_its_beginning(self, tmp_path: Path) -> None:
        lines = "".join(f"https://a.example/{n} | Page {n} {'é' * (n % 7)}\n" for n in range(5_000))
        path = written(tmp_path / "a", lines)
        assert importers.pick(path) is onetab
        assert len(read(path)[0]) == 5_000

    def test_blank_lines_are_no_tabs(self, tmp_path: Path) -> None:
        with pytest.raises(EmptySource):
            read(written(tmp_path / "a", "\n \n"), onetab)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(damage=DAMAGES, text=st.text(max_size=80))
    def test_damage_and_any_text_never_surprise(self, damage: Damage, text: str, tmp_path: Path) -> None:
        takes_anything(onetab, tmp_path / "a", damaged(ONETAB.encode(), damage))
        takes_anything(onetab, tmp_path / "a", text.encode("utf-8", "surrogatepass"))


def tab(index: object, url: object, title: object, **more: object) -> dict[str, Any]:
    return {"id": 7, "index": index, "url": url, "title": title, "incognito": False, "pinned": False} | more


def session(windows: object, **more: object) -> dict[str, Any]:
    known = {
        "windows": windows,
        "windowsNumber": 1,
        "windowsInfo": {},
        "tabsNumber": 2,
        "name": "Trip / plans",
        "date": 1_790_000_000_123,
        "tag": ["travel", "regular"],
        "sessionStartTime": 1_789_999_000_000,
        "id": "0b1e",
    }
    return known | more


SESSIONS = [
    session(
        {
            "12": {
                "31": tab(1, "https://b.example/", "B", lastAccessed=1_789_999_999_000.5),
                "30": tab(0, "https://a.example/?q=%26", "A"),
            },
            "13": {"40": tab(0, "https://p.example/", "P", incognito=True)},
        }
    ),
    session(
        {"1": {"2": tab(0, "about:config", "")}}, date="2026-09-21T14:13:20.123Z", tag="old", name="", id=5
    ),
]


class TestTabSessionManager:
    @pytest.mark.parametrize("indent", [None, 2])
    def test_sessions_exactly(self, indent: int | None, tmp_path: Path) -> None:
        path = written(tmp_path / "s.json", json.dumps(SESSIONS, indent=indent))
        assert importers.pick(path) is tab_session_manager
        saved = {"folder": ["Trip / plans"], "tags": ["travel"], "shelf": "saved_tabs"}
        assert read(path) == (
            [
                row(
                    "https://a.example/?q=%26",
                    title="A",
                    native_id="0b1e/30",
                    added_us=1_790_000_000_123_000,
                    **saved,
                ),
                row(
                    "https://b.example/",
                    title="B",
                    native_id="0b1e/31",
                    added_us=1_790_000_000_123_000,
                    last_used_us=1_789_999_999_000_500,
                    **saved,
                ),
                row("about:config", tags=["old"], added_us=1_790_000_000_123_000, shelf="saved_tabs"),
            ],
            [("session 1, window 13, tab 40", "it was in a private window")],
        )

    @pytest.mark.parametrize("date", [None, 0, -5, True, {}, "", float("1e300")])
    def test_a_date_that_is_none_is_unknown(self, date: object, tmp_path: Path) -> None:
        path = written(
            tmp_path / "s", json.dumps([session({"1": {"2": tab(0, "https://a.example/", "A")}}, date=date)])
        )
        [saved], _ = read(path)
        assert (saved["added_us"], saved["added_raw"]) == (None, None)

    def test_odd_parts_are_named_and_the_rest_taken(self, tmp_path: Path) -> None:
        odd = [
            7,
            session([]),
            session(
                {"1": [], "2": {"3": 5, "4": tab("x", "here", "X"), "5": tab(None, "https://a.example/", 5)}}
            ),
        ]
        rows, rejects = read(written(tmp_path / "s", json.dumps(odd)), tab_session_manager)
        assert [(r["url"], r["title"]) for r in rows] == [("https://a.example/", None)]
        assert rejects == [
            ("session 1", "it has no windows"),
            ("session 2", "it has no windows"),
            ("session 3, window 1", "it has no tabs"),
            ("session 3, window 2, tab 3", "it is no tab"),
            ("session 3, window 2, tab 4", "'here' is no address"),
        ]

    def test_no_sessions_is_no_success(self, tmp_path: Path) -> None:
        with pytest.raises(EmptySource):
            read(written(tmp_path / "s", "[]"), tab_session_manager)
        with pytest.raises(SourceError, match="no list"):
            read(written(tmp_path / "s", "{}"), tab_session_manager)

    @pytest.mark.parametrize(
        "text",
        [
            "[]",
            "{}",
            '[{"windows": []}]',
            '[{"windows": {"a": {}}}]',
            '{"windows": {"1": {"2": {}}}}',
            '[{"tabs": {}}]',
        ],
    )
    def test_other_json_is_not_taken(self, text: str, tmp_path: Path) -> None:
        assert not tab_session_manager.detect(written(tmp_path / "s.json", text))

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        damage=DAMAGES,
        value=st.recursive(
            st.none() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["windows", "1", "2", "url", "index", "date", "tag", "id"]),
                    inner,
                    max_size=5,
                )
            ),
            max_leaves=15,
        ),
    )
    def test_damage_and_any_value_never_surprise(self, damage: Damage, value: object, tmp_path: Path) -> None:
        takes_anything(tab_session_manager, tmp_path / "s", damaged(json.dumps(SESSIONS).encode(), damage))
        takes_anything(
            tab_session_manager,
            tmp_path / "s",
            json.dumps([{"windows": {"1": {"2": value}}}, value]).encode(),
        )
