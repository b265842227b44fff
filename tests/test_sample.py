"""The generated sample: true schemas, exact sizes, sound references, and questions whose answers are there."""

import hashlib
import json
import re
import sqlite3
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from brain.errors import UsageError
from brain.sample import SCALES, SampleReport, generate
from brain.sample.chromium import WINDOWS_EPOCH_US
from brain.sample.firefox import url_hash
from brain.sample.queries import FAMILIES
from brain.sample.sqlite_file import _statements

END = date(2026, 11, 30)
END_US = int(datetime(2026, 11, 30, tzinfo=UTC).timestamp()) * 1_000_000

URL_COLUMNS = "id url title visit_count typed_count last_visit_time hidden"
VISIT_COLUMNS = (
    "id url visit_time from_visit external_referrer_url transition segment_id visit_duration"
    " incremented_omnibox_typed_score opener_visit originator_cache_guid originator_visit_id originator_from_visit"
    " originator_opener_visit is_known_to_sync consider_for_ntp_most_visited visited_link_id app_id"
)
PLACE_COLUMNS = (
    "id url title rev_host visit_count hidden typed frecency last_visit_date guid foreign_count url_hash description"
    " preview_image_url site_name origin_id recalc_frecency alt_frecency recalc_alt_frecency"
)

Row = tuple[Any, ...]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SampleReport:
    return generate(tmp_path_factory.mktemp("small"), "small", seed=1, end=END)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> SampleReport:
    return generate(tmp_path_factory.mktemp("demo"), "demo", seed=1, end=END)


def rows(report: SampleReport, browser: str, sql: str) -> list[Row]:
    path = next(f.path for f in report.files if f.browser == browser)
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def value(report: SampleReport, browser: str, sql: str) -> Any:
    return rows(report, browser, sql)[0][0]


def queries(report: SampleReport) -> list[dict[str, Any]]:
    loaded = json.loads(report.queries.read_text(encoding="utf-8"))
    assert set(loaded) == {"queries"}
    return loaded["queries"]


def pages(report: SampleReport) -> dict[str, str]:
    """Title by URL over both browsers."""
    found = {url: title or "" for url, title in rows(report, "firefox", "SELECT url, title FROM moz_places")}
    return found | dict(rows(report, "chrome", "SELECT url, title FROM urls"))


def words(text: str) -> set[str]:
    plain = unicodedata.normalize("NFKD", text.lower())
    return set(re.findall(r"\w+", "".join(c for c in plain if not unicodedata.combining(c))))


STOP_WORDS = words(
    "a about after again against am an and are as at be because before by can cannot do for from have how i if in is it"
    " its my no not of off on once or out own same so that the their them then this to until up us was what when"
    " where which while who why with without your must s should"
)


def stems(text: str) -> set[str]:
    """Content words without a plural or -ing/-ed ending: crude, and strict enough to catch a shared word."""
    return {re.sub(r"(ing|ed|es|s)$", "", word) for word in words(text) - STOP_WORDS}


