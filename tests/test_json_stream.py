"""Large JSON, some records at a time: what is given is what the whole file holds, and no bytes do harm."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from bookmark_files import DAMAGES, Damage, damaged, written
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from brain.importers import _json_stream as stream

FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXTS = st.text(alphabet='ab"\\{}[],: \n\u00e9\u6e29\U0001f600', max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**22), 10**22) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
RECORDS = st.lists(st.dictionaries(TEXTS, VALUES, max_size=3) | VALUES, max_size=8)
LAYOUTS = st.sampled_from([{}, {"indent": 1}, {"ensure_ascii": False}, {"separators": (",", ":")}])


def given_of(path: Path, key: str | None = None) -> tuple[list[Any], str]:
    """All values, and what cut them off, if anything did."""
    values: list[Any] = []
    try:
        if key is None:
            values.extend(stream.items(path))
        else:
            for _, run in stream.members(path, {key}):
                values += run
    except stream.CutOff as error:
        return values, str(error).replace("\n", "MORE THAN A LINE")
    return values, ""


@FUZZ
@given(RECORDS, LAYOUTS, st.integers(1, 40))
@example([{"a": {}}, {"b": [{}]}, 12, "x", {"a": '},{"'}], {}, 5)
def test_every_value_is_given_as_it_is_however_the_file_is_read(
    tmp_path: Path, records: list[Any], layout: dict[str, Any], piece: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "_PIECE", piece)
        path = written(tmp_path / "list", json.dumps(records, **layout))
        assert given_of(path) == (records, "")
        whole = {"a": records, "other": {"b": records}, "b": records, "c": {"item": records}, "d": 1}
        path = written(tmp_path / "object", b"\xef\xbb\xbf" + json.dumps(whole, **layout).encode())
        assert given_of(path, "b") == (records, "")
        assert given_of(path, "d") == given_of(path, "e") == given_of(path, "c") == ([], "")
        assert (stream.holds(path, {"b"}), stream.holds(path, {"c", "d", "item"})) == (True, False)


@FUZZ
@given(RECORDS, st.floats(0, 1))
def test_of_a_file_cut_off_anywhere_what_came_before_is_given(
    tmp_path: Path, records: list[Any], part: float
) -> None:
    data = json.dumps({"b": records}).encode()
    cut = int(part * (len(data) - 1))
    values, reason = given_of(written(tmp_path / "x", data[:cut]), "b")
    assert values == records[: len(values)]
    assert bool(reason) == (cut > 0)


@FUZZ
@given(DAMAGES, st.integers(1, 64))
def test_damage_ends_in_values_or_one_line(tmp_path: Path, damage: Damage, piece: int) -> None:
    records = [{"url": f"https://a.example/{n}", "more": [{"x": "\u6e29{"}], "n": n} for n in range(20)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "_PIECE", piece)
        for whole in (records, {"b": records}):
            path = written(tmp_path / "x", damaged(json.dumps(whole, ensure_ascii=False).encode(), damage))
            assert "MORE" not in given_of(path)[1] + given_of(path, "b")[1]
            assert stream.holds(path, {"b"}) in (True, False)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (b'{"n": tru}', "no JSON: Expecting value"),
        (b'{"n" 5}', "no JSON: Expecting ':' delimiter"),
        (b'{"n": "\\x"}', "no JSON: Invalid \\escape"),
        (b"[1, }", "no JSON: Expecting value"),
        (b"[" * 300 + b"]" * 300, "it nests too deeply"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "it nests too deeply"),
    ],
)
def test_one_value_that_is_no_json_takes_no_other_with_it(tmp_path: Path, bad: bytes, told: str) -> None:
    path = written(tmp_path / "x", b'[{"n": 1}, ' + bad + b', {"n": 2}]')
    assert given_of(path) == ([{"n": 1}, told, {"n": 2}], "")


def test_numbers_of_any_size_are_numbers(tmp_path: Path) -> None:
    numbers = [b"9" * 6_000, b"-" + b"9" * 6_000, b"1e99999999", b"1e-99999999", b"NaN", b"1" * 30, b"5"]
    values, reason = given_of(written(tmp_path / "x", b'{"b": [%s]}' % b",".join(numbers)), "b")
    assert reason == ""
    assert [stream.whole_number(value) for value in values] == [None, None, None, 0, None, None, 5]


@pytest.mark.parametrize(
    "value", ["1_000", " 5", "\u0665", "9" * 5_000, "", "5.0", True, None, [], 1.5, 2.0**63]
)
def test_what_is_no_whole_number_is_none(value: object) -> None:
    assert stream.whole_number(value) is None


@pytest.mark.parametrize("unit", [b"[", b'{"a":', b'"a",', b"[]", b'{"a":[', b'"', b"\\", b"{}}"])
def test_hundreds_of_thousands_of_anything_end_in_one_line(tmp_path: Path, unit: bytes) -> None:
    for before in (b"[", b'{"b":[', b'{"other":[', b'{"other":'):
        path = written(tmp_path / "x", before + unit * 200_000)
        reason = given_of(path, "b" if before[:1] == b"{" else None)[1]
        assert 0 < len(reason) < 200


def test_halves_of_surrogate_pairs_are_replaced_and_pairs_kept(tmp_path: Path) -> None:
    path = written(
        tmp_path / "x", rb'{"b": [{"\ud800k": ["a\udc00"]}, {"t": "\ud83d\ude00"}, {"u": "\\ud800"}, 1]}'
    )
    told = [{"\ufffdk": ["a\ufffd"]}, {"t": "\U0001f600"}, {"u": "\\ud800"}, 1]
    assert given_of(path, "b") == (told, "")
    assert stream.text_array(["a\ud800b", "\U0001f600", None]).to_pylist() == ["a\ufffdb", "\U0001f600", None]


def test_a_gzip_that_was_cut_off_gives_what_it_still_holds(tmp_path: Path) -> None:
    records = [{"n": n, "text": hashlib.sha256(str(n).encode()).hexdigest()} for n in range(5_000)]
    packed = gzip.compress(json.dumps(records).encode())
    assert given_of(written(tmp_path / "x", packed)) == (records, "")
    values, reason = given_of(written(tmp_path / "y", packed[: len(packed) // 2]))
    assert 1_500 < len(values) < 3_500
    assert values == records[: len(values)]
    assert reason != ""


@pytest.mark.parametrize(
    "text", ["[1] [2]", "[1]]", '{"b": [1]} x', "[1,]", "[1 2]", '{"b": [1], }', '{"b": [1,']
)
def test_what_is_beside_the_rules_is_said_after_what_was_whole(tmp_path: Path, text: str) -> None:
    values, reason = given_of(written(tmp_path / "x", text), "b" if text[0] == "{" else None)
    assert (values, bool(reason)) == ([1], True)
