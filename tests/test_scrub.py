import hashlib
import re
import string

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.scrub import scrub, scrub_text, scrub_texts, scrub_url

KEY = bytes(range(32))
MASKED = re.compile(r"~[0-9a-f]{12}")

RANDOM = "9fJx2KqLm8ZrTv4WcYb6NdHs3PgQa7Ue1X"
SLACK = "xoxe-" + "1234567890-abcdef"
GITHUB = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
JWT = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
ANTHROPIC = "sk-ant-" + "api03-abcdefghij0123456789"


def mask(secret: str) -> str:
    return "~" + hashlib.sha256(KEY + b"secret:" + secret.encode()).hexdigest()[:12]


def clean(url: str) -> str:
    """What the column function makes of one URL; it must agree with the row function."""
    column = scrub(pl.Series([url]), KEY)[0]
    assert column == scrub_url(url, KEY)
    return str(column)


# `{secret}` marks what must go; all else must stay.
SECRETS = [
    "https://{user:pass}@example.com/x",
    "https://{ghtoken}@example.com/x",
    "ftp://{user:p@ss}@example.com/x",
    "https://example.com/?access_token={a}",
    "https://example.com/cb#access_token={abc123}&token_type=Bearer&expires_in=3600",
    "https://example.com/cb#state=1&id_token={abc}&refresh_token={d}",
    "https://example.com/cb?code={4/0AX4XfWhabc}&state=xyz",
    "https://example.com/?x=1&API_KEY={z}&y=2",
    "https://example.com/?Api%5FKey={zzz}",
    "https://example.com/?%61ccess_token={zzz}",
    "https://example.com/?user[password]={hunter2}",
    "https://example.com/?user%5Bpassword%5D={hunter2}",
    "https://example.com/?key={AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY}",
    "https://example.com/?key={9fJx2KqLm8Zr}",
    "https://example.com/?session={9fJx2KqLm8ZrTv4W}&sid={9fJx2KqLm8ZrTv4W}",
    "https://example.com/?sig={9fJx2KqLm8ZrTv4WcYb6%3D}&se=2026-01-01",
    "https://example.com/?ticket={ST-1856339-aA5Yuvrxzpv8Tau1cYQ7}",
    "https://example.com/?password={x}&passwd={y}&pwd={z}&otp={123456}",
    "https://example.com/?auth={9fJx2KqLm8ZrTv4W}",
    "https://example.com/?token={9}&signature={8}",
    "https://example.com/?PHPSESSID={abc}",
    "https://example.com/a;jsessionid={0123ABCD}?x=1",
    "https://s3.amazonaws.com/b/k?X-Amz-Credential={AKIA%2F2026}&X-Amz-Signature={abc}&z=1",
    "https://storage.googleapis.com/b/k?X-Goog-Signature={abc}",
    "https://idp.example.com/?SAMLRequest={fZFf}&RelayState=x",
    "https://idp.example.com/?SAMLResponse={fZFf}",
    f"https://files.slack.com/f?t={{{SLACK}}}&u=1",
    f"https://example.com/x/{{{GITHUB}}}/y",
    f"https://example.com/?q={{{JWT}}}",
    f"https://example.com/t/{{{RANDOM}}}",
    f"https://example.com/t/{{{RANDOM}}}/edit?x=1",
    f"https://example.com/#/t/{{{RANDOM}}}",
    "https://example.com/password/reset/{Ab3dE5fG7h}",
    "https://example.com/reset-password/{0f8fad5b-d9cb-469f-a165-70867728950e}",
    "https://example.com/users/confirm_email/{k2J9xQ7pLm}?lang=en",
    "https://example.com/Verify/{9a8b7c6d5e4f}",
    "https://discord.com/invite/{aBcDeF9h}",
    "https://example.com/unsubscribe/{9a8b7c6d5e4f3a2b}",
    "https://example.com/activate/{MTIzNDU2Nzg5MGFiY2Rl}",
    "https://example.com/magic/{9a8b7c6d5e4f}",
    "https://example.com/#/resetPassword/{Ab3dE5fG7hJ9}?x=1",
    "https://hooks.slack.com/services/{T00000000}/{B00000000}/{XXXXXXXXXXXXXXXXXXXXXXXX}",
    "https://discord.com/api/webhooks/123456789012345678/{AbCdEfGh1jKlMn0pQrSt2vWxYz0123456789AbCdEfGh1}",
    "https://example.com/login?next=https%3A%2F%2Fa.com%2Fcb%3Faccess_token%3D{abc}%26x%3D1",
    "https://example.com/login?next=https%253A%252F%252Fa.com%253Faccess_token%253D{abc}%2526x%253D1",
    "https://example.com/login?next=https%3A%2F%2F{u%3Ap}%40a.com%2F",
    "https://example.com/login?next=%2Freset%2F{Ab3dE5fG7h}",
    "https://web.archive.org/web/2020/https://a.com/?token={abc}",
    "view-source:https://a.com/?token={abc}",
    "https://example.com/?a=1&amp;token={abc}",
    "https://例え.jp/日本?token={abc}&q=日本",
]

