import hashlib
import multiprocessing
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain import urls
from brain.config import Home
from brain.errors import LakeError

KEY = bytes(range(32))


def norm(*texts: str) -> list[str]:
    return urls.normalise(pl.Series(list(texts), dtype=pl.String))["url_norm"].to_list()


def parts(text: str) -> tuple[str, str, str]:
    return urls.normalise(pl.Series([text])).select("scheme", "host", "domain").row(0)


# --- key -----------------------------------------------------------------------------------------------------


def _load(root: str) -> str:
    return urls.load_or_create_key(Home(Path(root))).hex()


def test_the_key_is_made_once_and_private_to_the_user(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    key = urls.load_or_create_key(home)
    assert len(key) == 32
    assert urls.load_or_create_key(home) == key
    assert stat.S_IMODE((home.keys / "lake.key").stat().st_mode) == 0o600
    assert [p.name for p in home.keys.iterdir()] == ["lake.key"]


def test_processes_that_start_together_get_one_key(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        keys = pool.map(_load, [str(tmp_path / "home")] * 9)
    assert len(set(keys)) == 1


def test_a_damaged_key_is_an_error_and_not_replaced(tmp_path: Path) -> None:
    home = Home(tmp_path).ensure()
    (home.keys / "lake.key").write_bytes(b"short")
    with pytest.raises(LakeError, match="damaged"):
        urls.load_or_create_key(home)
    assert (home.keys / "lake.key").read_bytes() == b"short"


# --- ids -----------------------------------------------------------------------------------------------------


def test_ids_follow_the_documented_formula_for_few_rows_and_for_many() -> None:
    texts = [f"https://example.com/ü\\x41/{i}" for i in range(1500)] + [None, ""]
    column = pl.Series(texts, dtype=pl.String)

    def expect(text: str | None, prefix: bytes) -> int | None:
        return None if text is None else int(hashlib.sha256(prefix + text.encode()).hexdigest()[:16], 16)

    assert urls.url_ids(column, KEY).to_list() == [expect(t, KEY) for t in texts]
    assert urls.url_ids(column[-3:], KEY).to_list() == [expect(t, KEY) for t in texts[-3:]]
    assert urls.page_ids(column, KEY).to_list() == [expect(t, KEY + b"page:") for t in texts]
    assert urls.url_ids(column, KEY).dtype == pl.UInt64


def test_ids_and_visit_keys_are_pinned() -> None:
    ids = urls.url_ids(pl.Series(["https://example.com/"]), KEY)
    assert ids.to_list() == [0x2E62C7841D8BC36D]
    assert urls.page_ids(pl.Series(["https://example.com/"]), KEY).to_list() == [0x3899BC38C6484D4B]
    times = pl.Series([1_700_000_000_000_000, -1, None])
    keys = urls.visit_keys(ids.new_from_index(0, 3), times, KEY)
    assert keys.to_list() == [0x2E06EE553AE98C68, 0xDDAC0AB3B668C2D2, None]


def test_visit_keys_follow_the_documented_formula() -> None:
    mask = (1 << 64) - 1

    def mix(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        return z ^ (z >> 31)

    digest = hashlib.sha256(KEY + b"visit:").digest()
    k0, k1 = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:16], "big")
    ids, times = [0, 1, mask], [0, 1_700_000_000_123_456, -5]
    expected = [
        mix(mix(i ^ k0) ^ ((t * 0x9E3779B97F4A7C15 + k1) & mask)) for i, t in zip(ids, times, strict=True)
    ]
    assert urls.visit_keys(pl.Series(ids, dtype=pl.UInt64), pl.Series(times), KEY).to_list() == expected


def test_visit_keys_of_a_million_structured_visits_are_distinct_and_spread_evenly() -> None:
    ids = np.repeat(np.arange(1000, dtype=np.uint64), 1000)  # as if ids were small numbers: the worst case
    times = np.tile(1_700_000_000_000_000 + np.arange(1000) * 1_000_000, 1000)
    keys = urls.visit_keys(pl.Series(ids), pl.Series(times), KEY).to_numpy()
    assert len(np.unique(keys)) == 1_000_000
    for bit in range(64):
        ones = int(((keys >> np.uint64(bit)) & np.uint64(1)).sum())
        assert abs(ones - 500_000) < 3_000  # six standard deviations


def test_one_flipped_bit_flips_half_of_a_visit_key() -> None:
    ids = urls.url_ids(pl.Series([f"u{i}" for i in range(2000)]), KEY)
    times = pl.Series(np.arange(2000) * 1_000_003)
    plain = urls.visit_keys(ids, times, KEY).to_numpy()
    for bit in (0, 1, 20, 45):
        moved = urls.visit_keys(ids, pl.Series(times.to_numpy() ^ (1 << bit)), KEY).to_numpy()
        other = urls.visit_keys(pl.Series(ids.to_numpy() ^ np.uint64(1 << bit)), times, KEY).to_numpy()
        for changed in (moved, other):
            assert 31 < float(np.bitwise_count(plain ^ changed).mean()) < 33


def test_another_key_gives_other_ids() -> None:
    column = pl.Series(["https://example.com/"])
    other = bytes(32)
    assert urls.url_ids(column, KEY)[0] != urls.url_ids(column, other)[0]
    ids, times = pl.Series([1], dtype=pl.UInt64), pl.Series([1])
    assert urls.visit_keys(ids, times, KEY)[0] != urls.visit_keys(ids, times, other)[0]


# --- normalisation -------------------------------------------------------------------------------------------

SAME_PAGE = [
    ("HTTP://Example.COM:80/A/", "https://example.com/A"),
    ("https://www.example.com", "https://example.com/"),
    ("https://example.com.:443/?", "https://example.com/"),
    ("https://user:pw@example.com:8443/", "https://example.com:8443/"),
    ("http://[::1]:3000/x/", "https://[::1]:3000/x"),
    ("https://bücher.example/ü", "https://xn--bcher-kva.example/ü"),
    ("https://example.com/a?utm_source=x&b=2&UTM_Medium=y&a=1&fbclid=z", "https://example.com/a?a=1&b=2"),
    ("https://example.com/?b=&a&a=2&a=1", "https://example.com/?a&a=1&a=2&b="),
    ("https://example.com/?q=a%26b&c=1", "https://example.com/?c=1&q=a%26b"),
    ("https://example.com/a#part", "https://example.com/a"),
    ("https://example.com/a#:~:text=word", "https://example.com/a"),
    ("https://example.com/#/inbox/7?x=1", "https://example.com/#/inbox/7?x=1"),
    ("https://example.com/#!/u/1", "https://example.com/#!/u/1"),
    ("https://example.com/#/", "https://example.com/"),
    ("https://mail.google.com/mail/u/0/#inbox/FMfcg", "https://mail.google.com/mail/u/0#inbox/FMfcg"),
    ("https://youtu.be/dQw4w9WgXcQ?t=42&si=abc", "https://youtube.com/watch?v=dQw4w9WgXcQ"),
    ("https://m.youtube.com/watch?v=dQw4w9WgXcQ&list=PL1&index=3", "https://youtube.com/watch?v=dQw4w9WgXcQ"),
    ("https://www.youtube.com/playlist?list=PL1&si=x", "https://youtube.com/playlist?list=PL1"),
    ("https://www.youtube.com/watch?list=PL1&index=3", "https://youtube.com/watch?index=3&list=PL1"),
    (
        "https://www.google.com/search?q=a+b&sca_esv=1&ei=2&ved=3&udm=2",
        "https://google.com/search?q=a+b&udm=2",
    ),
    ("https://www.google.co.uk/search?q=x&start=10&oq=x", "https://google.co.uk/search?q=x&start=10"),
    ("https://www.google.com/#q=lake", "https://google.com/#q=lake"),
    ("https://www.bing.com/search?q=x&form=QBLH&cvid=1&first=11", "https://bing.com/search?first=11&q=x"),
    ("https://duckduckgo.com/?t=h_&q=x&ia=web", "https://duckduckgo.com/?ia=web&q=x"),
    ("https://www.baidu.com/s?wd=%E4%BD%A0&rsv_spt=1&ie=utf-8", "https://baidu.com/s?wd=%E4%BD%A0"),
    ("https://www.amazon.de/Thing/dp/B000000001/ref=sr_1_1?qid=1&th=1", "https://amazon.de/dp/B000000001"),
    ("https://www.amazon.com/s?k=lamp&crid=1&ref=nb", "https://amazon.com/s?k=lamp"),
    ("https://x.com/u/status/12?s=20&t=abc", "https://x.com/u/status/12"),
    ("https://en.m.wikipedia.org/wiki/Lake", "https://en.wikipedia.org/wiki/Lake"),
    ("file:///home/me/a.html#top", "file:///home/me/a.html"),
    ("CHROME://settings/privacy", "chrome://settings/privacy"),
    ("about:blank#x", "about:blank#x"),
    ("data:text/plain,a?b=1&a=2#x", "data:text/plain,a?b=1&a=2#x"),
    ("javascript:open('http://a.com/')", "javascript:open('http://a.com/')"),
]


@pytest.mark.parametrize(("url", "expected"), SAME_PAGE)
def test_an_address_becomes_this_page(url: str, expected: str) -> None:
    assert norm(url) == [expected]


def test_a_mixed_column_gives_what_each_row_gives_alone() -> None:
    assert norm(*(url for url, _ in SAME_PAGE)) == [expected for _, expected in SAME_PAGE]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://www.google.com/search?q=a", "https://www.google.com/search?q=b"),
        ("https://www.google.com/search?q=a", "https://www.google.com/search?q=a&tbm=isch"),
        ("https://www.google.com/search?tbs=sbi:A", "https://www.google.com/search?tbs=sbi:B"),
        ("https://example.com/search?q=a&page=1", "https://example.com/search?q=a&page=2"),
        ("https://www.youtube.com/watch?v=aaaaaaaaaaa", "https://www.youtube.com/watch?v=bbbbbbbbbbb"),
        ("https://www.youtube.com/results?search_query=a", "https://www.youtube.com/results?search_query=b"),
        ("https://example.com/?q=a%26b", "https://example.com/?q=a&b"),
        ("https://example.com/?q=a", "https://example.com/?q=A"),
        ("https://example.com/a", "https://example.com/A"),
        ("https://m.example.com/", "https://example.com/"),
        ("https://www.com/", "https://com/"),
        ("https://www.github.io/", "https://github.io/"),
        ("https://example.com:8080/", "https://example.com/"),
        ("https://example.com/#/a", "https://example.com/#/b"),
        ("https://example.com/?t=1", "https://example.com/?t=2"),
        ("https://example.com/watch?v=1&list=2", "https://example.com/watch?v=1&list=3"),
    ],
)
def test_two_pages_are_never_merged(one: str, other: str) -> None:
    first, second = norm(one, other)
    assert first != second


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "no url",
        "http://",
        "http:foo",
        "https:///x",
        "http://a:b/",
        "http://[::1/",
        "http://a b/",
        "://",
    ],
)
def test_what_is_no_url_is_its_own_page(text: str) -> None:
    assert norm(text) == [text]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://WWW.Example.co.uk:8443/x", ("https", "www.example.co.uk", "example.co.uk")),
        ("https://alice.github.io/", ("https", "alice.github.io", "alice.github.io")),
        ("http://user@127.0.0.1:80/", ("http", "127.0.0.1", "127.0.0.1")),
        ("http://[2001:DB8::1]:80/", ("http", "[2001:db8::1]", "[2001:db8::1]")),
        ("http://localhost:8888/lab", ("http", "localhost", "localhost")),
        ("https://example.com?x=1", ("https", "example.com", "example.com")),
        ("https://example.com\\@evil.com/", ("https", "example.com", "example.com")),
        ("https://straße.de/", ("https", "xn--strae-oqa.de", "xn--strae-oqa.de")),
        ("file:///a/b", ("file", "", "(file)")),
        ("chrome://settings/x", ("chrome", "settings", "(chrome)")),
        ("about:blank", ("about", "", "(about)")),
        ("blob:https://example.com/1", ("blob", "", "(blob)")),
        ("nonsense", ("", "", "(none)")),
    ],
)
def test_scheme_host_and_domain(url: str, expected: tuple[str, str, str]) -> None:
    assert parts(url) == expected


