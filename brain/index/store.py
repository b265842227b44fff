"""Writing the index: rows at once, vectors when there is a model, upkeep.

The folder holds LanceDB tables, one for each model, and `live.json`, which names the one in use. Any number of
processes may read and write at once; work that should happen once (embedding, upkeep, changing tables) is
taken by whoever gets its lock.
"""

import os
import shutil
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brain import locks
from brain.errors import IndexUnavailable, LakeBusy
from brain.index import pointer as pointers
from brain.index import tables, vectors
from brain.index.faults import guarded, retry
from brain.index.pointer import Pointer
from brain.index.rows import DEFAULT_DIMENSION, USAGE, to_rows
from brain.index.view import View

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

    from brain.embedding.protocol import Embedder, ModelIdentity
    from brain.models import Document

# Old versions stay readable this long, for readers that hold one open.
_KEEP_VERSIONS = timedelta(hours=1)

Progress = Callable[[int, int], None]


class Index:
    """The index in the folder `path`. Making one touches nothing; safe to share between threads.

    Every method may raise IndexUnavailable, in one line: the folder is missing, damaged or not writable.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._opened: tuple[object, Pointer, Any] | None = None
        self._pinned: tuple[int, View] | None = None

    # --- life of the tables

    @property
    def exists(self) -> bool:
        return pointers.stamp(self.path) is not None

    @property
    def model(self) -> "ModelIdentity | None":
        """Whose vectors the live table holds; None when there is no index or no vectors yet."""
        found = pointers.read(self.path)
        return found.model if found else None

    def prepare(self, model: "ModelIdentity | None" = None) -> None:
        """Create the index where it is missing; a table without vectors takes on `model`.

        Raises IndexUnavailable when the vectors are another model's: those are replaced by `switch` alone.
        """
        found = pointers.read(self.path)
        if found and (model is None or found.model == model):
            return
        with guarded(), locks.lock(self.path / ".tables.lock", timeout=60.0, what="index"):
            found = pointers.read(self.path)
            if found is None:
                dimension = model.dimension if model else DEFAULT_DIMENSION
                live = Pointer(tables.table_name(model), dimension, model)
                tables.create(self._connect(), live)
                pointers.write(self.path, live)
            elif model and found.model is None:
                self._adopt(found, model)
            elif model and found.model != model:
                assert found.model is not None
                raise IndexUnavailable(
                    f"the index holds vectors of {found.model.id}, not of {model.id}; "
                    f"`brain model use` makes the new ones beside them"
                )

    def switch(self, embedder: "Embedder", progress: Progress | None = None) -> int:
        """Make the vectors of another model beside the live ones, then switch to them at once.

        Searches use the old table until the end. Returns how many rows were embedded. A run that was cut
        short is taken up by the next one. Raises LakeBusy when another process is at it.
        """
        self.prepare()
        with locks.lock(self.path / ".switch.lock", timeout=0, what="model switch"):
            old = self._pointer()
            if old.model == embedder.identity:
                return 0
            new = Pointer(
                tables.table_name(embedder.identity), embedder.identity.dimension, embedder.identity
            )
            with guarded():
                source = self._connect().open_table(old.table)
                target = self._open_or_create(new)
                done = 0
                while tables.copy_missing(source, target) or not done:
                    made = vectors.embed_pending(target, embedder, progress)
                    done += made
                    if not made:
                        break
                trained = tables.train(target, new)
                with locks.lock(self.path / ".tables.lock", timeout=60.0, what="index"):
                    tables.copy_missing(source, target)
                    pointers.write(self.path, trained)
                self._connect().drop_table(old.table)
        return done

    def drop(self) -> None:
        """Empty the index, keeping its model; the tables' files go."""
        with guarded(), locks.lock(self.path / ".tables.lock", timeout=60.0, what="index"):
            try:
                found = pointers.read(self.path)
            except IndexUnavailable:
                found = None
            pointers.forget(self.path)
            for folder in self.path.glob("*.lance"):
                shutil.rmtree(folder, ignore_errors=True)
            with self._lock:
                self._opened = self._pinned = None
        self.prepare(found.model if found else None)

    # --- reading

    def view(self) -> View:
        """The newest version of the table, fixed: all that one search reads comes from it."""
        with self._lock, guarded():
            live, table = self._live()
            version = int(table.version)
            if self._pinned is None or self._pinned[0] != version or self._pinned[1].pointer != live:
                pinned = self._connect().open_table(live.table)
                pinned.checkout(version)
                self._pinned = version, View(pinned, live, int(pinned.count_rows()))
            return self._pinned[1]

    def pending(self) -> int:
        """How many documents wait for vectors; 0 where there is no index."""
        return len(self.pending_ids())

    def pending_ids(self) -> list[str]:
        """Ids of the documents that wait for vectors."""
        if not self.exists:
            return []
        with guarded():
            table = self._live()[1]
            found = table.search().where("waiting").select(["doc_id"]).limit(None).to_arrow()
            return sorted(set(found["doc_id"].to_pylist()))

    def count_documents(self) -> int:
        """How many documents the index holds; 0 where there is no index."""
        if not self.exists:
            return 0
        with guarded():
            return int(self._live()[1].count_rows("chunk_no = 0"))

    # --- writing

    def upsert(self, documents: "Iterable[Document] | pa.Table | pl.DataFrame", *, new: bool = False) -> int:
        """Add documents or replace those with the same id; they are found by keyword from now on.

        Unchanged text keeps its vector. `new` promises that none of the ids is in the index, which saves
        looking. Returns the number of rows (chunks) they have.
        """
        import polars as pl

        rows = to_rows(documents)
        if not rows.height:
            return 0
        self.prepare()
        with guarded():
            live, table = self._live()
            if new or not table.count_rows():
                retry(lambda: table.add(tables.arrow(rows, live.dimension)))
                return rows.height
            before = tables.existing(table, rows["doc_id"].unique().to_list())
            known = rows.join(before.select("id", old_hash="row_hash"), on="id", how="left")
            same = known.filter(pl.col("row_hash") == pl.col("old_hash")).drop("old_hash")
            changed = known.filter(pl.col("row_hash").ne_missing(pl.col("old_hash")))
            reworded = changed.join(before.select("id", "text_hash"), on=["id", "text_hash"], how="semi")
            fresh = changed.join(reworded.select("id"), on="id", how="anti").drop("old_hash")
            tables.merge(table, same.select("id", *USAGE), live.dimension, insert=False)
            columns = [name for name in reworded.columns if name not in ("old_hash", "waiting")]
            tables.merge(table, reworded.select(columns), live.dimension, insert=False)
            tables.merge(table, fresh, live.dimension, insert=True)
            stale = before.join(rows.select("id"), on="id", how="anti")["id"].to_list()
            tables.delete(table, "id", stale)
        return rows.height

    def put(
        self,
        documents: "Sequence[Document]",
        embedder: "Embedder | None",
        *,
        known: "Mapping[str, NDArray[np.float32]] | None" = None,
        new: bool = False,
    ) -> bool:
        """Add or replace a few documents with their vectors in one commit; returns whether they have them.

        `known` are passages whose vectors the caller has already; `new` promises that no id is in the index.

        Without a model, or with another one than the index's, they are found by keyword until vectors are made.
        """
        if embedder is None or self.model not in (None, embedder.identity):
            self.upsert(documents, new=new)
            return False
        import numpy as np
        import polars as pl

        rows = to_rows(documents).with_columns(waiting=pl.lit(False))
        passages = rows["text"].to_list()
        known = known or {}
        missing = [passage for passage in dict.fromkeys(passages) if passage not in known]
        made = dict(zip(missing, embedder.embed(missing), strict=True)) if missing else {}
        found = np.stack([known[passage] if passage in known else made[passage] for passage in passages])
        self.prepare(embedder.identity)
        with guarded():
            live, table = self._live()
            data = tables.with_vectors(rows, found, live.dimension)
            before = None if new else tables.existing(table, [document.id for document in documents])
            if before is not None and before.height:
                retry(
                    lambda: (
                        table.merge_insert("id")
                        .when_matched_update_all()
                        .when_not_matched_insert_all()
                        .execute(data)
                    )
                )
                stale = before.join(rows.select("id"), on="id", how="anti")["id"].to_list()
                tables.delete(table, "id", stale)
            else:
                retry(lambda: table.add(data))
        return True

    def delete(self, doc_ids: Collection[str]) -> None:
        """Remove documents; ids that are not there are no error."""
        if self.exists:
            with guarded():
                tables.delete(self._live()[1], "doc_id", list(doc_ids))

    def embed_pending(
        self, embedder: "Embedder", progress: Progress | None = None, budget: float | None = None
    ) -> int:
        """Make the vectors that are missing, newest documents first; returns how many rows got one.

        Commits as it goes, so a killed run loses little and the next one finishes. `budget` bounds the time
        in seconds. Returns 0 at once when another process is embedding. `progress` is called with rows done
        and rows in all. Raises IndexUnavailable when the index holds another model's vectors.
        """
        self.prepare(embedder.identity)
        try:
            with locks.lock(self.path / ".embed.lock", timeout=0, what="embedding"), guarded():
                return vectors.embed_pending(self._live()[1], embedder, progress, budget)
        except LakeBusy:
            return 0

    def optimize(self) -> None:
        """Upkeep: bring new rows into the indexes, join small files, drop versions over an hour old.

        Trains the vector index when there are enough vectors. Does nothing when another process is at it.
        """
        if not self.exists:
            return
        try:
            with locks.lock(self.path / ".optimize.lock", timeout=0, what="index upkeep"), guarded():
                live, table = self._live()
                retry(lambda: table.optimize(cleanup_older_than=_KEEP_VERSIONS))
                trained = tables.train(table, live)
                if trained != live:
                    with locks.lock(self.path / ".tables.lock", timeout=60.0, what="index"):
                        if pointers.read(self.path) == live:
                            pointers.write(self.path, trained)
        except LakeBusy:
            return

    # --- inside

    def _connect(self) -> Any:
        # Lance warns on stderr about things that are as they should be, such as a table being made.
        os.environ.setdefault("LANCEDB_LOG", "error")
        import lancedb

        return lancedb.connect(self.path, read_consistency_interval=timedelta(0))

    def _pointer(self) -> Pointer:
        found = pointers.read(self.path)
        if found is None:
            raise IndexUnavailable("there is no search index yet; `brain index` makes it")
        return found

    def _live(self) -> tuple[Pointer, Any]:
        """The live table, opened anew when another process changed which one that is."""
        with self._lock:
            stamp = pointers.stamp(self.path)
            if self._opened is None or stamp is None or self._opened[0] != stamp:
                found = self._pointer()
                self._opened = stamp, found, self._connect().open_table(found.table)
            return self._opened[1], self._opened[2]

    def _open_or_create(self, new: Pointer) -> Any:
        try:
            return self._connect().open_table(new.table)
        except (ValueError, RuntimeError, OSError):
            return tables.create(self._connect(), new)

    def _adopt(self, found: Pointer, model: "ModelIdentity") -> None:
        """Give a table without vectors its model; one of another dimension is copied first."""
        live = Pointer(found.table, model.dimension, model)
        if model.dimension != found.dimension:
            live = Pointer(tables.table_name(model), model.dimension, model)
            tables.copy_missing(self._connect().open_table(found.table), tables.create(self._connect(), live))
        pointers.write(self.path, live)
