"""The pages of the invented web: hand-written anchors, daily pages, and topics that a grammar multiplies out.

Everything on it is made up. Hosts end in `.example` (reserved by RFC 2606), apart from local addresses.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from math import prod
from string import Formatter
from typing import Any
from urllib.parse import quote_plus

import numpy as np

# One in so many article pages is a second address of the page before it, or has lost its title.
VARIANT_EVERY = 27
UNTITLED_EVERY = 71
VARIANTS = (
    "?utm_source=newsletter&utm_medium=email&utm_campaign=week-{n}",
    "#part-{n}",
    "?ref=feed&fbclid=IwAR{n}",
    "?gclid=Cj0{n}&utm_source=seek",
)
# Running numbers start above every number that an anchor page uses.
FIRST_NUMBER = 2001

_UNSAFE = re.compile(r"[^a-z0-9]+")
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_ID_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@cache
def data(name: str) -> dict[str, Any]:
    """The contents of `<name>.toml` in this package."""
    return tomllib.loads(files("brain.sample").joinpath(f"{name}.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Form:
    """A sentence pattern, the names of its slots in order, and how many sentences it can make."""

    pattern: str
    slots: tuple[str, ...]
    count: int

    @classmethod
    def of(cls, pattern: str, words: Mapping[str, list[str]]) -> "Form":
        names = tuple(dict.fromkeys(n for _, n, _, _ in Formatter().parse(pattern) if n and n != "n"))
        return cls(pattern, names, prod(len(words[n]) for n in names))

    def fill(self, number: int, words: Mapping[str, list[str]]) -> dict[str, str]:
        """The slot words of the `number`-th sentence (0 <= number < count)."""
        chosen = {}
        for name in self.slots:
            number, at = divmod(number, len(words[name]))
            chosen[name] = words[name][at]
        return chosen


@dataclass(slots=True)
class World:
    """All pages, addressed by their position; `articles` and `searches` give each topic's positions."""

    urls: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    terms: dict[int, str] = field(default_factory=dict)  # what was searched for, of search pages
    anchors: range = range(0)
    daily: range = range(0)
    odd: range = range(0)
    frames: range = range(0)
    articles: list[range] = field(default_factory=list)
    searches: list[range] = field(default_factory=list)
    expired: range = range(0)
    hops: dict[int, int] = field(default_factory=dict)  # target page -> the redirecting page before it

    def add(self, url: str, title: str) -> int:
        self.urls.append(url)
        self.titles.append(title)
        return len(self.urls) - 1

    def extend(self, pages: Iterator[tuple[str, str]]) -> range:
        start = len(self.urls)
        for url, title in pages:
            self.add(url, title)
        return range(start, len(self.urls))

    def hop_to(self, page: int) -> int:
        """The page of a link shortener that redirects to `page`."""
        if page not in self.hops:
            self.hops[page] = self.add(f"https://lnk.example/r/{page * 7919 + 104729:x}", "")
        return self.hops[page]


