"""Editing JSON with comments: what is set is there, and nothing else has moved."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain import jsonc

COMMENTED = """\
// my servers
{
    "theme": "dark", // keep
    /* here they are */
    "mcpServers": {
        "other": {"command": "x", "args": [1, 2,],}, // trailing commas
    },
}
"""


def test_a_member_is_added_and_every_other_character_stays() -> None:
    made = jsonc.with_member(COMMENTED, ("mcpServers", "brain"), {"command": "/b"})
    assert made == COMMENTED.replace("// trailing commas\n", "PLACE").replace(
        "],},", '],},\n        "brain": {\n          "command": "/b"\n        }'
    ).replace("PLACE", "// trailing commas\n")
    assert jsonc.parse(made)["mcpServers"] == {
        "other": {"command": "x", "args": [1, 2]},
        "brain": {"command": "/b"},
    }


def test_setting_it_again_changes_nothing() -> None:
    once = jsonc.with_member(COMMENTED, ("mcpServers", "brain"), {"command": "/b"})
    assert jsonc.with_member(once, ("mcpServers", "brain"), {"command": "/b"}) == once


@pytest.mark.parametrize(
    "text", ["", "\n", "{}", "{ }", "// only a remark\n", "{\n}\n", "{ /* none yet */ }", "\ufeff{}"[1:]]
)
def test_an_empty_file_becomes_an_object(text: str) -> None:
    made = jsonc.with_member(text, ("a", "b"), 1)
    assert jsonc.parse(made) == {"a": {"b": 1}}
    for remark in ("// only a remark", "/* none yet */"):
        assert (remark in made) == (remark in text)


def test_line_ends_of_windows_stay() -> None:
    text = '{\r\n\t"a": 1\r\n}\r\n'
    made = jsonc.with_member(text, ("b",), {"c": 2})
    assert made == '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": 2\r\n\t}\r\n}\r\n'


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a": 1',
        "[1",
        '{"a" 1}',
        "{'a': 1}",
        '{"a": }',
        '{"a": 1} x',
        "[" * 500,
        '{"a": nope}',
        '{"a": 1 "b": 2}',
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        jsonc.with_member(text, ("x",), 1)


@pytest.mark.parametrize("text", ["[]", "1", '{"a": 5}'])
def test_what_is_no_object_is_not_overwritten(text: str) -> None:
    with pytest.raises(ValueError, match="is no object"):
        jsonc.with_member(text, ("a", "b"), 1)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)


@given(
    OBJECTS, st.lists(st.text(max_size=4), min_size=1, max_size=3), VALUES, st.sampled_from([None, 2, "\t"])
)
def test_any_object_gets_exactly_the_member_that_is_set(
    old: dict, path: list[str], value: object, indent: object
) -> None:
    text = json.dumps(old, indent=indent)
    assert jsonc.parse(text) == old
    try:
        made = jsonc.with_member(text, tuple(path), value)
    except ValueError:
        inner = old
        for name in path[:-1]:
            inner = inner.get(name, {}) if isinstance(inner, dict) else inner
        assert not isinstance(inner, dict)
        return
    assert jsonc.parse(made) == json.loads(made) == jsonc.merged(old, tuple(path), value)


@given(st.text(alphabet='{}[]",:/* \n\\1a', max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    with contextlib.suppress(ValueError):
        jsonc.with_member(text, ("x",), 1)
