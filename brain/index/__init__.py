"""The search index: a LanceDB table of text chunks, derived from the lake and rebuildable at any time."""

from brain.index.store import Index
from brain.index.view import View

__all__ = ["Index", "View"]
