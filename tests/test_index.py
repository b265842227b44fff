"""The index through its public API: what is written is found, nothing is embedded twice, nothing gets lost."""

import json
import multiprocessing
import os
import signal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from concepts import Concepts
from histories import Visit, chromium

from brain.errors import IndexUnavailable
from brain.index import Index
from brain.models import Document
from brain.search import search
from brain.services.import_files import import_files
from brain.services.index_documents import index_documents
from brain.workspace import Workspace


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path / "index.lance")


def page(number: int, title: str, text: str = "", **more: object) -> Document:
    values = {"url": f"https://example.org/{number}", "domain": "example.org", **more}
    return Document(id=f"p{number:016x}", kind="page", text=text, title=title, **values)  # type: ignore[arg-type]


def ids(index: Index, query: str, embedder: Concepts | None = None) -> list[str]:
    return [hit.id for hit in search(index, embedder, query).hits]


def test_a_document_is_found_by_keyword_before_anything_is_embedded(index: Index) -> None:
    assert index.upsert([page(1, "Connection refused by the server")]) == 1
    assert index.pending_ids() == ["p0000000000000001"]
    assert ids(index, "refused") == ["p0000000000000001"]


def test_rows_added_after_the_keyword_index_was_built_are_found_at_once(index: Index) -> None:
    index.upsert([page(1, "first zebra")])
    index.optimize()
    index.upsert([page(2, "second zebra")])
    assert sorted(ids(index, "zebra")) == ["p0000000000000001", "p0000000000000002"]


def test_what_comes_after_the_indexes_were_brought_up_to_date_gets_its_vector(index: Index) -> None:
    index.prepare(Concepts().identity)
    for start in (0, 20):
        index.upsert([page(start + number, f"title {start + number}") for number in range(20)])
        assert index.embed_pending(Concepts()) == 20
        index.optimize()
    assert index.pending() == 0


def test_unchanged_text_keeps_its_vector_and_new_text_waits_for_one(index: Index) -> None:
    embedder = Concepts()
    index.upsert([page(1, "Baking bread", visit_count=1), page(2, "Cheap flights")])
    assert index.embed_pending(embedder) == 2
    index.upsert([page(1, "Baking bread", visit_count=7, last_us=5), page(2, "Cheap hotels")])
    assert index.pending_ids() == ["p0000000000000002"]
    assert index.embed_pending(embedder) == 1
    assert embedder.embedded == ["Baking bread", "Cheap flights", "Cheap hotels"]
    assert [hit.visit_count for hit in search(index, embedder, "bread").hits] == [7]


def test_a_new_address_of_the_same_text_keeps_the_vector_and_is_found_by_the_new_words(index: Index) -> None:
    embedder = Concepts()
    index.upsert([page(1, "Baking bread")])
    index.embed_pending(embedder)
    index.upsert([page(1, "Baking bread", url="https://example.org/moved-giraffe")])
    assert index.pending() == 0
    assert ids(index, "giraffe") == ["p0000000000000001"]


def test_equal_titles_are_embedded_once_also_in_later_runs(index: Index) -> None:
    embedder = Concepts()
    index.upsert([page(1, "Baking bread"), page(2, "Baking bread")])
    assert index.embed_pending(embedder) == 2
    index.upsert([page(3, "Baking bread")])
    assert index.embed_pending(embedder) == 1
    assert embedder.embedded == ["Baking bread"]


def test_a_text_that_became_shorter_leaves_no_old_chunks_behind(index: Index) -> None:
    long = " ".join(f"word{n}" for n in range(600)) + " walrus"
    assert index.upsert([page(1, "Long", long)]) > 1
    assert ids(index, "walrus") == ["p0000000000000001"]
    assert index.upsert([page(1, "Long", "short now")]) == 1
    assert ids(index, "walrus") == []
    assert index.view().rows == 1


def test_a_document_with_many_chunks_is_one_hit(index: Index) -> None:
    index.upsert([page(1, "Long", "heron " * 600)])
    assert ids(index, "heron") == ["p0000000000000001"]
    assert index.count_documents() == 1


def test_deleted_documents_are_gone_and_unknown_ids_are_no_error(index: Index) -> None:
    index.upsert([page(1, "zebra one"), page(2, "zebra two")])
    index.delete(["p0000000000000001", "p00000000000000ff", "it's; DROP"])
    assert ids(index, "zebra") == ["p0000000000000002"]


def test_columns_of_a_frame_are_taken_as_they_are(index: Index) -> None:
    count = 30_000
    frame = pl.DataFrame(
        {
            "id": [f"p{n:016x}" for n in range(count)],
            "kind": ["page"] * count,
            "text": [""] * count,
            "title": [f"number {n} of many" for n in range(count)],
            "last_us": np.arange(count),
        }
    )
    assert index.upsert(frame) == count
    assert index.upsert(frame.to_arrow()) == count
    assert index.count_documents() == count
    assert ids(index, "29321")[0] == f"p{29321:016x}"


