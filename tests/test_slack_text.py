"""What a Slack message says: mrkdwn, blocks, attachments, and the links in all of them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.slack.text import Link, Names, content_of, plain

NAMES = Names({"U1": "Ana"}, {"C1": "general"})


@pytest.mark.parametrize(
    ("mrkdwn", "said"),
    [
        ("Hi <@U1>, ask <@U2> or <@W3|sam>", "Hi @Ana, ask @U2 or @sam"),
        ("in <#C1>, <#C1|>, <#C9|lobby>", "in #general, #general, #lobby"),
        ("<!here> <!channel> <!everyone|everyone>", "@here @channel @everyone"),
        ("<!subteam^S1|@ops> <!subteam^S2>", "@ops subteam^S2"),
        ("<!date^1392734382^{date_short}|Feb 18>", "Feb 18"),
        ("<https://a.example/?x=1&amp;y=2>", "https://a.example/?x=1&y=2"),
        ("<https://a.example/|the page>", "the page (https://a.example/)"),
        ("<https://a.example|a.example>", "https://a.example"),
        ("<https://a.example/|a | b>", "a | b (https://a.example/)"),
        ("<mailto:a@b.example|a@b.example> <tel:+1555>", "a@b.example +1555"),
        ("&lt;b&gt; &amp;amp; &quot;", "<b> &amp; &quot;"),
        ("`<https://a.example|a.example>` stays", "`a.example` stays"),
        ("```if a &lt; b: <@U1>```", "```if a < b: <@U1>```"),
        ("a < b and b > c", "a < b and b > c"),
        ("<not a link>", "<not a link>"),
    ],
)
def test_mrkdwn_reads_as_a_person_reads_it(mrkdwn: str, said: str) -> None:
    assert plain(mrkdwn, NAMES) == said


def section(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(elements)}]}


def test_blocks_speak_only_where_the_text_is_silent() -> None:
    blocks = [section({"type": "text", "text": "hello "}, {"type": "user", "user_id": "U1"})]
    assert content_of({"text": "said", "blocks": blocks}, NAMES).text == "said"
    for silent in ("", " ", "This content can't be displayed.", None):
        assert content_of({"text": silent, "blocks": blocks}, NAMES).text == "hello @Ana"


def test_links_come_from_every_part_once() -> None:
    message = {
        "text": "<https://one.example|One> and <https://one.example>",
        "blocks": [section({"type": "link", "url": "https://two.example", "text": "Two"})],
        "attachments": [
            {"title": "Three", "title_link": "https://three.example", "text": "<https://four.example>"}
        ],
    }
    assert content_of(message, NAMES).links == [
        Link("https://one.example", "One"),
        Link("https://two.example", "Two"),
        Link("https://three.example", "Three"),
        Link("https://four.example"),
    ]


def test_a_list_a_quote_and_an_unknown_block_keep_their_words() -> None:
    item = {"type": "rich_text_section", "elements": [{"type": "text", "text": "one"}]}
    blocks = [
        {"type": "rich_text", "elements": [{"type": "rich_text_list", "indent": 1, "elements": [item]}]},
        {"type": "section", "text": {"type": "mrkdwn", "text": "see <https://a.example|A>"}},
        {"type": "of_tomorrow", "elements": [{"type": "plain_text", "text": "unknown words"}]},
    ]
    assert content_of({"blocks": blocks}, NAMES).text == "- one\nsee A (https://a.example)\nunknown words"


def test_attachments_then_files_speak_for_a_bot() -> None:
    attachment = {
        "pretext": "Build",
        "title": "#12",
        "fields": [{"title": "state", "value": "<@U1> broke it"}],
    }
    assert (
        content_of({"text": "", "attachments": [attachment]}, NAMES).text
        == "Build\n#12\nstate: @Ana broke it"
    )
    assert content_of({"text": "", "attachments": [{"fallback": "only this"}]}, NAMES).text == "only this"
    assert content_of({"files": [{"title": "plan.pdf"}, {"mode": "tombstone"}]}, NAMES).text == "plan.pdf"
    assert content_of({"file": {"name": "old.txt"}}, NAMES).text == "old.txt"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("<>|@#!^&;`a:/", max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "elements", "url", "fields", "title", "attachments", "blocks", "accessory"]
            ),
            inner
            | st.sampled_from(
                ["rich_text", "rich_text_section", "rich_text_list", "link", "user", "section", "mrkdwn"]
            ),
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("text", "blocks", "attachments", "files", "file"), JSON)
    )
)
def test_no_message_is_too_strange(message: dict[str, Any]) -> None:
    content = content_of(message, NAMES)
    assert isinstance(content.text, str)
    assert all(link.url.startswith("http") for link in content.links)


def test_blocks_within_blocks_without_end_are_cut() -> None:
    block: dict[str, Any] = {"type": "text", "text": "deep"}
    for _ in range(5_000):
        block = {"type": "rich_text_section", "elements": [block]}
    assert content_of({"blocks": [block]}, NAMES).text == ""
