"""Search as a person uses it: what is asked for comes first, and nothing is hidden or made up."""

from pathlib import Path

import pytest
from concepts import Concepts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain import querytext
from brain.errors import UsageError
from brain.index import Index
from brain.models import Document
from brain.search import Filters, related, search
from brain.snippets import snippet

TITLES = {
    "refused": ("ERR_CONNECTION_REFUSED in Chrome - how to fix", "https://support.google.com/chrome/a"),
    "mysql": ("Connection refused by MySQL server", "https://stackoverflow.com/q/1"),
    "v231": ("Release v2.3.1 of thing", "https://github.com/x/thing/releases/tag/v2.3.1"),
    "v232": ("Release v2.3.2 of thing", "https://github.com/x/thing/releases/tag/v2.3.2"),
    "v321": ("Release v3.2.1 of thing", "https://github.com/x/thing/releases/tag/v3.2.1"),
    "proj1482": ("PROJ-1482 Login broken", "https://jira.example.com/browse/PROJ-1482"),
    "proj148": ("PROJ-148 Logout broken", "https://jira.example.com/browse/PROJ-148"),
    "cafe": ("Café Central, Wien", "https://cafe.example.at/"),
    "tokyo": ("東京の天気予報", "https://tenki.example.jp/"),
    "kyoto": ("京都旅行ガイド", "https://travel.example.jp/kyoto"),
    "beijing": ("北京旅游攻略", "https://lvyou.example.cn/"),
    "ingress": ("Kubernetes ingress tutorial", "https://kubernetes.io/docs/ingress"),
    "asyncio": ("Python asyncio event loop", "https://docs.python.org/3/library/asyncio.html"),
    "bread": ("How to bake sourdough bread at home", "https://bread.example.com/1"),
    "ankle": ("Treating a sprained ankle", "https://health.example.org/a"),
    "hamlet": ("To be, or not to be", "https://poems.example.org/"),
    "budget": ("Budget planning spreadsheet", "https://money.example.org/"),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    made = Index(tmp_path_factory.mktemp("search") / "index.lance")
    made.upsert(
        Document(
            id=name,
            kind="page",
            text="",
            title=title,
            url=url,
            domain=".".join(url.split("/")[2].split(".")[-2:]),
            source="firefox" if name == "mysql" else "chromium",
            origin="chrome/Default",
            first_us=at * 1_000_000,
            last_us=at * 1_000_000,
            visit_count=at,
        )
        for at, (name, (title, url)) in enumerate(TITLES.items(), 1)
    )
    made.embed_pending(Concepts())
    made.optimize()
    return made


@pytest.fixture(params=[True, False], ids=["hybrid", "no model"])
def embedder(request: pytest.FixtureRequest) -> Concepts | None:
    return Concepts() if request.param else None


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("ERR_CONNECTION_REFUSED", "refused"),
        ("v2.3.1", "v231"),
        ("2.3.1", "v231"),
        ("v3.2.1", "v321"),
        ("PROJ-1482", "proj1482"),
        ("proj-148", "proj148"),
        ("https://kubernetes.io/docs/ingress", "ingress"),
        ("http://www.kubernetes.io/docs/ingress/", "ingress"),
        ("docs.python.org/3/library", "asyncio"),
        ("cafe", "cafe"),
        ("CAFÉ", "cafe"),
        ("天気", "tokyo"),
        ("旅行", "kyoto"),
        ("旅游", "beijing"),
        ("to be or not to be", "hamlet"),
        ("kuberntes", "ingress"),
        ("pyhton asyncoi", "asyncio"),
        ("what's the budget?", "budget"),
    ],
)
def test_the_one_meant_comes_first(index: Index, embedder: Concepts | None, query: str, first: str) -> None:
    assert search(index, embedder, query).hits[0].id == first


@pytest.mark.parametrize(
    "query",
    ['"', "AND", "OR NOT", "NOT budget", '"budget" AND (x:y*', "a - b", "(((", "title:budget", "budget^2~",
     "'; DROP TABLE x --", "\\", "%", "the", "?!", "🦓", "\u202eabc", "x" * 5000],
)  # fmt: skip
def test_no_text_is_a_query_language(index: Index, embedder: Concepts | None, query: str) -> None:
    assert len(search(index, embedder, query).hits) <= 10


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1, max_size=60))
def test_any_text_gives_an_answer_or_is_called_empty(index: Index, query: str) -> None:
    if querytext.parse(query).text:
        assert all(0 <= hit.relevance <= 1 for hit in search(index, Concepts(), query).hits)
    else:
        with pytest.raises(UsageError, match="empty"):
            search(index, Concepts(), query)


