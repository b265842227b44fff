"""Walks in browsers that this person uses less: some of the world's pages once more, a few that stand only there."""

import numpy as np

from brain.sample import sessions
from brain.sample.pages import World
from brain.sample.sessions import Ints
from brain.sample.trail import Trail, walk

Page = tuple[str, str]  # title, host and path


def stroll(rng: np.random.Generator, world: World, visits: int, days: int, end_us: int) -> Trail:
    """About `visits` visits in the `days` before `end_us`, one in twenty through a redirect.

    None goes to a hand-written page: those are what the questions ask for, and keep the visits they have.
    """
    plan = sessions.plan(rng, visits, days, end_us)
    # Only addresses of the web; other schemes are of the browser they were seen in.
    odd = [page for page in world.odd if world.urls[page].startswith("http")]
    return walk(rng, plan, world, [], odd=odd, hops=visits // 20, frames=0, cover=False)


def own_pages(world: World, pages: tuple[Page, ...]) -> Ints:
    """The places of these pages in the world, to which they are added."""
    return np.array([world.add(f"https://{place}", title) for title, place in pages], dtype=np.int64)
