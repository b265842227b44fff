"""How work that takes its time says how far it is."""

from collections.abc import Callable

# Called as (stage, done, total or None), also from threads.
Progress = Callable[[str, int, int | None], None]


def silent(stage: str, done: int, total: int | None) -> None:
    """Nobody wants to know."""