PLAIN = [
    "https://example.com/",
    "https://example.com/?code=404",
    "https://example.com/?code=python&key=F",
    "https://example.com/?key=UserPreferences2024",
    "https://example.com/?code=ERR_CONNECTION_REFUSED",
    "https://example.com/?key=python-3-12-release-notes",
    "https://example.com/?state=CA&code=94107",
    "https://example.com/?sid=5&session=keynote-2024&ticket=PROJ-1234&auth=true&pass=1",
    "https://example.com/?pageToken=CAUQAA9f8e7d6c5b4a&keyword=python&monkey=banana&zipcode=94107",
    "https://example.com/?access_token=",
    "https://www.google.com/search?q=what+is+an+access_token&sca_esv=9fJx2KqLm8ZrTv4W",
    "https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf&t=42s",
    "https://github.com/a/b/commit/0123456789abcdef0123456789abcdef01234567",
    "https://github.com/a/b/blob/0123456789abcdef0123456789abcdef01234567/src/token.py#L10",
    "https://example.com/sha256/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "https://example.com/u/3f2504e0-4f89-11d3-9a0c-0305e82c3301/edit",
    "https://www.notion.so/My-Page-Title-0123456789abcdef0123456789abcdef",
    "https://medium.com/@a/how-to-build-a-fast-lake-in-python-3-12-3f9a8b7c6d5e",
    "https://example.com/how-to-fix-the-thing-in-python-3-12-and-more-2024-edition-3f9a8b",
    "https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit#gid=0",
    "https://drive.google.com/file/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/view",
    "https://zh.wikipedia.org/wiki/%E6%B5%8F%E8%A7%88%E5%99%A8%E5%8E%86%E5%8F%B2%E8%AE%B0%E5%BD%95",
    "https://example.com/docs/reset/index.html",
    "https://example.com/guides/verify/getting-started",
    "https://example.com/presets/guitar",
    "https://example.com/login?next=https%3A%2F%2Fa.com%2F%3Fq%3D1",
    "https://example.com/@user/post",
    "git@example.com:a/b.git",
    "mailto:someone@example.com",
    "http://localhost:3000/a?b=c",
    "file:///home/me/token.txt",
    "about:blank",
    "nonsense",
    "",
]


def expected(marked: str) -> str:
    def masked(match: re.Match[str]) -> str:
        from urllib.parse import unquote

        return mask(unquote(match[1]))

    return re.sub(r"\{([^{}]*)\}", masked, marked)


@pytest.mark.parametrize("marked", SECRETS)
def test_the_secret_goes_and_every_other_byte_stays(marked: str) -> None:
    assert clean(marked.replace("{", "").replace("}", "")) == expected(marked)


@pytest.mark.parametrize("url", PLAIN)
def test_an_ordinary_url_is_not_touched(url: str) -> None:
    assert clean(url) == url


def test_a_column_is_scrubbed_row_by_row_and_the_callers_column_is_left_alone() -> None:
    dirty = [marked.replace("{", "").replace("}", "") for marked in SECRETS]
    column = pl.Series("url", [*dirty, None, *PLAIN])
    before = column.to_list()
    assert scrub(column, KEY).to_list() == [*map(expected, SECRETS), None, *PLAIN]
    assert column.to_list() == before
    assert scrub(pl.Series([], dtype=pl.String), KEY).to_list() == []


