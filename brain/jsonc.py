"""Editing a person's JSON file, comments and trailing commas allowed, without touching anything else in it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_DEEPEST = 100
_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_SCALAR = re.compile(r"[-+.\w]+")


@dataclass(slots=True)
class _Node:
    """A value's place in the text; of an object also its members."""

    start: int
    end: int
    value: Any
    members: dict[str, "_Node"] = field(default_factory=dict)
    has_comma: bool = False  # after its last member


def parse(text: str) -> Any:
    """The value of a JSON text that may hold comments and trailing commas. Raises ValueError."""
    return _document(text).value


def with_member(text: str, path: tuple[str, ...], value: Any) -> str:
    """The text with `value` as the member at `path`; objects on the way are made where missing.

    Everything else stays as it is: order, comments, line ends, indentation. A text without any value becomes an
    object. Raises ValueError when it is no JSON, or something on the way is no object.
    """
    if not _SPACE.sub("", text, count=1):
        text = text + ("" if not text or text.endswith("\n") else "\n") + "{}\n"
    node = _document(text)
    depth = 0
    while depth < len(path) and isinstance(node.value, dict) and path[depth] in node.members:
        node = node.members[path[depth]]
        depth += 1
    line = "\r\n" if "\r\n" in text else "\n"
    if depth == len(path):
        return text[: node.start] + _written(value, line, _indent(text, node.start)) + text[node.end :]
    if not isinstance(node.value, dict):
        raise ValueError(f"{'.'.join(path[:depth]) or 'the file'} is no object")
    for name in reversed(path[depth + 1 :]):
        value = {name: value}
    return _inserted(text, node, path[depth], value, line)


def _inserted(text: str, node: _Node, name: str, value: Any, line: str) -> str:
    outer = _indent(text, node.start)
    if node.members:
        last = list(node.members.values())[-1]
        inner = _indent(text, last.start)
        member = f"{inner}{json.dumps(name)}: {_written(value, line, inner)}"
        at = text.index(",", _SPACE.match(text, last.end).end()) + 1 if node.has_comma else last.end  # type: ignore[union-attr]
        return f"{text[:at]}{'' if node.has_comma else ','}{line}{member}{text[at:]}"
    inner = outer + (_unit(text))
    member = f"{inner}{json.dumps(name)}: {_written(value, line, inner)}"
    inside = text[node.start + 1 : node.end - 1].strip()
    kept = f"{line}{inner}{inside}" if inside else ""  # a comment in an otherwise empty object
    return f"{text[: node.start]}{{{kept}{line}{member}{line}{outer}}}{text[node.end :]}"


def _written(value: Any, line: str, indent: str) -> str:
    text = json.dumps(value, indent=2 if indent.count("\t") == 0 else "\t", ensure_ascii=False)
    return text.replace("\n", line + indent)


def _indent(text: str, at: int) -> str:
    """The blanks with which the line at this place begins."""
    start = text.rfind("\n", 0, at) + 1
    return text[start : start + len(text[start:at]) - len(text[start:at].lstrip(" \t"))]


def _unit(text: str) -> str:
    """How the text indents."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found and len(found[1]) <= 8 else "  "


def _document(text: str) -> _Node:
    node, at = _value(text, _skip(text, 0), 0)
    if _skip(text, at) != len(text):
        raise ValueError(f"something follows the JSON value at character {at}")
    return node


def _value(text: str, at: int, depth: int) -> tuple[_Node, int]:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    if text[at : at + 1] == "{":
        return _object(text, at, depth)
    if text[at : at + 1] == "[":
        return _array(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if not found:
        raise ValueError(f"a value is missing at character {at}")
    return _Node(at, found.end(), json.loads(found[0])), found.end()


def _object(text: str, at: int, depth: int) -> tuple[_Node, int]:
    node = _Node(at, at, {})
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        found = _STRING.match(text, at)
        if not found:
            raise ValueError(f"a name is missing at character {at}")
        at = _skip(text, found.end())
        if text[at : at + 1] != ":":
            raise ValueError(f"a colon is missing at character {at}")
        name = json.loads(found[0])
        member, at = _value(text, _skip(text, at + 1), depth + 1)
        node.members.pop(name, None)
        node.members[name], node.value[name] = member, member.value
        at, node.has_comma = _comma(text, at, "}")
    node.end = at + 1
    return node, at + 1


def _array(text: str, at: int, depth: int) -> tuple[_Node, int]:
    node = _Node(at, at, [])
    at = _skip(text, at + 1)
    while text[at : at + 1] != "]":
        item, at = _value(text, at, depth + 1)
        node.value.append(item.value)
        at, _ = _comma(text, at, "]")
    node.end = at + 1
    return node, at + 1


def _comma(text: str, at: int, end: str) -> tuple[int, bool]:
    at = _skip(text, at)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1), True
    if text[at : at + 1] != end:
        raise ValueError(f"a comma or {end} is missing at character {at}")
    return at, False


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def merged(old: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """What `with_member` must have made of the old value."""
    if len(path) == 1:
        return dict(old) | {path[0]: value}
    inner = old.get(path[0], {})
    return dict(old) | {path[0]: merged(inner, path[1:], value)}