def test_of_several_documents_with_one_id_the_last_counts(index: Index) -> None:
    assert index.upsert([page(1, "older"), page(1, "newer")]) == 1
    assert [hit.title for hit in search(index, None, "newer").hits] == ["newer"]


def test_identifiers_in_camel_case_and_percent_escapes_are_found_by_their_words(index: Index) -> None:
    index.upsert(
        [
            page(1, "What getUserName returns"),
            page(2, "", url="https://ja.example.org/wiki/%E6%9D%B1%E4%BA%AC"),
        ]
    )
    assert ids(index, "user name") == ["p0000000000000001"]
    assert ids(index, "東京") == ["p0000000000000002"]


def test_another_models_vectors_are_refused_until_the_switch(index: Index) -> None:
    old, new = Concepts("1"), Concepts("2", dimension=32)
    index.upsert([page(1, "Baking bread"), page(2, "Cheap flights")])
    index.embed_pending(old)
    with pytest.raises(IndexUnavailable, match="holds vectors of concepts"):
        index.embed_pending(new)
    answer = search(index, new, "bread")
    assert answer.degraded == ["keyword only: the index holds vectors of concepts, not of concepts"]
    assert index.switch(new) == 2
    assert index.model == new.identity
    assert ids(index, "loaf", new) == ["p0000000000000001"]
    assert index.switch(new) == 0
    assert index.embed_pending(new) == 0


def test_an_index_made_without_a_model_takes_one_on_later(index: Index) -> None:
    index.upsert([page(1, "Baking bread")])
    assert index.model is None
    assert index.embed_pending(Concepts()) == 1
    assert ids(index, "loaf", Concepts()) == ["p0000000000000001"]


def test_dropping_empties_the_index_and_keeps_its_model(index: Index) -> None:
    embedder = Concepts()
    index.upsert([page(1, "Baking bread")])
    index.embed_pending(embedder)
    index.drop()
    assert (index.count_documents(), index.model) == (0, embedder.identity)


def test_a_missing_index_says_so_in_one_line_and_is_not_created_by_reading(index: Index) -> None:
    with pytest.raises(IndexUnavailable, match="no search index yet"):
        search(index, None, "anything")
    assert (index.pending(), index.count_documents(), index.exists) == (0, 0, False)
    assert not index.path.exists()


def test_damaged_files_are_an_unavailable_index_and_dropping_mends_it(index: Index) -> None:
    index.upsert([page(1, "zebra")])
    for file in index.path.rglob("*.manifest"):
        file.write_bytes(b"no manifest")
    with pytest.raises(IndexUnavailable) as caught:
        search(Index(index.path), None, "zebra")
    assert "\n" not in str(caught.value)
    (index.path / "live.json").write_text("{")
    with pytest.raises(IndexUnavailable, match="damaged"):
        search(Index(index.path), None, "zebra")
    mended = Index(index.path)
    mended.drop()
    mended.upsert([page(2, "zebra")])
    assert ids(mended, "zebra") == ["p0000000000000002"]


def test_the_pointer_is_private_and_whole(index: Index) -> None:
    index.upsert([page(1, "zebra")])
    file = index.path / "live.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text())["model"] is None


def _write(path: Path, start: int) -> None:
    index = Index(path)
    for number in range(start, start + 6):
        index.upsert([page(number, f"zebra number{number}")])
    index.optimize()


def test_processes_that_write_at_once_lose_nothing(index: Index) -> None:
    index.prepare()
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(index.path, start)) for start in (0, 100)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert index.count_documents() == 12
    assert ids(index, "number103") == [f"p{103:016x}"]


class _DiesInTheMiddle(Concepts):
    """Is killed, as by kill -9, near the end, when a first portion of vectors has been written."""

    def embed(self, texts, *, progress=None):  # type: ignore[no-untyped-def]
        if len(self.embedded) > 17_000:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts)


def _embed_and_die(path: Path) -> None:
    Index(path).embed_pending(_DiesInTheMiddle())


def test_a_killed_embedding_run_keeps_what_it_committed_and_the_next_finishes(index: Index) -> None:
    count = 18_000
    index.upsert([page(n, f"title {n}") for n in range(count)])
    process = multiprocessing.get_context("spawn").Process(target=_embed_and_die, args=(index.path,))
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    left = index.pending()
    assert 0 < left < count
    assert index.embed_pending(Concepts()) == left
    assert index.pending() == 0
    assert index.count_documents() == count


def test_two_runs_that_write_the_same_documents_at_once_take_none_for_removed(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_files(
        workspace,
        [chromium(tmp_path / "History", [Visit("2026-11-01T10:00:00Z", "https://a.example/", "A")])],
    )
    write = workspace.index.upsert

    def overtaken(rows: pl.DataFrame) -> int:
        index_documents(Workspace(workspace.settings), embed=False)
        return write(rows)

    monkeypatch.setattr(workspace.index, "upsert", overtaken)
    index_documents(workspace, embed=False)
    with workspace.lake.read() as con:
        assert con.execute("SELECT state FROM store.documents").fetchall() == [("pending",)]
