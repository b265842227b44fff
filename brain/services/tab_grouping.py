"""Groups of open tabs: suggested from what their titles mean, or taken from an assistant once the critic finds them
good; either way made by the extension."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from brain.errors import ModelUnavailable, UsageError
from brain.extraction import topics
from brain.extraction.words import STOP
from brain.grouping_critic import COLOURS, GOOD, Critique, Group, empty_name, judge
from brain.services import commands
from brain.services.tabs import HOW_TO_CONNECT, Tab, open_tabs
from brain.workspace import Workspace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ALIKE = (
    0.42  # mean cosine of two clusters' titles from which on they are one; see tests/test_tab_grouping.py
)
_MOST_GROUPS = 10
_EXPIRES_S = 120


@dataclass(frozen=True, slots=True)
class Grouping:
    """Groups with the titles of their tabs, and what the critic says of them. Tabs in no group stay as they are."""

    groups: list[Group]
    titles: dict[int, str]
    critique: Critique


@dataclass(frozen=True, slots=True)
class Grouped:
    """`state` is done, waiting (the browser has not told yet) or expired; `failed` tells which groups were not made."""

    state: str
    grouped: list[dict[str, Any]]
    failed: list[dict[str, Any]]


def suggest(ws: Workspace, browser: str | None = None, profile: str | None = None) -> Grouping:
    """At most ten groups for the open tabs of one browser, that with the most tabs where none is named: tabs whose
    titles mean alike, then tabs of one site. What is alone stays ungrouped. Raises UsageError without live tabs.
    """
    tabs = _groupable(ws, browser, profile)
    clusters = _by_meaning(ws, tabs)
    single = [tab for tab in tabs if not any(tab in cluster for cluster in clusters)]
    by_host: dict[str, list[Tab]] = defaultdict(list)
    for tab in single:
        by_host[_host(tab)].append(tab)
    clusters += [same for same in by_host.values() if len(same) > 1]
    clusters.sort(key=len, reverse=True)
    groups: list[Group] = []
    for cluster in clusters:
        name = _name(cluster, {group.name for group in groups})
        if name and len(groups) < _MOST_GROUPS:
            colour = COLOURS[len(groups) % len(COLOURS)]
            groups.append(Group(name, colour, tuple(tab.tab for tab in cluster)))
    grouped = {tab for group in groups for tab in group.tabs}
    hosts = {tab.tab: _host(tab) for tab in tabs if tab.tab in grouped}
    return Grouping(groups, {tab.tab: tab.title or tab.url for tab in tabs}, judge(groups, hosts))


def apply(
    ws: Workspace,
    groups: Sequence[Group],
    *,
    client: str | None = None,
    wait_s: float = 20.0,
    whole: bool = True,
    told: commands.Told = commands.unheard,
) -> Grouped:
    """Have the browser that shows the tabs make the groups.

    Raises UsageError without live tabs, for unknown colours, and, with everything that costs points, where the critic
    gives less than 90. Without `whole`, tabs may stay ungrouped.
    """
    if wrong := {group.color for group in groups} - set(COLOURS):
        raise UsageError(f"unknown colour {', '.join(sorted(wrong))}; known: {', '.join(COLOURS)}")
    wanted = {tab for group in groups for tab in group.tabs}
    found = open_tabs(ws)
    if not found.live:
        raise UsageError(HOW_TO_CONNECT)
    # Tab numbers are a browser's own: the one meant is the one that has the most of them.
    owners = Counter((tab.browser, tab.profile) for tab in found.tabs if tab.tab in wanted)
    if not owners:
        raise UsageError("none of these tabs is open")
    browser, profile = owners.most_common(1)[0][0]
    tabs = _groupable(ws, browser, profile)
    hosts = {tab.tab: _host(tab) for tab in tabs if whole or tab.tab in wanted}
    critique = judge(groups, hosts)
    if critique.score < GOOD:
        raise UsageError(
            f"the grouping scores {critique.score:g} of 100; {GOOD} are needed. Mend: {'; '.join(critique.penalties)}"
        )
    data = {"groups": [{**asdict(group), "tabs": list(group.tabs)} for group in groups]}
    asked = commands.stage(
        ws, "group_tabs", data, browser=browser, profile=profile, client=client, expires_in=_EXPIRES_S
    )
    found_out = commands.outcome(ws, asked, wait_s, told)
    if found_out.state == "failed":
        raise UsageError(f"the browser could not group tabs: {str(found_out.result)[:200]}")
    result = found_out.result if isinstance(found_out.result, dict) else {}
    state = "waiting" if found_out.state in ("staged", "claimed") else found_out.state
    return Grouped(state, result.get("grouped", []), result.get("failed", []))


def _groupable(ws: Workspace, browser: str | None, profile: str | None) -> list[Tab]:
    found = open_tabs(ws)
    if not found.live:
        raise UsageError(HOW_TO_CONNECT)
    tabs = [
        tab
        for tab in found.tabs
        if (browser is None or tab.browser == browser) and (profile is None or tab.profile == profile)
    ]
    if tabs and (browser is None or profile is None):
        most = Counter((tab.browser, tab.profile) for tab in tabs).most_common(1)[0][0]
        tabs = [tab for tab in tabs if (tab.browser, tab.profile) == most]
    return [tab for tab in tabs if not tab.pinned]


def _by_meaning(ws: Workspace, tabs: list[Tab]) -> list[list[Tab]]:
    """Clusters of two tabs and more; none where there is no model."""
    titled = [tab for tab in tabs if tab.title]
    if len(titled) < 2:
        return []
    try:
        vectors = ws.embedder.embed([str(tab.title) for tab in titled])
    except ModelUnavailable:
        return []
    return [
        [titled[place] for place in cluster]
        for cluster in cluster_by_mean(vectors, _ALIKE)
        if len(cluster) > 1
    ]


def cluster_by_mean(vectors: "NDArray[np.float32]", alike: float) -> list[list[int]]:
    """Join the two clusters whose members are most alike on average (cosine of unit vectors) while that is at least
    `alike`. Places of the vectors, each in one cluster."""
    import numpy as np

    similar = (vectors @ vectors.T).astype(np.float64)
    np.fill_diagonal(similar, -np.inf)
    clusters: dict[int, list[int]] = {place: [place] for place in range(len(vectors))}
    while len(clusters) > 1:
        first, second = divmod(int(similar.argmax()), len(vectors))
        if similar[first, second] < alike:
            break
        one, other = len(clusters[first]), len(clusters[second])
        joined = (one * similar[first] + other * similar[second]) / (one + other)
        similar[first], similar[:, first] = joined, joined
        similar[first, first] = -np.inf
        similar[second], similar[:, second] = -np.inf, -np.inf
        clusters[first] += clusters.pop(second)
    return [sorted(cluster) for cluster in clusters.values()]


def _name(cluster: list[Tab], taken: set[str]) -> str | None:
    """What most of the titles have in common; None where nothing fit can be said."""
    titles = [tab.title or "" for tab in cluster]
    times = Counter(word for title in titles for word in dict.fromkeys(_words(title)))
    common = [word for word, count in times.most_common() if count > 1 and 2 * count >= len(titles)]
    phrases = [phrase for title in titles for phrase in topics.find(title)]
    sites = [cluster[0].domain.partition(".")[0]] if len({_host(tab) for tab in cluster}) == 1 else []
    for candidate in (" ".join(common[:2]), *common[:2], *sites, *phrases):
        name = " ".join(word[:1].upper() + word[1:] for word in candidate.split())
        if 3 <= len(name) <= 48 and name not in taken and not empty_name(name):
            return name
    return None


def _words(title: str) -> list[str]:
    return [word for word in re.findall(r"[^\W\d_]{3,}", title.casefold()) if word not in STOP]


def _host(tab: Tab) -> str:
    return (urlsplit(tab.url).hostname or "").removeprefix("www.")
