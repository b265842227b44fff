"""How good a grouping of tabs is, from 0 to 100, with each thing that costs points in words, so that it can be mended.

Structure weighs 60, names 40; groups that join several sites win up to 30, and 100 is the most. A tab that is left out,
named twice or unknown costs structure and caps the whole; a name that says nothing makes it 0.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COLOURS = ("blue", "green", "red", "yellow", "purple", "pink", "cyan", "orange", "grey")
GOOD = 90

_CATCH_ALL_WORDS = """
other others misc miscellaneous general untitled various mixed random stuff things rest remaining ungrouped
uncategorized uncategorised everything unsorted tabs pages links unknown default"""
_PLATFORM_NAMES = """
youtube github gitlab reddit google gmail bing twitter x facebook instagram linkedin amazon ebay netflix spotify
wikipedia stackoverflow medium slack discord notion figma tiktok twitch pinterest whatsapp telegram dropbox
hackernews"""
_CATCH_ALL, _PLATFORMS = frozenset(_CATCH_ALL_WORDS.split()), frozenset(_PLATFORM_NAMES.split())
_DOMAIN = re.compile(r"(?:https?://|www\.)\S+|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,24}(?:[:/]\S*)?", re.IGNORECASE)
_SHORTEST, _LONGEST = 3, 48


@dataclass(frozen=True, slots=True)
class Group:
    """A named, coloured set of tabs."""

    name: str
    color: str
    tabs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Critique:
    """`score` from 0 to 100 and what was found wanting."""

    score: float
    penalties: list[str]


def empty_name(name: str) -> str | None:
    """Why a name says nothing of what its tabs are about, or None."""
    words = re.findall(r"\w+", name.casefold())
    if words and all(word in _CATCH_ALL for word in words):
        return "is a catch-all"
    if "".join(words) in _PLATFORMS:
        return "names a platform, not a subject"
    return "is a domain, not a subject" if _DOMAIN.fullmatch(name.strip()) else None


def judge(groups: Sequence[Group], hosts: Mapping[int, str]) -> Critique:
    """Judge a grouping of the tabs whose hosts are given, which are all that can be grouped."""
    if not groups:
        return Critique(0, ["there are no groups"])
    if empty := [f"{g.name!r} {why}" for g in groups if (why := empty_name(g.name))]:
        return Critique(0, empty)
    counted = Counter(tab for group in groups for tab in group.tabs)
    missing = sorted(hosts.keys() - counted.keys())
    foreign = sorted(counted.keys() - hosts.keys())
    doubled = sorted(tab for tab, times in counted.items() if times > 1)
    penalties = [
        f"{what}: {', '.join(map(str, tabs[:20]))}{' ...' if len(tabs) > 20 else ''}"
        for what, tabs in (
            ("tabs in no group", missing),
            ("tabs in several groups", doubled),
            ("ids of no open tab that can be grouped", foreign),
        )
        if tabs
    ]
    wrong = len(missing) + 2 * len(doubled) + 2 * len(foreign)
    score = 60 * max(0.0, 1 - wrong / max(1, len(hosts)))
    score += _names(groups, penalties) - _fragmentation(groups, penalties)
    if not wrong:
        score += 30 * _across(groups, hosts)
    score = min(100.0, max(0.0, score))
    if doubled or foreign:
        score = min(score, 75.0)
    if len(missing) > max(1, 0.05 * len(hosts)):
        score = min(score, 85.0)
    return Critique(round(score, 1), penalties)


def _names(groups: Sequence[Group], penalties: list[str]) -> float:
    fitting = [_SHORTEST <= len(group.name.strip()) <= _LONGEST for group in groups]
    penalties += [
        f"{group.name!r} has {len(group.name.strip())} characters; {_SHORTEST} to {_LONGEST} fit"
        for group, fits in zip(groups, fitting, strict=True)
        if not fits
    ]
    times = Counter(group.name.strip().casefold() for group in groups)
    repeated = {name: count for name, count in times.items() if count > 1}
    penalties += [f"{count} groups are called {name!r}" for name, count in repeated.items()]
    return 40 * sum(fitting) / len(groups) - 20 * sum(count - 1 for count in repeated.values())


def _fragmentation(groups: Sequence[Group], penalties: list[str]) -> float:
    single = sum(len(group.tabs) == 1 for group in groups) / len(groups)
    if len(groups) < 3 or single <= 0.4:
        return 0.0
    penalties.append(f"{single:.0%} of the groups hold a single tab")
    return 40 * min(1.0, (single - 0.4) / 0.6)


def _across(groups: Sequence[Group], hosts: Mapping[int, str]) -> float:
    """The share of groups with several tabs that join several hosts."""
    several = [group for group in groups if len(group.tabs) > 1]
    spanning = sum(len({hosts[tab] for tab in group.tabs}) > 1 for group in several)
    return spanning / len(several) if several else 0.0
