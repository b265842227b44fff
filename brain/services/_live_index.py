"""Writes thoughts and texts into the index as they come: all that one drain took, in one commit.

Nothing is lost when it fails: the documents stay marked in the lake, and the next indexing takes them.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from brain.errors import IndexUnavailable
from brain.events import Event
from brain.models import Document
from brain.services._thought_events import id_of
from brain.sql import Connection, records
from brain.workspace import Workspace

_THOUGHTS = ("thought", "slack_thought")
_TEXTS = ("note", "highlight", "capture")
_AT_ONCE = 50  # more are left to the next indexing: the drain must not take long

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from brain.embedding import Embedder
    from brain.embedding.protocol import ModelIdentity


def as_text(model: "ModelIdentity", vector: "NDArray[np.float32]") -> dict[str, str]:
    """A vector as an event carries it."""
    return {"model": _named(model), "float32": base64.b64encode(vector.astype("<f4").tobytes()).decode()}


def index_written(
    ws: Workspace, con: Connection, done: Sequence[tuple[Event, str | None]]
) -> Callable[[], Mapping[str, str]]:
    """Read what the written thoughts and texts are shown as; the result puts it into the index, and tells of each how
    it is found: vector when by meaning from now on, keyword when only by words, pending when not yet.
    """
    captures = {result: event for event, result in done if event.kind in _THOUGHTS and result is not None}
    texts = {result: event for event, result in done if event.kind in _TEXTS and result is not None}
    if len(texts) > _AT_ONCE:
        texts = {}
    if not captures and not texts:
        return dict
    shown = read_documents(con, [*(_shown_by(con, list(captures)) if captures else ()), *texts])

    def write() -> Mapping[str, str]:
        state = _write(
            ws, shown, captures, {doc_id for doc_id, event in texts.items() if event.kind != "capture"}
        )
        return {event.id: state for event in (*captures.values(), *texts.values())}

    return write


def read_documents(con: Connection, doc_ids: Sequence[str]) -> list[Document]:
    """These documents, without those that are not to be found any more."""
    rows = con.execute(
        """
        SELECT doc_id AS id, kind, text, title, url, domain, source, origin, epoch_us(first_at) AS first_us,
               epoch_us(last_at) AS last_us
        FROM store.documents WHERE doc_id IN (SELECT unnest($ids)) AND state NOT IN ('removed', 'gone')""",
        {"ids": list(doc_ids)},
    )
    return [Document(**row) for row in records(rows)]


def _shown_by(con: Connection, thought_ids: list[str]) -> list[str]:
    """The documents that show these thoughts: their own, or that of the earliest thought of the same text."""
    rows = con.execute(
        """
        SELECT DISTINCT s.thought_id FROM store.thoughts t JOIN store.thoughts s USING (content_hash)
        WHERE t.thought_id IN (SELECT unnest($ids))""",
        {"ids": thought_ids},
    ).fetchall()
    return [thought_id for (thought_id,) in rows]


def _write(ws: Workspace, shown: list[Document], captures: Mapping[str, Event], texts: set[str]) -> str:
    """`texts` are ids of documents that are new and no thoughts."""
    embedder, _ = ws.embedder_or_none()
    fresh = [
        document
        for document in shown
        if document.id in texts
        or (document.id in captures and id_of(captures[document.id].id) == document.id)
    ]
    known = {
        document.text: vector
        for document in fresh
        if embedder and (vector := _vector(captures.get(document.id), document.text, embedder)) is not None
    }
    have = True
    try:
        if fresh:
            have = ws.index.put(fresh, embedder, known=known, new=True)
        if again := [
            document for document in shown if document not in fresh
        ]:  # their date or text has changed
            have = ws.index.put(again, embedder) and have
    except IndexUnavailable:
        return "pending"
    return "vector" if have else "keyword"


def _vector(event: Event | None, text: str, embedder: "Embedder") -> "NDArray[np.float32] | None":
    """The vector that came with a capture; None unless it is this model's, of this very text."""
    import numpy as np

    if event is None:
        return None
    came: Any = event.fields.get("embedding")
    # A text that lost a secret is another passage than the one embedded.
    if (
        not isinstance(came, dict)
        or came.get("model") != _named(embedder.identity)
        or event.data.get("content") != text
    ):
        return None
    try:
        vector = np.frombuffer(base64.b64decode(str(came.get("float32")), validate=True), "<f4")
    except ValueError:
        return None
    return vector if vector.shape == (embedder.identity.dimension,) and np.isfinite(vector).all() else None


def _named(model: "ModelIdentity") -> str:
    return f"{model.id} {model.weights_sha256} {model.variant}"