def test_one_secret_has_one_hash_under_one_key() -> None:
    one = clean("https://a.com/?token=s%20cret")
    two = clean("https://b.com/x?next=%2F%3Ftoken%3Ds%2520cret")
    assert MASKED.findall(one) == MASKED.findall(two) == [mask("s cret")]
    assert scrub_url("https://a.com/?token=s%20cret", bytes(32)) != one
    assert scrub_url("https://a.com/?token=s%20cret") == "https://a.com/?token=~000000000000"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://a.com/?token=abc123. ok", f"see https://a.com/?token={mask('abc123')}. ok"),
        ("(https://u:p@a.com/)", f"(https://{mask('u:p')}@a.com/)"),
        (f"my key {AWS}, sorry", f"my key {mask(AWS)}, sorry"),
        (f"{GITHUB} {SLACK}", f"{mask(GITHUB)} {mask(SLACK)}"),
        (f"key={ANTHROPIC}", f"key={mask(ANTHROPIC)}"),
        (f"cookie {JWT}", f"cookie {mask(JWT)}"),
        (
            "Authorization: Bearer abcdefghijklmnop1234",
            f"Authorization: Bearer {mask('abcdefghijklmnop1234')}",
        ),
        ("password: hunter2 works", f"password: {mask('hunter2')} works"),
        ('api_key = "a1b2c3d4e5"', f'api_key = "{mask("a1b2c3d4e5")}"'),
        ("the token: bucket algorithm", "the token: bucket algorithm"),
        ("How to reset a password", "How to reset a password"),
        ("task-force sk-learn desk-jockey", "task-force sk-learn desk-jockey"),
        ("", ""),
    ],
)
def test_secrets_in_free_text(text: str, expected: str) -> None:
    assert scrub_text(text, KEY) == expected
    assert scrub_text(expected, KEY) == expected
    assert scrub_texts(pl.Series([text, None]), KEY).to_list() == [expected, None]


def test_a_private_key_block_goes_whole_even_when_cut_off() -> None:
    block = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----"
    assert scrub_text(f"a {block} b", KEY) == f"a {mask(block)} b"
    assert scrub_text(f"a {block[:45]}", KEY) == f"a {mask(block[:45])}"


WORDS = st.sampled_from(
    ["a", "lake", "python", "3", "2024", "how-to", "index.html", "%E6%B5%8F", "été", "_x", ""]
)
NAMES = st.sampled_from(
    ["q", "page", "lang", "v", "id", "sort", "keyword", "monkeys", "codec", "author", "tokens"]
)


@st.composite
def plain_urls(draw: st.DrawFn) -> str:
    path = "/".join(draw(st.lists(WORDS, max_size=5)))
    query = "&".join(f"{draw(NAMES)}={draw(WORDS)}" for _ in range(draw(st.integers(0, 4))))
    return f"https://example.com/{path}?{query}#{draw(WORDS)}"


@settings(deadline=None, max_examples=100)
@given(plain_urls())
def test_urls_without_secrets_come_back_identical(url: str) -> None:
    assert clean(url) == url


TOKENS = st.text(string.ascii_letters + string.digits, min_size=6, max_size=40)
ANY_URLS = st.builds(
    "".join,
    st.lists(
        st.one_of(
            st.sampled_from(
                ["https://", "a.com", "/", "?", "&", "#", ";", "=", "@", ":", "%3D", "%26", "%3F", "%2F", "%25", "!",
                 "~", "token=", "key=", "code=", "state=1", "access_token%3D", "/reset/", "#/", "xoxb-",
                 "hooks.slack.com", "/services/", "%5B", "sig", "~0123456789ab", "-", ".", "mailto:", "ghp_", "%61uth"]
            ),
            TOKENS,
            st.text(max_size=3),
        ),
        max_size=14,
    ),
)  # fmt: skip


@settings(deadline=None, max_examples=120)
@given(st.lists(ANY_URLS, min_size=1, max_size=6))
def test_the_column_finds_what_the_row_function_finds(urls: list[str]) -> None:
    assert scrub(pl.Series(urls), KEY).to_list() == [scrub_url(url, KEY) for url in urls]


@settings(deadline=None, max_examples=120)
@given(ANY_URLS)
def test_scrubbing_twice_changes_nothing(url: str) -> None:
    once = scrub_url(url, KEY)
    assert scrub_url(once, KEY) == once
    text = scrub_text(url, KEY)
    assert scrub_text(text, KEY) == text


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(["access_token", "api_key", "PASSWORD", "X-Amz-Signature", "client_secret"]), TOKENS)
def test_no_trace_of_a_named_secret_is_left(name: str, secret: str) -> None:
    secret = f"zz{secret}"  # never part of the rest of the URL
    for url in (
        f"https://a.com/?{name}={secret}&x=1",
        f"https://a.com/#{name}={secret}",
        f"https://a.com/?n=%3F{name}%3D{secret}",
    ):
        assert secret not in clean(url)
