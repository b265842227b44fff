"""Instants as exports in JSON and CSV spell them: numbers of seconds, or ISO 8601."""

from datetime import UTC, datetime

from brain.models import EARLIEST_US, LATEST_US

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_iso(text: object) -> int | None:
    """ISO 8601, with a blank for the T too, as microseconds since 1970; UTC where no zone is given.

    None for what is no plausible instant.
    """
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        span = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        return None
    return _plausible((span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds)


def from_seconds(value: object) -> int | None:
    """Seconds since 1970, a fraction allowed, as the nearest microsecond; None for what is no plausible instant."""
    if isinstance(value, bool | str):
        return None
    try:
        return _plausible(round(value * 1_000_000))  # type: ignore[operator]
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        return None


def _plausible(us: int) -> int | None:
    return us if EARLIEST_US <= us < LATEST_US else None
