import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_files import published

from brain.embedding import ModelIdentity, install, load
from brain.embedding.minilm import MAX_TOKENS, MiniLM
from brain.embedding.minilm_graph import build_graph
from brain.errors import ModelUnavailable

DOCUMENTS = [
    "How to fix ERR_CONNECTION_REFUSED in Chrome",
    "Sourdough bread with a crisp crust: a beginner's recipe",
    "Quarterly budget review: marketing spend is over plan",
    "Hiking trails in the Austrian Alps with views over the lakes",
    "PostgreSQL: speeding up slow joins with the right index",
    "The history of the printing press in Europe",
    "Symptoms and treatment of seasonal allergies",
    "Cheap flights from Vienna to Lisbon in spring",
    "Training a puppy to walk on a leash",
    "Electric cars: how long do their batteries last?",
]
# Almost no word in common with the document each must find.
NEAREST = {
    "browser cannot reach the site": 0,
    "baking a loaf at home": 1,
    "our advertising costs too much": 2,
    "walking in the mountains": 3,
    "database query performance tuning": 4,
    "Gutenberg and movable type": 5,
    "hay fever remedies": 6,
    "airline tickets to Portugal": 7,
    "dog obedience": 8,
    "EV range degradation": 9,
}


@pytest.fixture(scope="session")
def model():
    install.install()
    return load("minilm")


@pytest.fixture(scope="session")
def full_precision(model, pytestconfig, tmp_path_factory):
    """The same model with float32 weights, from the same builder."""
    graph = tmp_path_factory.mktemp("graph") / "fp32.onnx"
    graph.write_bytes(build_graph(published(pytestconfig), int8=False))
    return MiniLM(graph=graph)


def cosines(one, other):
    return (one * other).sum(axis=1)


def test_the_identity_names_weights_and_rendering(model):
    assert model.identity == ModelIdentity(
        id="all-MiniLM-L6-v2",
        revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        dimension=384,
        weights_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        variant="int8-1",
    )


@pytest.mark.parametrize(("query", "nearest"), NEAREST.items())
def test_a_question_finds_the_document_it_means(model, query, nearest):
    scores = model.embed(DOCUMENTS) @ model.embed_query(query)
    assert int(scores.argmax()) == nearest
    assert np.sort(scores)[-1] - np.sort(scores)[-2] > 0.02


def test_known_similarities_hold(model):
    first, same, near, far = model.embed(
        [
            "A man is eating food.",
            "A man is eating food.",
            "A man is eating a piece of bread.",
            "The girl carries a baby.",
        ]
    )
    assert first @ same == pytest.approx(1, abs=0.01)
    assert first @ near == pytest.approx(0.755, abs=0.04)  # float32: 0.7553
    assert first @ far == pytest.approx(-0.111, abs=0.06)  # float32: -0.1109


def test_int8_stays_close_to_full_precision(model, full_precision):
    exact = full_precision.embed(DOCUMENTS + list(NEAREST))
    assert cosines(model.embed(DOCUMENTS + list(NEAREST)), exact).mean() >= 0.985


def test_full_precision_does_not_depend_on_the_batch(full_precision):
    together = full_precision.embed(DOCUMENTS)
    alone = np.array([full_precision.embed_query(text) for text in DOCUMENTS])
    assert cosines(together, alone).min() > 0.99999


def test_full_precision_equals_sentence_transformers(full_precision, model, pytestconfig):
    pytest.importorskip("sentence_transformers")
    reference = load(str(published(pytestconfig)))
    texts = [*DOCUMENTS, *NEAREST, "", "word " * 600, "日本語の文章", "ﬁne Ångström — naïve café №5 😀"]
    expected = reference.embed(texts)
    assert cosines(full_precision.embed(texts), expected).min() > 0.9999
    assert cosines(model.embed(texts), expected).mean() >= 0.985
    assert reference.embed_query("dog obedience") @ model.embed_query("dog obedience") > 0.97
    assert reference.identity.weights_sha256 == model.identity.weights_sha256
    assert reference.identity != model.identity


def test_vectors_come_in_the_order_of_the_texts(full_precision):
    texts = [" ".join(["topic", str(n), *["padding"] * (n * 7 % 40)]) for n in range(60)]
    vectors = full_precision.embed(texts)
    assert vectors.shape == (60, 384)
    assert vectors.dtype == np.float32
    for n in (0, 1, 17, 42, 59):
        assert vectors[n] @ full_precision.embed_query(texts[n]) > 0.99999


@given(st.lists(st.text(st.characters(exclude_categories=[]), max_size=60), max_size=12))
@settings(max_examples=30, deadline=None)
def test_any_text_has_a_vector_of_unit_length(model, texts):
    vectors = model.embed(texts)
    assert vectors.shape == (len(texts), 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("text", ["", " \n", "\ud800 half a pair", "\0", "a" * 5_000, "長い文章" * 5_000])
def test_odd_texts_are_queries_too(model, text):
    assert np.linalg.norm(model.embed_query(text)) == pytest.approx(1, abs=1e-5)


def test_text_past_the_models_length_does_not_count(full_precision):
    long = "word " * (MAX_TOKENS - 2)
    cut, whole = full_precision.embed([long + "budget " * 9_000, long])
    assert cut @ whole > 0.99999


def test_progress_counts_every_text_once_up_to_all(model):
    seen = []
    model.embed(DOCUMENTS * 30, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(set(seen))
    assert seen[-1] == (300, 300)
    assert len(seen) > 3
    assert model.embed([], progress=seen.append).shape == (0, 384)


def test_threads_share_one_model(full_precision):
    expected = full_precision.embed(DOCUMENTS)
    results = {}

    def work(number):
        results[number] = (full_precision.embed(DOCUMENTS), full_precision.embed_query(DOCUMENTS[number]))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(6):
        vectors, query = results[number]
        assert cosines(vectors, expected).min() > 0.99999
        assert query @ expected[number] > 0.99999


def test_one_thread_gives_the_vectors_of_many(full_precision, model):
    single = load(threads=1)
    assert single.threads == 1
    assert cosines(single.embed(DOCUMENTS * 20), model.embed(DOCUMENTS * 20)).min() > 0.99


def test_a_model_that_is_not_installed_says_what_to_run(monkeypatch, tmp_path):
    monkeypatch.setenv("BRAIN_MODEL_DIR", str(tmp_path))
    with pytest.raises(
        ModelUnavailable, match=r"^the embedding model is not installed; run `brain model install`$"
    ):
        load()


def test_an_installed_file_that_is_no_graph_is_named(model, tmp_path):
    (tmp_path / "broken.onnx").write_bytes(b"not a graph")
    with pytest.raises(ModelUnavailable, match=r"broken\.onnx cannot be run"):
        MiniLM(graph=tmp_path / "broken.onnx")


def test_another_model_without_the_extra_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ModelUnavailable, match=r"pip install 'brainlake\[sentence-transformers\]'"):
        load("intfloat/e5-small-v2")


def test_the_protocol_alone_imports_nothing_heavy():
    code = "import brain.embedding, sys; print(sorted({'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
