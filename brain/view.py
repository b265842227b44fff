"""What a documented view is made of."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class View:
    """One documented view: `columns` maps each column to its meaning, in the view's order."""

    name: str
    about: str
    sql: str
    columns: dict[str, str]