def content(folder: Path) -> str:
    """A digest of every row of every database and of the bytes of every other file."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(str(path.relative_to(folder)).encode())
        for line in _dump(path):
            digest.update(line.encode())
    return digest.hexdigest()


def _dump(path: Path) -> Iterator[str]:
    if not path.read_bytes().startswith(b"SQLite format 3"):
        yield path.read_bytes().hex()
        return
    with closing(sqlite3.connect(path)) as connection:
        yield from connection.iterdump()


def test_a_small_sample_has_exactly_the_visits_its_scale_names(small: SampleReport) -> None:
    assert value(small, "chrome", "SELECT count(*) FROM visits") == SCALES["small"].chromium == 260
    assert value(small, "firefox", "SELECT count(*) FROM moz_historyvisits") == SCALES["small"].firefox == 60
    assert small.visits == 320
    assert [(f.kind, f.browser, f.rows) for f in small.files if f.kind == "history"] == [
        ("history", "chrome", {"urls": value(small, "chrome", "SELECT count(*) FROM urls"), "visits": 260}),
        (
            "history",
            "firefox",
            {
                "moz_places": value(small, "firefox", "SELECT count(*) FROM moz_places"),
                "moz_historyvisits": 60,
                "bookmarks": 11,
            },
        ),
        ("history", "fenix", {"moz_places": 31, "moz_historyvisits": 58}),
        ("history", "safari", {"history_visits": 45, "history_items": 30}),
        ("history", "qutebrowser", {"History": 36, "CompletionHistory": 17}),
    ]


def test_files_lie_where_the_browsers_would_keep_them(small: SampleReport) -> None:
    folder = small.queries.parent
    histories = {str(f.path.relative_to(folder)) for f in small.files if f.kind == "history"}
    assert histories == {
        str(Path("chrome/Default/History")),
        str(Path("firefox/k3v9x2qa.default-release/places.sqlite")),
        str(Path("safari/History.db")),
        str(Path("qutebrowser/history.sqlite")),
        str(Path("fenix/places.sqlite")),
    }
    (vault,) = (f.path for f in small.files if f.kind == "notes")
    assert str(vault.relative_to(folder)) == str(Path("moved/Notes"))
    others = sorted(p for p in folder.rglob("*") if p.is_file() and vault not in p.parents)
    assert others == sorted([*(f.path for f in small.files if f.path != vault), folder / "queries.json"])


def test_what_was_moved_answers_none_of_the_questions(small: SampleReport) -> None:
    """No content word of a question stands in it (a number apart), so that each keeps its one best answer."""
    asked = set().union(*(stems(question["text"]) for question in queries(small)))
    moved = tomllib.loads(files("brain.sample").joinpath("moved.toml").read_text("utf-8"))
    for told in (told for kind in moved.values() for told in kind):
        said = [*told.get("turns", []), *(told.get(name, "") for name in ("title", "path", "text"))]
        assert stems(" ".join(said).replace("/", " ")) & asked <= {"one"}


def test_the_report_counts_the_distinct_pages_visited(demo: SampleReport) -> None:
    chrome = rows(demo, "chrome", "SELECT url FROM urls WHERE id IN (SELECT url FROM visits)")
    firefox = rows(demo, "firefox", "SELECT url FROM moz_places")
    assert demo.pages == len({*chrome, *firefox})
    assert demo.pages >= 1_500
    assert len(firefox) + len(chrome) > demo.pages  # some were visited in both browsers


def test_chromium_tables_are_those_of_the_browser(small: SampleReport) -> None:
    tables, indexes = _statements("chromium")
    made = {sql for (sql,) in rows(small, "chrome", "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    assert made == {*tables, *indexes, "CREATE TABLE sqlite_sequence(name,seq)"}
    assert " ".join(r[1] for r in rows(small, "chrome", "PRAGMA table_info(urls)")) == URL_COLUMNS
    assert " ".join(r[1] for r in rows(small, "chrome", "PRAGMA table_info(visits)")) == VISIT_COLUMNS
    assert dict(rows(small, "chrome", "SELECT key, value FROM meta")) == {
        "mmap_status": "-1",
        "version": "70",
        "last_compatible_version": "16",
    }


def test_firefox_tables_are_those_of_the_browser(small: SampleReport) -> None:
    tables, indexes = _statements("firefox")
    made = {sql for (sql,) in rows(small, "firefox", "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    assert made == {*tables, *indexes, "CREATE TABLE sqlite_sequence(name,seq)"}
    assert " ".join(r[1] for r in rows(small, "firefox", "PRAGMA table_info(moz_places)")) == PLACE_COLUMNS
    assert value(small, "firefox", "PRAGMA user_version") == 86


def test_chromium_keeps_a_rollback_journal_and_firefox_a_closed_wal(small: SampleReport) -> None:
    # Bytes 18 and 19 of a SQLite header: 1 rollback journal, 2 write-ahead log.
    browsers = ("chrome", "firefox")
    heads = {
        f.browser: f.path.read_bytes()[16:20]
        for f in small.files
        if f.kind == "history" and f.browser in browsers
    }
    assert heads == {"chrome": b"\x10\x00\x01\x01", "firefox": b"\x80\x00\x02\x02"}


@pytest.mark.parametrize("browser", ["chrome", "firefox"])
def test_the_databases_are_sound(demo: SampleReport, browser: str) -> None:
    assert rows(demo, browser, "PRAGMA integrity_check") == [("ok",)]
    assert rows(demo, browser, "PRAGMA foreign_key_check") == []


def test_every_chromium_reference_leads_to_an_earlier_visit_or_a_url(demo: SampleReport) -> None:
    orphans = "SELECT count(*) FROM visits v LEFT JOIN urls u ON u.id = v.url WHERE u.id IS NULL"
    assert value(demo, "chrome", orphans) == 0
    for column in ("from_visit", "opener_visit"):
        wrong = (
            f"SELECT count(*) FROM visits v LEFT JOIN visits f ON f.id = v.{column}"
            f" WHERE v.{column} <> 0 AND (f.id IS NULL OR f.visit_time >= v.visit_time)"
        )
        assert value(demo, "chrome", wrong) == 0
        assert value(demo, "chrome", f"SELECT count(*) FROM visits WHERE {column} <> 0") > 100
    for table in ("visit_source", "context_annotations", "content_annotations"):
        key = "id" if table == "visit_source" else "visit_id"
        stray = f"SELECT count(*) FROM {table} WHERE {key} NOT IN (SELECT id FROM visits)"
        assert value(demo, "chrome", stray) == 0


def test_every_firefox_reference_leads_to_an_earlier_visit_or_a_place(demo: SampleReport) -> None:
    wrong = (
        "SELECT count(*) FROM moz_historyvisits v LEFT JOIN moz_places p ON p.id = v.place_id"
        " LEFT JOIN moz_historyvisits f ON f.id = v.from_visit LEFT JOIN moz_origins o ON o.id = p.origin_id"
        " WHERE p.id IS NULL OR o.id IS NULL"
        " OR v.from_visit <> 0 AND (f.id IS NULL OR f.visit_date >= v.visit_date)"
    )
    assert value(demo, "firefox", wrong) == 0
    redirects = (
        "SELECT count(*), sum(p.hidden), sum(v.visit_type = 1) FROM moz_historyvisits t JOIN moz_historyvisits v"
        " ON v.id = t.from_visit JOIN moz_places p ON p.id = v.place_id WHERE t.visit_type = 6"
    )
    assert rows(demo, "firefox", redirects) == [(15, 15, 15)]


def test_nothing_happens_after_the_end(demo: SampleReport, tmp_path: Path) -> None:
    assert value(demo, "chrome", "SELECT max(visit_time) FROM visits") - WINDOWS_EPOCH_US <= END_US
    assert value(demo, "firefox", "SELECT max(visit_date) FROM moz_historyvisits") <= END_US
    morning = datetime(2026, 3, 29, 6, 30, tzinfo=UTC)
    report = generate(tmp_path, "small", seed=3, end=morning)
    newest = value(report, "chrome", "SELECT max(visit_time) FROM visits") - WINDOWS_EPOCH_US
    assert newest <= int(morning.timestamp()) * 1_000_000


def test_summaries_of_urls_agree_with_their_visits(demo: SampleReport) -> None:
    wrong = (
        "SELECT count(*) FROM urls u JOIN (SELECT url, max(visit_time) AS last FROM visits GROUP BY url) v"
        " ON v.url = u.id WHERE v.last <> u.last_visit_time"
    )
    assert value(demo, "chrome", wrong) == 0
    wrong = wrong.replace("urls u", "moz_places u").replace("FROM visits", "FROM moz_historyvisits")
    wrong = wrong.replace("url, max(visit_time)", "place_id AS url, max(visit_date)").replace(
        "GROUP BY url", "GROUP BY 1"
    )
    assert value(demo, "firefox", wrong.replace("last_visit_time", "last_visit_date")) == 0
    expired = "SELECT count(*) FROM urls WHERE id NOT IN (SELECT url FROM visits)"
    assert value(demo, "chrome", expired) == 4_500 // 200


def test_instants_of_one_browser_are_all_different(demo: SampleReport) -> None:
    assert value(demo, "chrome", "SELECT count(DISTINCT visit_time) FROM visits") == 4_500


def test_every_way_of_arriving_occurs(demo: SampleReport) -> None:
    codes = Counter(t & 0xFFFFFFFF for (t,) in rows(demo, "chrome", "SELECT transition FROM visits"))
    assert set(codes) == {
        0x30000000,  # link
        0x32000001,  # typed
        0x30000002,  # bookmark
        0x30000003,  # frame
        0x32000005,  # search from the address bar
        0x30000007,  # form
        0x30000008,  # reload
        0x31000000,  # back or forward
        0x10000000,  # redirecting page
        0xA0000000,  # page redirected to
    }
    assert codes[0x10000000] == codes[0xA0000000] == 4_500 // 40
    assert codes[0x30000003] == 4_500 // 60
    assert value(demo, "chrome", "SELECT min(transition) FROM visits") == 0xA0000000 - 2**32


def test_times_spent_can_be_unknown_and_visits_can_come_from_a_phone(demo: SampleReport) -> None:
    assert value(demo, "chrome", "SELECT count(*) FROM visits WHERE visit_duration = 0") > 300
    unknown = "SELECT count(*) FROM context_annotations WHERE total_foreground_duration = -1000000"
    assert value(demo, "chrome", unknown) > 300
    too_long = (
        "SELECT count(*) FROM visits v JOIN context_annotations c ON c.visit_id = v.id"
        " WHERE c.total_foreground_duration > v.visit_duration"
    )
    assert value(demo, "chrome", too_long) == 0
    phone = "SELECT count(*) FROM visit_source s JOIN visits v USING (id) WHERE v.originator_cache_guid <> ''"
    assert value(demo, "chrome", phone) == value(demo, "chrome", "SELECT count(*) FROM visit_source") > 20


def test_the_sample_holds_what_privacy_rules_must_deal_with(demo: SampleReport) -> None:
    urls = " ".join(pages(demo))
    for part in (
        "#access_token=",
        ";jsessionid=",
        "X-Amz-Signature=",
        "file:///home/",
        "chrome://",
        "sparhafen-bank",
    ):
        assert part in urls
    assert any(not title for title in pages(demo).values())


def test_demo_titles_are_many_and_different(demo: SampleReport) -> None:
    titles = {t for (t,) in rows(demo, "chrome", "SELECT title FROM urls") if t and not t.endswith(" - Seek")}
    assert len(titles) >= 1_000


def test_search_result_pages_keep_their_terms(demo: SampleReport) -> None:
    found = rows(
        demo,
        "chrome",
        "SELECT u.title, k.term, k.normalized_term FROM keyword_search_terms k JOIN urls u ON u.id = k.url_id",
    )
    assert len(found) > 100
    assert all(title == f"{term} - Seek" and term == lower for title, term, lower in found)


def test_pages_outside_the_odd_ones_use_reserved_hosts_only(demo: SampleReport) -> None:
    hosts = {
        re.sub(r"^https://([^/]*@)?", "", u).split("/")[0].split(":")[0]
        for u in pages(demo)
        if u[:6] == "https:"
    }
    assert {host for host in hosts if not host.endswith(".example")} == set()


def test_questions_have_the_documented_shape(small: SampleReport) -> None:
    found = queries(small)
    assert {tuple(q) for q in found} == {("id", "family", "text", "since", "until", "answers", "split")}
    assert len({q["id"] for q in found}) == len(found)
    counts = Counter(q["family"] for q in found)
    assert list(counts) == list(FAMILIES)
    least = {"paraphrase": 30, "typo": 12, "cjk": 10, "exact": 14, "time-bounded": 10, "no-answer": 10}
    assert all(counts[family] >= number for family, number in least.items())
    assert counts["recency-conflict"] >= 6
    for family, number in counts.items():
        halves = Counter(q["split"] for q in found if q["family"] == family)
        assert halves == {"tune": number - number // 2, "report": number // 2}


@pytest.mark.parametrize("scale", ["small", "demo"])
def test_every_answer_is_a_page_of_the_sample(scale: str, request: pytest.FixtureRequest) -> None:
    report = request.getfixturevalue(scale)
    known = pages(report)
    for query in queries(report):
        assert all(answer in known for answer in query["answers"]), query["id"]
        assert len(query["answers"]) == (query["family"] != "no-answer")


def test_what_has_no_answer_stands_nowhere(demo: SampleReport) -> None:
    everything = " ".join(f"{url} {title}" for url, title in pages(demo).items()).lower()
    present = words(everything)
    for query in queries(demo):
        if query["family"] == "no-answer":
            text = query["text"].lower()
            assert text not in everything
            distinctive = {w for w in words(text) if len(w) > 3 and w not in ("https", "example")}
            assert not distinctive & present - {"missing", "nowhere"}, text


def test_a_paraphrase_shares_no_word_with_its_page(small: SampleReport) -> None:
    known = pages(small)
    for query in queries(small):
        if query["family"] == "paraphrase":
            (answer,) = query["answers"]
            assert not stems(query["text"]) & stems(f"{known[answer]} {answer}"), query["text"]


def test_a_typo_question_has_a_word_that_its_page_lacks(small: SampleReport) -> None:
    known = pages(small)
    for query in queries(small):
        if query["family"] == "typo":
            (answer,) = query["answers"]
            assert words(query["text"]) - words(f"{known[answer]} {answer}"), query["text"]


def test_only_the_page_of_an_exact_question_holds_its_id(demo: SampleReport) -> None:
    known = pages(demo)
    for query in queries(demo):
        if query["family"] == "exact" and " " not in query["text"]:
            text = query["text"].lower()
            holders = [u for u, t in known.items() if text in u.lower() or text in t.lower()]
            assert holders == query["answers"]


def test_a_bounded_question_is_about_the_one_page_visited_then(demo: SampleReport) -> None:
    sql = "SELECT u.url, u.title, v.visit_time FROM visits v JOIN urls u ON u.id = v.url"
    seen = [(url, words(title), at - WINDOWS_EPOCH_US) for url, title, at in rows(demo, "chrome", sql)]
    for query in queries(demo):
        if query["family"] != "time-bounded":
            assert query["since"] is query["until"] is None
            continue
        since, until = (
            int(datetime.fromisoformat(query[bound]).timestamp()) * 1_000_000 for bound in ("since", "until")
        )
        matching = [(url, at) for url, title, at in seen if words(query["text"]) <= title]
        assert {url for url, at in matching if since <= at < until} == set(query["answers"])
        assert {url for url, _ in matching} > set(query["answers"])


def test_a_recency_conflict_has_an_older_page_of_the_same_title_seen_more_often(demo: SampleReport) -> None:
    visits: dict[str, list[tuple[int, str]]] = {}
    chrome = (
        "SELECT u.title, u.url, v.visit_time - 11644473600000000 FROM visits v JOIN urls u ON u.id = v.url"
    )
    firefox = (
        "SELECT p.title, p.url, v.visit_date FROM moz_historyvisits v JOIN moz_places p ON p.id = v.place_id"
    )
    for title, url, at in rows(demo, "chrome", chrome) + rows(demo, "firefox", firefox):
        visits.setdefault(title, []).append((at, url))
    known = pages(demo)
    for query in queries(demo):
        if query["family"] == "recency-conflict":
            (answer,) = query["answers"]
            history = visits[known[answer]]
            count = Counter(url for _, url in history)
            assert len(count) == 2
            assert max(history)[1] == answer
            assert count[answer] < count.total() / 2


def test_the_same_seed_gives_the_same_rows_and_another_seed_other_ones(tmp_path: Path) -> None:
    for name, seed in (("first", 7), ("again", 7), ("other", 8)):
        generate(tmp_path / name, "small", seed=seed, end=END)
    assert content(tmp_path / "first") == content(tmp_path / "again")
    assert content(tmp_path / "first") != content(tmp_path / "other")


def test_an_earlier_sample_in_the_folder_is_replaced(tmp_path: Path) -> None:
    generate(tmp_path, "small", seed=1, end=END)
    before = content(tmp_path)
    generate(tmp_path, "small", seed=2, end=END)
    generate(tmp_path, "small", seed=1, end=END)
    assert content(tmp_path) == before


def test_moving_the_end_moves_the_questions_with_it(tmp_path: Path) -> None:
    report = generate(tmp_path, "small", end=date(2026, 6, 10))
    bounded = next(q for q in queries(report) if q["id"] == "time-bounded-01")
    assert (bounded["since"], bounded["until"]) == (
        "2026-03-23T00:00:00.000000Z",
        "2026-04-01T00:00:00.000000Z",
    )


def test_steps_are_told(tmp_path: Path) -> None:
    told: list[str] = []
    generate(tmp_path, "small", end=END, progress=told.append)
    assert told == ["pages", "Chromium history", "Firefox history", "questions"]


def test_wrong_wishes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="small, demo, large, 1m"):
        generate(tmp_path, "huge")
    with pytest.raises(UsageError, match="seed"):
        generate(tmp_path, "small", seed=-1)
    with pytest.raises(UsageError, match="time zone"):
        generate(tmp_path, "small", end=datetime(2026, 1, 1))
    assert list(tmp_path.iterdir()) == []


def test_url_hash_is_the_one_firefox_stores() -> None:
    assert url_hash("http://127.0.0.1:38081/docs/page-0?utm_source=x&i=0") == 125510924750308
    assert url_hash("http://127.0.0.1:38081/docs/page-1?utm_source=x&i=1") == 125508658740731
    assert url_hash("https://www.mozilla.org/about/") == 47357608426557


def test_a_large_sample_has_a_hundred_thousand_chromium_visits(tmp_path: Path) -> None:
    report = generate(tmp_path, "large", seed=1, end=END)
    assert value(report, "chrome", "SELECT count(*) FROM visits") == 100_000
    assert value(report, "chrome", "SELECT count(DISTINCT visit_time) FROM visits") == 100_000
    assert rows(report, "chrome", "PRAGMA quick_check") == [("ok",)]
    assert 28_000 < report.pages < 36_000
