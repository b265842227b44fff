"""Ids as people and programs see them: a kind letter and the 16 hex digits of an unsigned 64-bit number."""

import re

_ID = re.compile(r"([a-z])([0-9a-f]{16})")


def text(letter: str, number: int) -> str:
    """The id of a number, such as `v0123456789abcdef` for a visit."""
    return f"{letter}{number:016x}"


def sql(letter: str, column: str) -> str:
    """The same as an SQL expression over a UBIGINT column."""
    return f"'{letter}' || lpad(lower(hex({column})), 16, '0')"


def parts(given: str) -> tuple[str, int] | None:
    """Letter and number of what is shaped like an id, else None."""
    found = _ID.fullmatch(given)
    return (found[1], int(found[2], 16)) if found else None