def test_a_paraphrase_without_a_shared_word_is_found_by_meaning_alone(index: Index) -> None:
    hits = search(index, Concepts(), "twisted foot injury").hits
    assert (hits[0].id, hits[0].match) == ("ankle", "semantic")
    assert search(index, Concepts(), "sourdough").hits[0].match == "both"
    assert search(index, None, "sourdough").hits[0].match == "keyword"


def test_a_query_without_an_answer_gets_none(index: Index, embedder: Concepts | None) -> None:
    assert search(index, embedder, "mortgage refinancing penguins").hits == []


def test_relevance_never_rises_with_rank(index: Index, embedder: Concepts | None) -> None:
    for query in ("release of thing", "connection refused server", "broken login", "v2.3.1"):
        shown = [hit.relevance for hit in search(index, embedder, query).hits]
        assert len(shown) > 1
        assert shown == sorted(shown, reverse=True)


def test_a_hit_carries_what_a_result_shows(index: Index) -> None:
    hit = search(index, None, "asyncio").hits[0]
    assert (hit.kind, hit.title, hit.url, hit.visit_count, hit.origin, hit.last_visited) == (
        "page",
        "Python asyncio event loop",
        "https://docs.python.org/3/library/asyncio.html",
        13,
        "chrome/Default",
        "1970-01-01T00:00:13.000000Z",
    )


def test_missing_models_and_vectors_are_said(index: Index, tmp_path: Path) -> None:
    assert search(index, None, "bread").degraded == ["keyword only: no embedding model"]
    assert search(index, None, "bread", mode="keyword").degraded == []
    assert search(index, Concepts(), "bread").degraded == []
    fresh = Index(tmp_path / "index.lance")
    fresh.upsert([Document("a", "note", "sourdough starter")])
    fresh.embed_pending(Concepts())
    fresh.upsert([Document("b", "note", "sourdough crust")])
    answer = search(fresh, Concepts(), "sourdough")
    assert {hit.id for hit in answer.hits} == {"a", "b"}
    assert answer.degraded == ["1 document not yet embedded: found by keyword only"]


# --- filters


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (Filters(sources=["firefox"]), ["mysql"]),
        (Filters(domain="stackoverflow.com"), ["mysql"]),
        (Filters(domain="Support.Google.com"), ["refused"]),
        (Filters(domain="google.com"), ["refused"]),
        (Filters(domain="x' OR 'a'='a"), []),
        (Filters(kinds=["note"]), []),
        (Filters(kinds=["page"], since_us=2_000_000), ["mysql"]),
        (Filters(until_us=2_000_000), ["refused"]),
        (Filters(since_us=1_000_000, until_us=2_000_000), ["refused"]),
        (Filters(since_us=3_000_000, until_us=4_000_000), []),
    ],
)
def test_filters_decide_what_is_looked_at(
    index: Index, embedder: Concepts | None, filters: Filters, found: list[str]
) -> None:
    hits = search(index, embedder, "connection refused", filters).hits
    assert [hit.id for hit in hits if hit.id in ("refused", "mysql")] == found


def test_filters_come_before_ranking(tmp_path: Path) -> None:
    index = Index(tmp_path / "index.lance")
    index.upsert([Document(f"p{n}", "page", "sourdough bread " * 3) for n in range(400)])
    index.upsert([Document("n", "note", "somewhere at its end this longer note has a word on sourdough too")])
    index.embed_pending(Concepts())
    for embedder in (Concepts(), None):
        assert [hit.id for hit in search(index, embedder, "sourdough", Filters(kinds=["note"])).hits] == ["n"]


def test_a_page_seen_before_and_after_is_inside_only_if_a_visit_is(tmp_path: Path) -> None:
    index = Index(tmp_path / "index.lance")
    spans = {
        "before": (1, 9),
        "spanning": (1, 30),
        "inside": (12, 15),
        "ends": (5, 19),
        "after": (20, 40),
        "starts": (10, 60),
    }
    index.upsert(
        Document(name, "page", "zebra", first_us=first, last_us=last) for name, (first, last) in spans.items()
    )
    asked: list[str] = []

    def visited() -> list[str]:
        asked.append("asked")
        return ["spanning", "before", "it's"]

    def found(**more: object) -> set[str]:
        filters = Filters(since_us=10, until_us=20, **more)  # type: ignore[arg-type]
        return {hit.id for hit in search(index, None, "zebra", filters).hits}

    assert found(inside_ids=visited) == {"inside", "ends", "starts", "spanning"}
    assert found(inside_ids=list) == {"inside", "ends", "starts"}
    assert asked == ["asked"]
    answer = search(index, None, "zebra", Filters(since_us=10, until_us=20), mode="keyword")
    assert answer.degraded == ["items seen both before and after the interval are left out"]


