from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.config import Home, Settings
from brain.errors import UsageError
from brain.policy import DENIED_SCHEMES, Policy, paused


def denied(url: str | None, deny: list[str] | None = None, allow: list[str] | None = None) -> bool:
    return bool(Policy(deny or [], allow or []).denied(pl.Series([url], dtype=pl.String))[0])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://chase.com/", True),
        ("https://www.chase.com/a?b", True),
        ("http://user:pw@CHASE.com.:8080/", True),
        ("https://chase.com?x", True),
        ("https://purchase.com/", False),
        ("https://chase.com.evil.org/", False),
        ("https://evil.org/chase.com", False),
        ("https://evil.org/?u=https://chase.com/", False),
        ("https://chase.com\\@evil.org/", True),
    ],
)
def test_a_domain_covers_its_hosts_and_no_lookalike(url: str, expected: bool) -> None:
    assert denied(url, ["chase.com"]) is expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://sub.example.com/", True),
        ("https://a.sub.example.com/", True),
        ("https://example.com/", False),
        ("https://othersub.example.com/", False),
    ],
)
def test_a_host_covers_itself_and_what_is_below(url: str, expected: bool) -> None:
    assert denied(url, ["sub.example.com"]) is expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/private", True),
        ("https://example.org/private/", True),
        ("https://example.org/private/a/b", True),
        ("https://example.org/private?x=1", True),
        ("https://example.org/private#x", True),
        ("https://www.example.org/%70rivate/x", True),
        ("https://example.org//public/../private", True),
        ("https://example.org/privateer", False),
        ("https://example.org/", False),
        ("https://example.org", False),
        ("https://example.org/a/private", False),
        ("https://example.org/Private", False),
    ],
)
def test_a_path_covers_itself_and_what_is_below(url: str, expected: bool) -> None:
    assert denied(url, ["example.org/private"]) is expected


@pytest.mark.parametrize("scheme", DENIED_SCHEMES)
def test_pages_of_the_browser_itself_are_denied_by_default(scheme: str) -> None:
    assert denied(f"{scheme}:x")
    assert denied(f"{scheme.upper()}://x/y")


def test_ordinary_addresses_are_not_denied_by_default() -> None:
    for url in ("https://example.com/", "http://localhost:3000/", "ftp://example.com/", "nonsense", "", None):
        assert not denied(url)


def test_the_allow_list_lets_a_scheme_or_one_of_its_paths_in() -> None:
    assert not denied("file:///home/me/a.pdf", allow=["file:"])
    assert denied("chrome://settings", allow=["file:"])
    assert not denied("file:///home/me/docs/a.pdf", allow=["file:///home/me/docs"])
    assert denied("file:///home/me/docsets/a.pdf", allow=["file:///home/me/docs/"])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com/", True),
        ("https://docs.example.com/", False),
        ("https://docs.example.com/secret/x", True),
        ("https://docs.example.com/secret/open/x", False),
        ("https://example.com/docs/x", False),
        ("https://both.org/", False),
    ],
)
def test_the_most_specific_entry_decides_and_allow_wins_a_draw(url: str, expected: bool) -> None:
    deny = ["example.com", "docs.example.com/secret", "both.org"]
    allow = ["docs.example.com", "docs.example.com/secret/open", "example.com/docs", "both.org"]
    assert denied(url, deny, allow) is expected


def test_ports_international_names_and_addresses() -> None:
    assert denied("http://localhost:3000/x", ["localhost:3000"])
    assert not denied("http://localhost:3001/x", ["localhost:3000"])
    assert denied("http://localhost:3001/x", ["localhost"])
    assert denied("https://xn--mller-kva.example/", ["müller.example"])
    assert denied("https://www.Müller.example/", ["xn--mller-kva.example"])
    assert denied("http://[::1]:8080/", ["[::1]"])
    assert denied("http://192.168.0.1/", ["192.168.0.1"])
    assert denied("https://example.com/x/y", ["https://example.com/x"])
    assert denied("https://alice.github.io/", ["github.io"])
    assert denied("ftp://example.com/", ["ftp:"])


@pytest.mark.parametrize(
    "entry",
    ["", " ", "*.example.com", "a b.com", "com", "co.uk", "ftp://x.com", "x.com:0", "x.com:99999", "x.com:a", "a..b",
     "-x.com", "https://", "/private", "x.com?q=1", "me@x.com", "x.com#a"],
)  # fmt: skip
def test_an_entry_that_cannot_be_meant_is_named(entry: str) -> None:
    with pytest.raises(UsageError) as caught:
        Policy(deny=["fine.example", entry])
    assert repr(entry) in str(caught.value)
    with pytest.raises(UsageError):
        Policy(allow=[entry])


def test_a_column_is_decided_row_by_row() -> None:
    column = pl.Series(
        ["https://a.com/x", None, "https://a.com/y", "about:blank", "https://b.com/x", "https://a.com/x/"]
    )
    answer = Policy(["a.com/x"]).denied(column)
    assert answer.to_list() == [True, False, False, True, False, True]
    assert answer.dtype == pl.Boolean
    assert Policy().denied(pl.Series([], dtype=pl.String)).to_list() == []


def test_the_fingerprint_tells_policies_apart_and_ignores_order(tmp_path: Path) -> None:
    configured = Settings(home=Home(tmp_path), timezone="UTC", deny=("b.com", "a.com"), allow=("file:",))
    assert Policy.from_settings(configured).fingerprint == Policy(["a.com", "b.com"], ["file:"]).fingerprint
    assert Policy(["a.com"]).fingerprint != Policy(["b.com"]).fingerprint
    assert Policy(["a.com"]).fingerprint != Policy(allow=["a.com"]).fingerprint


def test_paused_is_a_file_in_the_home(tmp_path: Path) -> None:
    assert not paused(Home(tmp_path))
    (tmp_path / "paused").touch()
    assert paused(Home(tmp_path))


ANY_POLICY = Policy(["a.com/b"], ["b"])


@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(st.text(), st.text("ht:/?#@[]\\.%ab").map("http://".__add__)), max_size=6))
def test_no_text_breaks_it(texts: list[str]) -> None:
    answer = ANY_POLICY.denied(pl.Series(texts, dtype=pl.String))
    assert len(answer) == len(texts)
    assert answer.null_count() == 0
