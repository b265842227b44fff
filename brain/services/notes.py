"""Writing notes."""

from dataclasses import dataclass

from brain.errors import UsageError
from brain.plaintext import clean_lines
from brain.services.thoughts import submit
from brain.workspace import Workspace


@dataclass(frozen=True, slots=True)
class SavedNote:
    """A note that was saved; `status` is saved."""

    id: str
    status: str


def save_note(
    ws: Workspace, content: str, *, url: str | None = None, source: str = "cli", client: str | None = None
) -> SavedNote:
    """Keep a note, about a page where a URL is given. Raises UsageError for an empty one, or a page not to be kept."""
    text = clean_lines(content).strip()
    if not text:
        raise UsageError("a note needs some text")
    return SavedNote(submit(ws, "note", {"text": text, "url": url}, client, source=source), "saved")
