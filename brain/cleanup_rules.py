"""Which open tab may go, and why: rules over what the lake knows of its page. The first that speaks decides.

A rule looks at one tab and its facts and says nothing, or an action with a reason that holds the figures it rests on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

Action = Literal["Keep", "Archive", "Read Later", "Close"]

_JUST_USED = timedelta(hours=1)
_FORGOTTEN = timedelta(days=3)
_OLD = timedelta(days=5)
_OFTEN = 5


@dataclass(frozen=True, slots=True)
class TabFacts:
    """A tab and what is known of its page. `visits` counts visible visits; `newer_copy` is set where another tab shows
    the same page and is the one to keep."""

    active: bool
    pinned: bool
    audible: bool
    last_used: datetime | None
    visits: int
    last_visited: datetime | None
    bookmarked: bool
    newer_copy: bool


Verdict = tuple[Action, str]
Rule = Callable[[TabFacts, datetime], Verdict | None]


def in_use(tab: TabFacts, now: datetime) -> Verdict | None:
    """The active tab of a window, pinned and audible ones stay, whatever else is true of them."""
    if tab.active:
        return "Keep", "the active tab of its window"
    if tab.pinned:
        return "Keep", "pinned"
    return ("Keep", "plays sound") if tab.audible else None


def copy(tab: TabFacts, now: datetime) -> Verdict | None:
    """Of several tabs on one page one is enough."""
    return ("Close", "another tab shows the same page") if tab.newer_copy else None


def just_used(tab: TabFacts, now: datetime) -> Verdict | None:
    """What was used within the hour is still in hand."""
    used = tab.last_used is not None and now - tab.last_used < _JUST_USED
    return ("Keep", "used within the last hour") if used else None


def unknown(tab: TabFacts, now: datetime) -> Verdict | None:
    """Nothing is said of a page of which nothing is known."""
    return ("Keep", "the lake knows no visit to it") if tab.last_visited is None else None


def visited_once(tab: TabFacts, now: datetime) -> Verdict | None:
    """Seen once, days ago."""
    age = _age(tab, now)
    return ("Close", f"visited once, {_days(age)} ago") if age > _FORGOTTEN and tab.visits == 1 else None


def not_visited_lately(tab: TabFacts, now: datetime) -> Verdict | None:
    """Known, but not for days."""
    age = _age(tab, now)
    return ("Archive", f"last visited {_days(age)} ago, {tab.visits} visits") if age > _OLD else None


def visited_often(tab: TabFacts, now: datetime) -> Verdict | None:
    """Pages one returns to."""
    return ("Keep", f"visited {tab.visits} times") if tab.visits > _OFTEN else None


def otherwise(tab: TabFacts, now: datetime) -> Verdict | None:
    """Neither old nor often visited."""
    times = "once" if tab.visits == 1 else f"{tab.visits} times"
    return "Read Later", f"visited {times}, last {_days(_age(tab, now))} ago"


RULES: tuple[Rule, ...] = (
    *(in_use, copy, just_used, unknown, visited_once, not_visited_lately, visited_often, otherwise),
)


def judge(tab: TabFacts, now: datetime, rules: Sequence[Rule] = RULES) -> Verdict:
    """What to do with a tab, by the first rule that speaks. That a page is bookmarked is said, and changes nothing."""
    action, reason = next(verdict for rule in rules if (verdict := rule(tab, now)) is not None)
    return action, f"{reason}; bookmarked" if tab.bookmarked else reason


def _age(tab: TabFacts, now: datetime) -> timedelta:
    return now - tab.last_visited if tab.last_visited else timedelta()


def _days(age: timedelta) -> str:
    hours = age.total_seconds() / 3600
    if hours < 48:
        return f"{max(0, int(hours))} hours"
    return f"{int(hours / 24)} days"
