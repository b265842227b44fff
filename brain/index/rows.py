"""Documents to index rows: one row for each chunk, worked out by column.

`text` is the passage that is embedded: the title and the chunk. What keywords see (`search_text`) is the
passage, the URL without its scheme and, decoded, its percent escapes, and the parts of camelCase identifiers,
so that `user name` finds `getUserName`.
"""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa

from brain.chunking import chunk
from brain.models import Document

if TYPE_CHECKING:
    import polars as pl

DEFAULT_DIMENSION = 384
# Texts up to this length are one chunk without asking: 400 characters are at most 200 tokens but for Hangul.
_SURELY_ONE_CHUNK = 400
_CAMEL = r"\b[a-z]{2,}[a-z0-9]*(?:[A-Z][a-z0-9]+)+\b|\b(?:[A-Z][a-z0-9]+){3,}\b"
# Columns that change with every visit, apart from those that decide what is found and embedded.
USAGE = ("source", "origin", "first_us", "last_us", "visit_count")


def schema(dimension: int) -> pa.Schema:
    """Columns of the index table; instants are microseconds since 1970 UTC."""
    text = ["kind", "source", "domain", "host", "url", "title", "text", "origin"]
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),  # doc_id#chunk_no
            pa.field("doc_id", pa.string(), nullable=False),
            pa.field("chunk_no", pa.int32()),
            *(pa.field(name, pa.string()) for name in text),
            pa.field("first_us", pa.int64()),
            pa.field("last_us", pa.int64()),
            pa.field("visit_count", pa.int64()),
            pa.field("text_hash", pa.string()),  # of the passage: equal ones share a vector
            pa.field("row_hash", pa.string()),  # of everything that is neither usage nor vector
            pa.field("search_text", pa.string()),
            pa.field(
                "waiting", pa.bool_()
            ),  # for a vector; asking the vectors themselves would read them all
            pa.field("vector", pa.list_(pa.float32(), dimension)),
        ]
    )


def as_frame(documents: "Iterable[Document] | pa.Table | pl.DataFrame") -> "pl.DataFrame":
    """Documents in any accepted form as one frame with every column of `Document`."""
    import polars as pl

    columns = {
        "id": pl.String,
        "kind": pl.String,
        "text": pl.String,
        "title": pl.String,
        "url": pl.String,
        "domain": pl.String,
        "source": pl.String,
        "origin": pl.String,
        "first_us": pl.Int64,
        "last_us": pl.Int64,
        "visit_count": pl.Int64,
    }
    if isinstance(documents, pa.Table):
        frame = pl.DataFrame(pl.from_arrow(documents))
    elif isinstance(documents, pl.DataFrame):
        frame = documents
    else:
        items = list(documents)
        data = {name: [getattr(item, name) for item in items] for name in columns}
        frame = pl.DataFrame(data, schema=columns)
    missing = [
        pl.lit(None, dtype).alias(name) for name, dtype in columns.items() if name not in frame.columns
    ]
    return (
        frame.with_columns(missing)
        .select(pl.col(name).cast(dtype) for name, dtype in columns.items())
        .unique("id", keep="last", maintain_order=True)
    )


def to_rows(documents: "Iterable[Document] | pa.Table | pl.DataFrame") -> "pl.DataFrame":
    """Index rows, all but the vector, of documents; of several with one id the last counts."""
    import polars as pl

    rows = _chunked(
        as_frame(documents).with_columns(
            pl.col("text").fill_null("").str.replace_all("\x00", " "),
            pl.col("title").str.replace_all("\x00", " "),
        )
    )
    bare_url = pl.col("url").fill_null("").str.replace(r"^(?i:https?://(?:www\.)?)", "")
    title = pl.col("title").fill_null("")
    titled = (
        pl.when(title.str.strip_chars() == "")
        .then("text")
        .when(pl.col("text").str.starts_with(title))
        .then("text")
        .when(pl.col("text") == "")
        .then(title)
        .otherwise(pl.concat_str(title, pl.lit("\n"), pl.col("text")))
    )
    rows = rows.rename({"id": "doc_id"}).with_columns(
        id=pl.concat_str("doc_id", pl.lit("#"), pl.col("chunk_no").cast(pl.String)),
        host=pl.col("url")
        .str.extract(r"^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?([^/?#:]+)")
        .str.to_lowercase(),
        passage=titled,
        bare_url=bare_url,
        decoded=_decoded(rows["url"]),
    )
    rows = rows.with_columns(
        # A page without a title is known by the words of its address alone.
        passage=pl.when(pl.col("passage").str.strip_chars() == "")
        .then(pl.col("bare_url").str.replace_all(r"[/?&=_.+#-]+", " ").str.strip_chars())
        .otherwise("passage"),
        camel=pl.col("passage")
        .str.extract_all(_CAMEL)
        .list.join(" ")
        .str.replace_all(r"([a-z0-9])([A-Z])", "$1 $2"),
    )
    rows = rows.with_columns(
        search_text=pl.concat_str(
            "passage", "bare_url", "decoded", "camel", separator="\n", ignore_nulls=True
        ).str.strip_chars_end("\n"),
    )
    fixed = pl.concat_str(
        "kind", "domain", "url", "title", "search_text", separator="\x00", ignore_nulls=True
    )
    return rows.with_columns(
        _hash(rows["passage"], "text_hash"),
        _hash(rows.select(fixed).to_series(), "row_hash"),
        text="passage",
        waiting=pl.lit(True),
    ).drop("passage", "bare_url", "decoded", "camel")


def _chunked(frame: "pl.DataFrame") -> "pl.DataFrame":
    """One row for each chunk of the texts, numbered as `chunk_no`."""
    import polars as pl

    long = pl.col("text").str.len_chars() > _SURELY_ONE_CHUNK
    whole = frame.filter(~long).with_columns(chunk_no=pl.lit(0, pl.Int32))
    parts = frame.filter(long)
    if parts.height:
        pieces = [[piece.text for piece in chunk(text)] for text in parts["text"]]
        parts = parts.with_columns(
            pl.Series("text", pieces, pl.List(pl.String)),
            pl.Series("chunk_no", [list(range(len(piece))) for piece in pieces], pl.List(pl.Int32)),
        ).explode("text", "chunk_no")
    return pl.concat([whole, parts.select(whole.columns)]) if parts.height else whole


def _decoded(urls: "pl.Series") -> "pl.Series":
    """Percent escapes of the URLs that have any, decoded; None elsewhere."""
    import polars as pl

    escaped = urls.str.contains("%[0-9A-Fa-f]{2}").fill_null(False)
    if not escaped.any():
        return pl.Series("decoded", [None] * len(urls), pl.String)
    values: list[str | None] = [None] * len(urls)
    for at in escaped.arg_true():
        values[at] = unquote(urls[at], errors="replace").replace("\x00", " ").split("://", 1)[-1]
    return pl.Series("decoded", values, pl.String)


def _hash(texts: "pl.Series", name: str) -> "pl.Series":
    import polars as pl

    made = [
        hashlib.blake2b((text or "").encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        for text in texts
    ]
    return pl.Series(name, made, pl.String)
