import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brain.chunking import MAX_TOKENS, Chunk, chunk, estimate_tokens

WORDS = st.sampled_from(
    [
        "budget",
        "a",
        "naïve",
        "ERR_CONNECTION_REFUSED",
        "2026-11-30",
        "預算會議",
        "안녕하세요",
        "Привет",
        "👩‍👩‍👧",
        "e\u0301",
    ]
)
GLUE = st.sampled_from([" ", ". ", "\n", "\n\n", "。", "", "\r\n", "  \t", "! "])
TEXTS = st.one_of(
    st.lists(st.tuples(WORDS, GLUE), max_size=120).map(lambda parts: "".join(w + g for w, g in parts)),
    st.text(max_size=400),
    st.text(alphabet="a\u0301 \ud83d\udc4d🇫🇷\u200d", max_size=400),
)


@given(TEXTS, st.integers(4, 60), st.data())
@settings(max_examples=300, deadline=None)
def test_every_character_is_covered_in_order_and_no_chunk_is_too_large(text, max_tokens, data):
    overlap = data.draw(st.integers(0, max_tokens // 2))
    chunks = chunk(text, max_tokens, overlap)
    assert [c.no for c in chunks] == list(range(len(chunks)))
    assert all(c.text == text[c.start : c.end] for c in chunks)
    assert all(estimate_tokens(c.text) <= max_tokens for c in chunks)
    assert chunks[0].start == 0
    assert chunks[-1].end == len(text)
    for before, after in pairwise(chunks):
        assert before.start < after.start <= before.end < after.end
        assert estimate_tokens(text[after.start : before.end]) <= overlap


@pytest.mark.parametrize("text", ["", "x", " \n ", "One short note.", "word " * 100])
def test_a_text_that_fits_is_one_chunk_of_itself(text):
    assert chunk(text) == [Chunk(0, 0, len(text), text)]


def test_chunks_end_at_paragraphs_before_sentences_before_words():
    sentence = "The quick brown fox jumps over the lazy dog today. "
    assert estimate_tokens(sentence) == 11.5
    paragraphs = (sentence * 3).strip() + "\n\n" + sentence * 5
    assert chunk(paragraphs, 60, 0)[0].text == (sentence * 3).strip() + "\n\n"
    assert chunk(sentence * 8, 60, 0)[0].text == sentence * 5
    words = "lengthening " * 40
    assert {c.text for c in chunk(words, 30, 0)} == {"lengthening " * 10}


def test_neighbours_share_whole_sentences_within_the_overlap():
    text = "".join(f"Sentence number {n} is here. " for n in range(10, 60))
    chunks = chunk(text, 60, 20)
    assert len(chunks) > 5
    for before, after in pairwise(chunks):
        shared = text[after.start : before.end]
        assert shared.startswith("Sentence number ")
        assert shared.endswith("is here. ")


def test_cjk_text_is_cut_by_characters_and_prefers_the_full_stop():
    sentence = "我们讨论了明年的预算和计划。"  # 14 characters
    chunks = chunk(sentence * 30, 100, 0)
    assert [len(c.text) for c in chunks] == [98, 98, 98, 98, 28]
    assert all(c.text.endswith("。") for c in chunks)


@pytest.mark.parametrize(
    "cluster", ["e\u0301", "👩‍👩‍👧", "🇫🇷", "👍🏽", "\r\n", "각", "\ud83d\udc4d", "ก\u0e48"]
)
def test_what_is_seen_as_one_character_is_never_cut(cluster):
    chunks = chunk(cluster * 600, 20, 10)
    assert len(chunks) > 2
    assert all(len(c.text) % len(cluster) == 0 and c.text.startswith(cluster) for c in chunks)


def test_endless_marks_and_endless_blanks_stay_bounded():
    for text in ("a" + "\u0301" * 5_000, " " * 50_000, "x" * 50_000, "\n" * 50_000, "👍\u200d" * 3_000):
        chunks = chunk(text)
        assert max(estimate_tokens(c.text) for c in chunks) <= MAX_TOKENS
        assert max(len(c.text) for c in chunks) <= MAX_TOKENS * 20
        assert chunks[-1].end == len(text)


def test_estimates_are_sums_over_characters():
    assert estimate_tokens("") == 0
    assert estimate_tokens("word") == 1
    assert estimate_tokens("word word") == 2.05
    assert estimate_tokens("12345") == 2
    assert estimate_tokens("預算") == 2
    assert estimate_tokens("안녕") == 4
    assert estimate_tokens("Привет!") == 7
    assert estimate_tokens("é") == estimate_tokens("e") == 0.25
    assert unicodedata.normalize("NFC", "é") == "é"


@pytest.mark.parametrize(("max_tokens", "overlap"), [(3, 0), (0, 0), (100, 51), (100, -1)])
def test_sizes_that_cannot_work_are_refused(max_tokens, overlap):
    with pytest.raises(ValueError, match="cannot overlap"):
        chunk("text", max_tokens, overlap)