def build(rng: np.random.Generator, articles: list[int], searches: list[int], expired: int) -> World:
    """A world with so many article and search pages per topic (in the order of `topics.toml`).

    `expired` further pages are known by URL only: their visits are older than the history.
    """
    world = World()
    world.anchors = world.extend((a["url"], a["title"]) for a in data("anchors")["page"])
    places = data("places")
    world.daily = world.extend((url, title) for url, title in places["daily"])
    world.odd = world.extend((url.replace("{token}", rng.bytes(20).hex()), t) for url, t in places["odd"])
    world.frames = world.extend((url, "") for url in places["frames"])
    seen = set(world.urls)
    topics = data("topics")["topic"]
    old_each = -(-expired // len(topics))
    leftovers: list[tuple[str, str]] = []
    for topic, wanted in zip(topics, articles, strict=True):
        pages = list(_articles(rng, topic, wanted + old_each, seen))
        world.articles.append(world.extend(iter(pages[:wanted])))
        leftovers += pages[wanted:]
    world.expired = world.extend(iter(leftovers[:expired]))
    for topic, wanted in zip(topics, searches, strict=True):
        world.searches.append(_add_searches(world, rng, topic, wanted, seen))
    return world


def _draw(rng: np.random.Generator, forms: list[Form], wanted: int) -> Iterator[tuple[Form, int, int]]:
    """`wanted` sentences as (form, number, round); all differ until a round has used every one."""
    starts = np.cumsum([0, *(f.count for f in forms)])
    total = int(starts[-1])
    for turn in range(-(-wanted // total)):
        picks = rng.permutation(total)[: wanted - turn * total]
        which = np.searchsorted(starts, picks, side="right") - 1
        for form, number in zip(which.tolist(), (picks - starts[which]).tolist(), strict=True):
            yield forms[form], number, turn


def _articles(
    rng: np.random.Generator, topic: dict[str, Any], wanted: int, seen: set[str]
) -> Iterator[tuple[str, str]]:
    words: dict[str, list[str]] = topic["slots"]
    forms = [Form.of(pattern, words) for pattern in topic["forms"]]
    sites = topic["sites"]
    names = tuple(f"{{{name}}}" for name in topic.get("names", ()))
    site_of = rng.integers(len(sites), size=wanted).tolist()
    url = title = ""
    for at, (form, number, turn) in enumerate(_draw(rng, forms, wanted)):
        running = FIRST_NUMBER + at
        if at % VARIANT_EVERY == VARIANT_EVERY - 1 and "#" not in url and "?" not in url:
            variant = VARIANTS[at // VARIANT_EVERY % len(VARIANTS)].format(n=at)
            seen.add(url + variant)
            yield url + variant, title
            continue
        host, path, suffix = sites[site_of[at]]
        slots = form.fill(number, words)
        bare = form.pattern.format(n=running, **slots)
        if turn:
            bare = f"{bare} ({turn + 1})"
        if not form.pattern.startswith(names):
            bare = bare[0].upper() + bare[1:]
        name = video_id(running, bare) if "{v}" in path else ""
        url = f"https://{host}" + path.format(n=running, slug=slug(bare), v=name, **slots)
        if url in seen:
            url = f"{url}{'&p=' if '?' in url else '-'}{running}"
        seen.add(url)
        title = bare + suffix
        yield url, "" if at % UNTITLED_EVERY == UNTITLED_EVERY - 1 else title


def _add_searches(
    world: World, rng: np.random.Generator, topic: dict[str, Any], wanted: int, seen: set[str]
) -> range:
    words: dict[str, list[str]] = topic["slots"]
    forms = [Form.of(pattern, words) for pattern in topic["searches"]]
    start = len(world.urls)
    for form, number, turn in _draw(rng, forms, wanted):
        term = form.pattern.format(**form.fill(number, words)).lower()
        url = f"https://search.seek.example/search?q={quote_plus(term)}"
        if turn or url in seen:
            url = f"{url}&start={(turn + 1) * 10}"
        seen.add(url)
        world.terms[world.add(url, f"{term} - Seek")] = term
    return range(start, len(world.urls))


def slug(text: str) -> str:
    """The ASCII words of `text` joined by hyphens, at most 80 characters; `page` when there are none."""
    plain = text.lower()
    if not plain.isascii():
        plain = unicodedata.normalize("NFKD", plain.translate(_GERMAN)).encode("ascii", "ignore").decode()
    return _UNSAFE.sub("-", plain)[:80].strip("-") or "page"


def video_id(number: int, text: str) -> str:
    """Eleven characters that look like a video's id, the same for the same arguments."""
    state = number
    for char in text:
        state = (state * 1_000_003 + ord(char)) & 0xFFFF_FFFF_FFFF_FFFF
    state = state << 2 | 1
    return "".join(_ID_ALPHABET[state >> shift & 63] for shift in range(0, 66, 6))
