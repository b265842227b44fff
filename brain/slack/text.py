"""The words of a Slack message as a person reads them, and the links in it.

A message says what it says in `text`; where that is empty, in its blocks, its attachments, its files' titles, in this
order and never two of them at once. Source of the forms: Slack's documentation of mrkdwn and rich text.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from html import unescape
from typing import Any

NOT_SHOWN = "This content can't be displayed."
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_ANGLE = re.compile(r"<([^<>\n]{1,20000})>")
_MARKED = re.compile(r"[<&`]")  # without any of these a text is plain already
_ENTITY = re.compile(r"&(?:lt|gt|amp);")
_DEEPEST = 40
Note = Callable[[object, object], None]  # takes a URL and its label


@dataclass(frozen=True, slots=True)
class Names:
    """What ids are called: users, channels and user groups."""

    users: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)

    def user(self, user_id: str) -> str:
        """The name of a user, the id where it is unknown."""
        return self.users.get(user_id) or user_id

    def channel(self, channel_id: str) -> str:
        """The name of a channel, the id where it is unknown."""
        return self.channels.get(channel_id) or channel_id


@dataclass(frozen=True, slots=True)
class Link:
    """A URL in a message and what it was called there, None where it stands bare."""

    url: str
    label: str | None = None


@dataclass(slots=True)
class Content:
    """The text of a message and the distinct links of all its parts, in their order."""

    text: str
    links: list[Link]


def content_of(message: Mapping[str, Any], names: Names) -> Content:
    """Text and links of a message as Slack's export or API gives it. Never raises for what it does not know."""
    found: dict[str, Link] = {}

    def note(url: object, label: object = None) -> None:
        if isinstance(url, str) and url.startswith(("http://", "https://")) and url not in found:
            found[url] = Link(url, label if isinstance(label, str) and label and label != url else None)

    raw = message.get("text")
    text = plain(raw, names, note) if isinstance(raw, str) else ""
    if text.strip() and text.strip() != NOT_SHOWN:
        for block in _dicts(message.get("blocks") or None):
            if block.get("type") == "rich_text":
                _note_rich(block.get("elements"), note)
            else:
                _block(block, names, note, 0)
        for attached in _dicts(message.get("attachments")):
            _attachment(attached, names, note)
        return Content(text.strip(), list(found.values()))
    blocks = _lines(_block(block, names, note, 0) for block in _dicts(message.get("blocks")))
    attachments = _lines(_attachment(each, names, note) for each in _dicts(message.get("attachments")))
    files = _dicts(message.get("files")) or _dicts([message.get("file")])
    titles = _lines(_text(file.get("title")) or _text(file.get("name")) for file in files)
    return Content(blocks.strip() or attachments.strip() or titles.strip(), list(found.values()))


def _note_rich(elements: object, note: Note) -> None:
    """Note the links of rich text whose words are not needed: nearly every message has such a copy of its text."""
    waiting = [elements]
    while waiting:
        held = waiting.pop()
        if not isinstance(held, list):
            continue
        for each in held:
            if isinstance(each, dict):
                if "elements" in each:
                    waiting.append(each["elements"])
                elif each.get("type") == "link":
                    note(each.get("url"), each.get("text"))


def plain(mrkdwn: str, names: Names, note: Note | None = None) -> str:
    """mrkdwn as plain text: mentions by name, links by label and URL, entities decoded once. Code stays as it is."""
    if not _MARKED.search(mrkdwn):
        return mrkdwn
    parts: list[str] = []
    at = 0
    for code in _CODE.finditer(mrkdwn):
        parts += [_spoken(mrkdwn[at : code.start()], names, note), _decoded(_unlinked(code[0], note))]
        at = code.end()
    return "".join([*parts, _spoken(mrkdwn[at:], names, note)])


def _spoken(text: str, names: Names, note: Note | None) -> str:
    """Text without code: what stands in angle brackets first, entities after that and once."""
    parts: list[str] = []
    at = 0
    for found in _ANGLE.finditer(text):
        parts += [_decoded(text[at : found.start()]), _bracket(found[1], names, note)]
        at = found.end()
    return "".join([*parts, _decoded(text[at:])])


def _unlinked(code: str, note: Note | None) -> str:
    """Code in which Slack turned addresses into links, as it was typed."""

    def typed(found: "re.Match[str]") -> str:
        url, _, label = found[1].partition("|")
        if "://" not in url:
            return found[0]
        if note:
            note(_decoded(url), None)
        return label or url

    return _ANGLE.sub(typed, code)


