"""conversations.json of the data exports of ChatGPT (2023 to 2026) and Claude (2024 to 2026): one text a conversation.

ChatGPT: {title, create_time, update_time (seconds since 1970), mapping: {id: {message: {author: {role}, recipient,
content: {content_type, parts}}, parent, children}}, current_node}; the turns are those of the branch that
`current_node` ends. Large exports come in several files of that kind. Claude: {uuid, name, created_at, updated_at (ISO
8601), chat_messages: [{uuid, sender, text, content: [{type, text}], parent_message_uuid (newer exports)}]}. What
systems, tools and hidden messages say, thinking, calls of tools and attached files are left out; code stays.
Neither maker documents its format; this is what public readers of real exports agree on.
"""

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from brain.importers._instants import from_iso, from_seconds
from brain.importers._json_stream import CutOff, items, shown
from brain.importers._text_rows import Text, batches
from brain.importers._whole_file import json_head
from brain.models import Batch, Rejected

NAME = "conversations"
SOURCE = "import"
BROWSER = "unknown"
VERSION = 1  # raised when the same bytes are read differently

_SPEAKERS = {"user": "You", "human": "You", "assistant": "Assistant"}
_MOST_TURNS = 20_000
_ALL = (None, "all")
# References to search results, between marks that are no letters.
_MARKS = re.compile("\ue200[^\ue201]{0,2000}\ue201")
_CLAUDE = re.compile(r'\[\s*\{\s*"uuid"\s*:')


def detect(path: Path) -> bool:
    """Whether the file begins with a conversation of either export."""
    text = json_head(path)
    if not text.startswith("["):
        return False
    return (_CLAUDE.match(text) is not None and '"chat_messages"' in text) or (
        '"mapping"' in text and ('"create_time"' in text or '"current_node"' in text)
    )


def read(path: Path) -> Generator[Batch | Rejected]:
    """Conversations in batches. Raises SourceError and EmptySource as all do."""
    yield from batches(path.name, _found(path))


def _found(path: Path) -> Iterator[Text | Rejected]:
    try:
        for number, item in enumerate(items(path)):
            made = _conversation(number, item)
            if made is not None:
                yield made
    except CutOff as error:
        yield Rejected("conversations", f"the rest cannot be read: {error}")


def _conversation(number: int, item: object) -> Text | Rejected | None:
    """The text of a conversation, None for one that nobody said anything in."""
    where = f"conversation[{number}]"
    if isinstance(item, dict) and isinstance(item.get("chat_messages"), list):
        turns, title = list(_claude(item)), item.get("name")
        first, last = from_iso(item.get("created_at")), from_iso(item.get("updated_at"))
    elif isinstance(item, dict) and isinstance(item.get("mapping"), dict):
        turns, title = list(_chatgpt(item)), item.get("title")
        first, last = from_seconds(item.get("create_time")), from_seconds(item.get("update_time"))
    else:
        return Rejected(where, f"it is no conversation: {shown(item)}")
    if not turns:
        return None
    key = item.get("uuid") or item.get("conversation_id") or item.get("id")
    return Text(
        where,
        str(key or f"{first}:{turns[0][1][:100]}"),
        "capture",
        "\n\n".join(f"{speaker}: {text}" for speaker, text in turns),
        title=title if isinstance(title, str) and title else None,
        created_us=first,
        modified_us=last,
    )


def _claude(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for message in _claude_branch(item):
        if message.get("sender") not in _SPEAKERS:
            continue
        parts = message.get("content")
        listed = (
            [p.get("text") for p in parts if isinstance(p, dict) and p.get("type") == "text"]
            if isinstance(parts, list)
            else []
        )
        text = "\n".join(part for part in listed if isinstance(part, str)) or message.get("text")
        if isinstance(text, str) and text.strip():
            yield _SPEAKERS[message["sender"]], text.strip()


def _claude_branch(item: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages that lead to the last one, or all in their order where they do not say which follows which."""
    messages = [m for m in item["chat_messages"] if isinstance(m, dict) and isinstance(m.get("sender"), str)]
    parents = {m["uuid"]: m for m in messages if isinstance(m.get("uuid"), str)}
    if len(parents) < len(messages) or not all(
        isinstance(m.get("parent_message_uuid"), str) for m in messages
    ):
        return messages[:_MOST_TURNS]
    leaf = item.get("current_leaf_message_uuid")
    at = leaf if isinstance(leaf, str) and leaf in parents else next(reversed(parents), None)
    return _branch(parents, at, "parent_message_uuid")


def _branch(nodes: dict[str, Any], at: object, parent: str) -> list[dict[str, Any]]:
    """The nodes from the root to `at`, as far as they hang together."""
    branch: list[dict[str, Any]] = []
    seen = set[str]()
    while isinstance(at, str) and at not in seen and len(branch) < _MOST_TURNS:
        seen.add(at)
        node = nodes.get(at)
        if not isinstance(node, dict):
            break
        branch.append(node)
        at = node.get(parent)
    return branch[::-1]


def _chatgpt(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    mapping: dict[str, Any] = item["mapping"]
    at = item.get("current_node")
    if not isinstance(at, str) or at not in mapping:
        at = next(reversed(mapping), None)  # nodes stand in the order in which they came to be
    for node in _branch(mapping, at, "parent"):
        message = node.get("message")
        if not isinstance(message, dict):
            continue
        author, inside, more = message.get("author"), message.get("content"), message.get("metadata")
        role = author.get("role") if isinstance(author, dict) else None
        hidden = isinstance(more, dict) and more.get("is_visually_hidden_from_conversation")
        # What is addressed to a tool is a call of it, not a word to the person.
        if (
            not isinstance(role, str)
            or role not in _SPEAKERS
            or hidden
            or message.get("recipient") not in _ALL
        ):
            continue
        text = _MARKS.sub("", _said(inside) if isinstance(inside, dict) else "").strip()
        if text:
            yield _SPEAKERS[role], text


def _said(content: dict[str, Any]) -> str:
    """The words of a message: its parts, what was heard of speech, or a block of code."""
    if content.get("content_type") == "code" and isinstance(content.get("text"), str):
        language = content.get("language")
        named = language if isinstance(language, str) and language.isalnum() and language != "unknown" else ""
        return f"```{named}\n{content['text']}\n```"
    parts = content.get("parts")
    said = []
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
            part = part.get("text")
        if isinstance(part, str):
            said.append(part)
    return "\n".join(said)