# --- pages, related, arguments


def test_pages_follow_each_other_without_gap_or_repeat(tmp_path: Path) -> None:
    index = Index(tmp_path / "index.lance")
    index.upsert([Document(f"d{n:03d}", "note", f"zebra {'herd ' * n}") for n in range(25)])
    whole = [hit.id for hit in search(index, None, "zebra", limit=25).hits]
    paged: list[str] = []
    cursor = None
    for expected in (10, 10, 5):
        answer = search(index, None, "zebra", limit=10, cursor=cursor)
        assert len(answer.hits) == expected
        paged += [hit.id for hit in answer.hits]
        cursor = answer.cursor
    assert cursor is None
    assert paged == whole
    assert len(set(paged)) == 25


def test_a_cursor_of_another_query_or_of_nobody_is_refused(index: Index) -> None:
    cursor = search(index, None, "release", limit=1).cursor
    with pytest.raises(UsageError, match="another query"):
        search(index, None, "thing", limit=1, cursor=cursor)
    for bad in ("x", "!!", "AAAA", "é"):
        with pytest.raises(UsageError, match="not one of ours"):
            search(index, None, "release", cursor=bad)


@pytest.mark.parametrize(
    "arguments", [{"limit": 0}, {"limit": 101}, {"mode": "magic"}, {"query": " \u200b "}]
)
def test_what_cannot_be_meant_is_a_usage_error(index: Index, arguments: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        search(index, None, **{"query": "x", **arguments})  # type: ignore[arg-type]


def test_related_items_are_neighbours_without_the_item_and_its_other_addresses(tmp_path: Path) -> None:
    index = Index(tmp_path / "index.lance")
    index.upsert(
        [
            Document("a", "page", "", title="Baking sourdough bread", url="https://b.example/1"),
            Document("same", "page", "", title="Baking sourdough bread", url="https://b.example/1?from=mail"),
            Document("near", "page", "", title="Yeast for a better loaf", url="https://b.example/2"),
            Document("far", "page", "", title="Cheap flights to Lisbon", url="https://f.example/"),
        ]
    )
    assert [hit.id for hit in related(index, "a").hits] == []
    index.embed_pending(Concepts())
    assert [hit.id for hit in related(index, "a").hits] == ["near"]
    with pytest.raises(UsageError, match="no document"):
        related(index, "nobody")


# --- words and snippets


def test_a_snippet_shows_the_passage_with_the_words() -> None:
    text = "Title\n" + "filler " * 100 + "the walrus sings at night " + "filler " * 100
    shown = snippet(text, "Title", ["walrus", "sing"])
    assert "walrus sings" in shown
    assert (shown[0], shown[-1]) == ("…", "…")
    assert len(shown) <= 240


def test_a_snippet_is_one_line_of_visible_characters_without_the_title() -> None:
    assert snippet("Title\nsome\x00 te\u200bxt\n\u202eand\tmore", "Title", []) == "some text and more"
    assert snippet("Title", "Title", ["title"]) == ""


@given(st.text(max_size=600), st.lists(st.text(min_size=1, max_size=8), max_size=3))
def test_snippets_are_short_and_printable(text: str, terms: list[str]) -> None:
    shown = snippet(text, None, terms)
    assert len(shown) <= 240
    assert shown.isprintable()


@pytest.mark.parametrize(
    ("a", "b", "edits"),
    [
        ("kubernetes", "kuberntes", 1),
        ("python", "pyhton", 1),
        ("bread", "bred", 1),
        ("cat", "dog", 3),
        ("a", "abcd", 3),
    ],
)
def test_edits_are_counted_up_to_the_bound(a: str, b: str, edits: int) -> None:
    assert querytext.distance(a, b, 5) == edits
    assert querytext.distance(a, b, edits - 1) == edits


def test_ids_are_told_from_words() -> None:
    query = querytext.parse("why does (ERR_FAILED) come in v2.3.1 of https://www.example.org/a/?")
    assert query.ids == ("ERR_FAILED", "v2.3.1", "example.org/a")
    assert querytext.parse("a well-known thing, in 2026: nothing").ids == ()
    assert querytext.parse("the IT of the who").keywords == "IT"