def test_a_punycode_and_a_unicode_host_are_one_page() -> None:
    assert norm("https://BÜCHER.example/") == norm("https://xn--bcher-kva.example/")


def test_the_callers_column_is_left_alone() -> None:
    column = pl.Series(["https://www.example.com/", "about:blank", "x"])
    urls.normalise(column)
    assert column.to_list() == ["https://www.example.com/", "about:blank", "x"]


def test_empty_and_null_columns() -> None:
    assert norm() == []
    assert urls.normalise(pl.Series([None], dtype=pl.String)).row(0) == ("", "", "", "(none)")
    assert urls.url_ids(pl.Series([], dtype=pl.String), KEY).to_list() == []


HOSTS = st.sampled_from(
    ["example.com", "WWW.www.example.com.", "youtu.be", "www.youtube.com", "google.com", "www.amazon.com", "[::1]",
     "bücher.example", "www.co.uk", "en.m.wikipedia.org", "mail.google.com", "u:p@h", "x.com", "", "1.2.3.4", "a..b"]
)  # fmt: skip
PIECES = st.lists(
    st.sampled_from(
        ["/", "//", "watch", "search", "?", "&", "=", "#", "#!", "#/", "q=1", "v=", "utm_source=a", "list", "%26", "%",
         "dp/B000000001", "/ref=x", ";", ":", "@", "\\", "dQw4w9WgXcQ", "ü", "b=2", "a=1", "s", ":~:", ":80", ":443"]
    ),
    max_size=12,
)  # fmt: skip
ADDRESSES = st.builds(
    lambda scheme, host, rest: scheme + host + "".join(rest),
    st.sampled_from(
        ["http://", "https://", "HTTPS://", "file://", "ftp://", "about:", "http:", "", "://", "chrome://"]
    ),
    HOSTS,
    PIECES,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(ADDRESSES, st.text()), max_size=8))
def test_normalising_twice_changes_nothing(texts: list[str]) -> None:
    once = norm(*texts)
    assert norm(*once) == once


@settings(deadline=None, max_examples=60)
@given(st.lists(ADDRESSES, min_size=1, max_size=8))
def test_rows_do_not_influence_each_other(texts: list[str]) -> None:
    assert norm(*texts) == [norm(text)[0] for text in texts]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("abcq"), st.text("xyz%2B+", max_size=4)), max_size=5), st.randoms())
def test_the_order_of_parameters_does_not_matter(pairs: list[tuple[str, str]], random: object) -> None:
    shuffled = pairs[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = ("https://example.com/?" + "&".join(f"{k}={v}" for k, v in p) for p in (pairs, shuffled))
    assert norm(one) == norm(other)
    kept = norm(one)[0].removeprefix("https://example.com/").removeprefix("?")
    assert sorted(filter(None, kept.split("&"))) == sorted(f"{k}={v}" for k, v in pairs)
