"""Whether a page is recognised as what was read before, and that it is quiet where it has nothing to say."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from live import Browser, ago, event, paired, served, settled

from brain.services.index_documents import index_documents
from brain.services.seen_before import seen_before
from brain.workspace import Workspace, open_workspace

DAY = 86_400
STARTER = (
    "A sourdough starter wants flour and water at the same hour each day. Kept warm it doubles within six hours and "
    "smells of apples; kept cold it sleeps for a week. Discard half before you feed it, or it turns sour and weak."
)
ALIKE = (
    "Your sourdough starter needs water and flour daily at one hour. In warmth it is twice the size after six hours, "
    "and it smells like apples; in the cold it sleeps a week. Half is thrown away before feeding, else it goes sour."
)
OTHER = (
    "The ferry to the islands leaves at seven and takes four hours. Bring a coat, since it is cold on deck even in "
    "July, and book the cabin early. There is a small museum of maps near the harbour that opens on Sundays only."
)


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    folder = tmp_path_factory.mktemp("seen")
    made = open_workspace(folder / "home")
    with served(made.home.root, folder / "log") as address:
        browser = paired(address, made)
        read(browser, "https://bread.example/starter", "Keeping a starter", STARTER, 9)
        read(browser, "https://sea.example/ferry", "The ferry", OTHER, 0.5)
        read(
            browser,
            "https://lab.example/zymurgy",
            "Notes",
            f"{'Quite plain words. ' * 8} zymurgical flocculation attenuates krausening",
            9,
        )
        settled(made)
        index_documents(made)
        yield made


def read(browser: Browser, url: str, title: str, text: str, days: float) -> None:
    at = ago(days * DAY)
    browser.send(
        event("visit", url, at, url=url, title=title, transition="link"),
        event("capture", url, at, url=url, title=title, text=text),
    )


def test_a_page_on_the_same_thing_is_recognised_by_its_meaning(ws: Workspace) -> None:
    found = seen_before(ws, "https://other.example/keep", "Keep your sourdough starter alive", ALIKE)
    assert found is not None
    assert (found.title, found.url) == ("Keeping a starter", "https://bread.example/starter")
    assert 0.82 <= (found.similarity or 0) <= 1
    assert found.terms == []
    assert found.last_visited[:10] == ago(9 * DAY).date().isoformat()


def test_rare_words_in_common_are_enough(ws: Workspace) -> None:
    text = "Nothing else is alike in this one, which speaks of many things. " * 4
    text += "Krausening, zymurgical, flocculation."
    found = seen_before(ws, "https://beer.example/", "Beer", text)
    assert found is not None
    assert (found.url, found.similarity) == ("https://lab.example/zymurgy", None)
    assert len(found.terms) >= 3


@pytest.mark.parametrize(
    ("url", "title", "text", "why"),
    [
        ("https://bread.example/starter", "Keeping a starter", STARTER, "the page itself"),
        (
            "https://bread.example/starter?utm_source=x#top",
            "Keeping a starter",
            STARTER,
            "another address of it",
        ),
        ("https://other.example/", "The ferry to the islands", OTHER, "seen within a day"),
        ("https://other.example/", "Starter", "A sourdough starter doubles within six hours.", "too short"),
        (
            "https://other.example/",
            "Tax",
            "The form for the yearly tax return is due in spring. " * 8,
            "unlike all",
        ),
        ("file:///home/me/starter.txt", "Keep", ALIKE, "an address that is never stored"),
    ],
)
def test_it_is_silent_where_there_is_nothing_to_say(
    ws: Workspace, url: str, title: str, text: str, why: str
) -> None:
    assert seen_before(ws, url, title, text) is None, why


def test_an_empty_lake_and_a_lake_without_index_have_seen_nothing(tmp_path: Path) -> None:
    empty = open_workspace(tmp_path / "home")
    assert seen_before(empty, "https://other.example/", "Keep", ALIKE) is None
    empty.lake.ensure()
    assert seen_before(empty, "https://other.example/", "Keep", ALIKE) is None


def test_the_question_leaves_no_trace(ws: Workspace) -> None:
    seen_before(ws, "https://other.example/keep", "Keep your starter alive", ALIKE)
    with ws.lake.read(what="test") as con:
        assert con.execute("SELECT count(*) FROM store.urls WHERE url LIKE '%other.example%'").fetchall() == [
            (0,)
        ]
