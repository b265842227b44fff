"""Folders that name their parents by number, as tables of bookmarks have them."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from brain.importers._bookmark_rows import DEEPEST_FOLDER, plausible


class Tree:
    """Folders by number, each with its name and its parent; `roots` are those that give no name to what is inside.

    Folders in a circle and under a parent that is missing are taken as far as they go; names nearest to the bookmark
    are kept where folders lie deeper than `DEEPEST_FOLDER`.
    """

    def __init__(self, folders: Mapping[int, tuple[str, int | None]], roots: frozenset[int]) -> None:
        self._folders = folders
        self._roots = roots
        self.path = lru_cache(4_096)(self._path)  # bookmarks of one folder mostly come one after the other

    def _path(self, number: int | None) -> tuple[str, ...]:
        """The names from the root down to the folder, its own included."""
        above = [at for at in self._upward(number) if at not in self._roots]
        return tuple(self._folders[at][0] for at in reversed(above[:DEEPEST_FOLDER]))

    def inside(self, number: int | None, root: int | None) -> bool:
        """Whether the folder is `root` or lies below it."""
        return root is not None and root in self._upward(number)

    def _upward(self, number: int | None) -> Iterator[int]:
        seen: set[int] = set()
        while number is not None and number in self._folders and number not in seen:
            if len(seen) > 4 * DEEPEST_FOLDER:
                return
            seen.add(number)
            yield number
            number = self._folders[number][1]


def instant(raw: int | None, to_us: int) -> int | None:
    """A count of `to_us` microseconds since 1970 as microseconds; None where it is none in the years of history."""
    if raw is None or not plausible(raw * to_us):
        return None
    return raw * to_us