def _bracket(inside: str, names: Names, note: Note | None) -> str:
    target, bar, label = inside.partition("|")
    label = _decoded(label)
    match target[:1]:
        case "@":
            return "@" + (label or names.user(target[1:]))
        case "#":
            return "#" + (label or names.channel(target[1:]))
        case "!":
            kind = target[1:].partition("^")[0]
            if kind in ("subteam", "date"):
                return label or target[1:]
            return label if label.startswith("@") else f"@{label or kind}"
    url = _decoded(target)
    if url.startswith(("mailto:", "tel:")):
        return label or url.partition(":")[2]
    if note:
        note(url, label)
    if "://" not in url:
        return f"<{_decoded(inside)}>"
    return f"{label} ({url})" if bar and label and label not in url else url


def _decoded(text: str) -> str:
    return _ENTITY.sub(lambda entity: unescape(entity[0]), text)


def _block(block: Mapping[str, Any], names: Names, note: Note, depth: int) -> str:
    """One layout block or rich text element as text; what is unknown tells what text it holds."""
    if depth > _DEEPEST:
        return ""
    kind = _text(block.get("type"))
    if kind in _ELEMENTS:
        return _ELEMENTS[kind](block, names)
    elements = [_block(each, names, note, depth + 1) for each in _dicts(block.get("elements"))]
    match kind:
        case "rich_text":
            return "\n".join(elements)
        case "rich_text_section" | "rich_text_quote" | "rich_text_preformatted":
            return "".join(elements)
        case "rich_text_list":
            indent = block.get("indent")
            pad = "  " * (indent if isinstance(indent, int) and 0 <= indent < 20 else 0)
            return "\n".join(f"{pad}- {item}" for item in elements)
        case "link":
            note(block.get("url"), block.get("text"))
            url, label = _text(block.get("url")), _text(block.get("text"))
            return f"{label} ({url})" if label and label not in url else url
        case "text" if isinstance(block.get("text"), str):
            return str(block["text"])
    note(block.get("title_url"), None)
    own = [_words(block.get(name), names, note) for name in ("text", "title", "alt_text")]
    held = [
        _block(each, names, note, depth + 1)
        for each in _dicts([block.get("accessory"), *_list(block.get("fields"))])
    ]
    return _lines([*own, *held, *elements])


# Elements of one line that hold nothing else.
_ELEMENTS: dict[str, Callable[[Mapping[str, Any], Names], str]] = {
    "user": lambda block, names: "@" + names.user(_text(block.get("user_id"))),
    "channel": lambda block, names: "#" + names.channel(_text(block.get("channel_id"))),
    "usergroup": lambda block, names: "@" + _text(block.get("usergroup_id")),
    "broadcast": lambda block, names: "@" + _text(block.get("range")),
    "emoji": lambda block, names: f":{_text(block.get('name'))}:",
    "date": lambda block, names: _text(block.get("fallback")),
    "color": lambda block, names: _text(block.get("value")),
    "mrkdwn": lambda block, names: plain(_text(block.get("text")), names),
    "plain_text": lambda block, names: _text(block.get("text")),
}


def _words(value: object, names: Names, note: Note) -> str:
    """A text object, or a plain string."""
    if isinstance(value, Mapping):
        text = _text(value.get("text"))
        note(value.get("url"), None)
        return plain(text, names, note) if value.get("type") == "mrkdwn" else text
    return _text(value)


def _attachment(attached: Mapping[str, Any], names: Names, note: Note) -> str:
    for name in ("title_link", "from_url", "original_url"):
        note(attached.get(name), attached.get("title") if name == "title_link" else None)
    text = "\n".join(
        plain(part, names, note)
        for name in ("pretext", "title", "text")
        if (part := _text(attached.get(name)))
    )
    fields = "\n".join(
        f"{_text(each.get('title'))}: {plain(_text(each.get('value')), names, note)}"
        for each in _dicts(attached.get("fields"))
    )
    blocks = "\n".join(_block(block, names, note, 1) for block in _dicts(attached.get("blocks")))
    said = _lines([text, fields, blocks])
    return said or plain(_text(attached.get("fallback")), names, note) or _text(attached.get("from_url"))


def _lines(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part.strip())


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _dicts(value: object) -> list[Mapping[str, Any]]:
    items: Iterable[object] = value if isinstance(value, list) else ()
    return [each for each in items if isinstance(each, Mapping)]
