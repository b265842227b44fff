"""Identity of URLs: keyed ids, and the normal form that says which addresses are one page.

Formulas, so that any program with the lake's key can make the same ids (`key` is the 32 bytes of keys/lake.key,
`||` joins bytes, `u64` reads 8 bytes big-endian):

    url_id    = u64(SHA-256(key || url)[:8])                   url as UTF-8, exact, before scrubbing
    page_id   = u64(SHA-256(key || "page:" || url_norm)[:8])
    visit_key = mix(mix(url_id ^ k0) ^ (visited_us * 0x9E3779B97F4A7C15 + k1))       all modulo 2**64
                k0, k1 = u64 of bytes 0-7 and 8-15 of SHA-256(key || "visit:")
                mix    = the finaliser of SplitMix64 (Steele, Lea, Flood 2014; https://prng.di.unimi.it/splitmix64.c)

Normalisation (`RULES_VERSION`) decides which addresses are one page. `url_norm` is an identity, not a link: http
and https are merged, `www.` and default ports go, so do trailing slashes, user names, known trackers and fragments
that are no route; remaining parameters are sorted. Nothing is ever percent-decoded, and parameter values stay exact.
"""

import contextlib
import hashlib
import os
import secrets
import threading
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from brain.config import Home
from brain.errors import LakeError
from brain.origins import Codes, Origin, Origins, encode, origins
from brain.site_rules import (
    AMAZON_PRODUCT,
    FRAGMENT_PAGES,
    SITE_LABELS,
    SITE_RULES,
    is_google,
    is_tracker,
)

RULES_VERSION = 1
KEY_BYTES = 32

Keys = np.ndarray[Any, np.dtype[np.uint64]]

# --- the lake's key ------------------------------------------------------------------------------------------


def load_or_create_key(home: Home) -> bytes:
    """The lake's hash key: 32 random bytes in keys/lake.key (0600), made by whichever process comes first.

    Every process gets the same key, also when several start at once. Raises LakeError when the file is damaged
    and UsageError when the home cannot be written.
    """
    path = home.keys / "lake.key"
    if not path.exists():
        home.ensure()
        _create_key(path)
    try:
        key = path.read_bytes()
    except OSError as error:
        raise LakeError(f"the lake's key {path} cannot be read: {error.strerror or error}") from error
    if len(key) != KEY_BYTES:
        raise LakeError(f"the lake's key {path} is damaged; restore it from a backup of the home")
    return key


def _create_key(path: Path) -> None:
    """Write a complete key beside `path` and link it into place; a link never replaces a winner's file."""
    draft = path.with_name(f".lake.key.{os.getpid()}.{threading.get_ident()}.{secrets.token_hex(4)}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, secrets.token_bytes(KEY_BYTES))
            os.fsync(handle)
        finally:
            os.close(handle)
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    except OSError as error:
        raise LakeError(f"the lake's key {path} cannot be written: {error.strerror or error}") from error
    finally:
        draft.unlink(missing_ok=True)


# --- ids -----------------------------------------------------------------------------------------------------

_FEW = 1_000  # below this, starting DuckDB costs more than hashing in Python
_HEX = np.zeros(256, np.uint8)
_HEX[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16, dtype=np.uint8)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def url_ids(urls: pl.Series, key: bytes) -> pl.Series:
    """One UInt64 per exact URL (module formula); NULL stays NULL."""
    return _hash64(urls, key).alias("url_id")


def page_ids(url_norm: pl.Series, key: bytes) -> pl.Series:
    """One UInt64 per normalised URL (module formula); NULL stays NULL."""
    return _hash64(url_norm, key + b"page:").alias("page_id")


def record_ids(texts: pl.Series, key: bytes, record: str) -> pl.Series:
    """One UInt64 per text that identifies a record of this kind; NULL stays NULL."""
    return _hash64(texts, key + f"{record}:".encode())


def visit_keys(url_ids: pl.Series, visited_us: pl.Series, key: bytes) -> pl.Series:
    """One UInt64 per (url_id, microseconds since 1970 UTC), by the module's formula; a NULL in either gives NULL."""
    digest = hashlib.sha256(key + b"visit:").digest()
    k0, k1 = (np.uint64(int.from_bytes(digest[at : at + 8], "big")) for at in (0, 8))
    known = (url_ids.is_not_null() & visited_us.is_not_null()).rename("visit_key")
    ids = url_ids.fill_null(0).to_numpy().astype(np.uint64, copy=False)
    times = visited_us.cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64)
    with np.errstate(over="ignore"):
        mixed = _mix(_mix(ids ^ k0) ^ (times * _GOLDEN + k1))
    keys = pl.Series("visit_key", mixed, dtype=pl.UInt64)
    return keys if known.all() else keys.to_frame().select(pl.when(known).then("visit_key")).to_series()


def _mix(z: Keys) -> Keys:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _hash64(texts: pl.Series, prefix: bytes) -> pl.Series:
    if len(texts) < _FEW:
        return pl.Series([_hash_one(text, prefix) for text in texts], dtype=pl.UInt64)
    import duckdb

    known = texts.drop_nulls()
    # Binary, not text: DuckDB's own cast of text to bytes would interpret backslashes.
    rows = known.cast(pl.Binary).alias("text").to_frame().to_arrow()
    with duckdb.connect(":memory:") as con:
        con.register("rows", rows)
        hashed = con.sql("SELECT sha256($prefix || text) FROM rows", params={"prefix": prefix})
        column = hashed.to_arrow_table().column(0).combine_chunks().cast(pa.large_string())
    # The digests are 64 hex digits each, back to back: read the first 16 of each without a string per row.
    digits = np.frombuffer(column.buffers()[2], np.uint8, 64 * len(column), 64 * column.offset)
    nibbles = _HEX[digits.reshape(-1, 64)[:, :16]]
    numbers = ((nibbles[:, ::2] << 4) | nibbles[:, 1::2]).view(">u8").ravel().astype(np.uint64)
    ids = pl.Series(numbers, dtype=pl.UInt64)
    if len(known) == len(texts):
        return ids
    places = texts.is_not_null().arg_true()
    return pl.Series([None], dtype=pl.UInt64).new_from_index(0, len(texts)).scatter(places, ids)


def _hash_one(text: str | None, prefix: bytes) -> int | None:
    if text is None:
        return None
    return int.from_bytes(hashlib.sha256(prefix + text.encode()).digest()[:8], "big")


# --- normalisation -------------------------------------------------------------------------------------------

_ROUTE = r"^[!/]"
_EMPTY_ROUTES = ("", "/", "!", "!/")
_VIDEO_ID = r"^/([A-Za-z0-9_-]{11})/?$"


def normalise(urls: pl.Series, split: Origins | None = None) -> pl.DataFrame:
    """Columns url_norm, scheme, host, domain (all String), one row per URL; NULL counts as ''.

    Never raises: what is no URL is its own `url_norm`. Applying it to `url_norm` changes nothing. Store it only
    for scrubbed URLs, since secrets in paths and parameters are kept. `split` takes the `origins` of the same
    column where the caller has them already.
    """
    split = split or origins(urls)
    distinct = split.distinct
    frame = pl.DataFrame(
        {
            "url": urls.cast(pl.String).fill_null(""),
            "norm": split.column("norm", [o.norm for o in distinct], pl.String),
            "scheme": split.column("scheme", [o.scheme for o in distinct], pl.String),
            "host": split.column("host", [o.host for o in distinct], pl.String),
            "domain": split.column("domain", [o.domain for o in distinct], pl.String),
        }
    )
    web = np.array([o.is_web for o in distinct], bool)[split.codes]
    known = np.array([o.norm is not None for o in distinct], bool)[split.codes] & ~web
    pages = frame["url"].alias("url_norm")
    if known.any():
        rows = np.flatnonzero(known)
        here = pl.DataFrame({"o": frame["norm"].gather(rows), "t": split.tails.gather(rows)})
        place = pl.when(frame["scheme"].gather(rows) == "file").then(pl.col("t").str.extract("^([^#]*)"))
        pages = pages.scatter(rows, here.select(pl.col("o") + place.otherwise("t")).to_series())
    if web.any():
        rows = np.flatnonzero(web)
        found = _pages(split.codes[web], distinct, frame["norm"].gather(rows), split.tails.gather(rows))
        pages = found if len(rows) == len(pages) else pages.scatter(rows, found)
    return frame.select(pages.alias("url_norm"), "scheme", "host", "domain")


def _pages(codes: Codes, distinct: list[Origin], norm: pl.Series, tails: pl.Series) -> pl.Series:
    """Normalised http(s) URLs."""
    before, hashed = _cut(tails, "#")
    path, query = _cut(before, "?")
    parts = pl.DataFrame(
        {"norm": norm, "path": path.str.strip_chars_end("/"), "query": query, "hashed": hashed}
    )
    parts = parts.with_columns(path=pl.when(pl.col("path") == "").then(pl.lit("/")).otherwise("path"))
    parts, rules = _apply_sites(parts, codes, distinct)
    fragment = _fragments(parts["hashed"], codes, distinct)
    query = _queries(parts["query"], rules)
    return (
        parts.with_columns(query=query, fragment=fragment)
        .select(
            pl.concat_str("norm", "path", pl.col("query").fill_null(""), pl.col("fragment").fill_null(""))
        )
        .to_series()
    )


def _cut(texts: pl.Series, mark: str) -> tuple[pl.Series, pl.Series]:
    """What stands before the first `mark`, and what stands behind it: NULL where there is none."""
    at = texts.str.find(mark, literal=True)
    rows = at.is_not_null().arg_true()
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(texts))
    if rows.is_empty():
        return texts, nothing
    raw = pl.col("text").cast(pl.Binary)
    halves = pl.DataFrame({"text": texts.gather(rows), "at": at.gather(rows)}).select(
        before=raw.bin.slice(0, pl.col("at")).cast(pl.String),
        after=raw.bin.slice(pl.col("at") + 1).cast(pl.String),
    )
    # scatter writes in place, hence the copy
    return texts.clone().scatter(rows, halves["before"]), nothing.scatter(rows, halves["after"])


def _page_hosts(distinct: list[Origin]) -> list[str]:
    return [(o.norm or "").removeprefix("https://") for o in distinct]


def _apply_sites(parts: pl.DataFrame, codes: Codes, distinct: list[Origin]) -> tuple[pl.DataFrame, Codes]:
    """Rewrite the paths of known sites; say which SITE_RULES entry (+1, 0 is none) each row falls under."""
    # The extra last origin is for short links that become pages of youtube.com.
    sites = [(host, o.domain) for host, o in zip(_page_hosts(distinct), distinct, strict=True)]
    sites.append(("youtube.com", "youtube.com"))
    ruled = [at for at, (_, domain) in enumerate(sites) if domain.partition(".")[0] in SITE_LABELS]
    rules = np.zeros(len(codes), np.int64)
    short = np.array([host == "youtu.be" for host, _ in sites], bool)
    if short.any():
        video = pl.when(pl.Series(short[codes])).then(pl.col("path").str.extract(_VIDEO_ID))
        parts = parts.with_columns(video=video).with_columns(
            norm=pl.when(pl.col("video").is_null()).then("norm").otherwise(pl.lit("https://youtube.com")),
            path=pl.when(pl.col("video").is_null()).then("path").otherwise(pl.lit("/watch")),
            query=pl.when(pl.col("video").is_null())
            .then("query")
            .otherwise(pl.concat_str(pl.lit("v="), "video", pl.lit("&"), pl.col("query").fill_null(""))),
        )
        codes = np.where(parts["video"].is_null().to_numpy(), codes, len(distinct))
    for number, rule in enumerate(SITE_RULES, 1):
        chosen = np.zeros(len(sites), bool)
        chosen[[at for at in ruled if rule.site(*sites[at])]] = True
        if not chosen[:-1].any() and not short.any():
            continue
        rows = np.flatnonzero(chosen[codes] & (rules == 0))
        paths = parts["path"].gather(rows)
        if rule.path:
            rows = rows[paths.str.contains(rule.path).to_numpy()]
        rules[rows] = number
        if rule.name.startswith("amazon") and len(rows):
            parts = parts.with_columns(path=_amazon_paths(parts["path"], rows))
    return parts, rules


def _amazon_paths(paths: pl.Series, rows: Codes) -> pl.Series:
    some = paths.gather(rows)
    product = "/dp/" + some.str.extract(AMAZON_PRODUCT)
    plain = some.str.replace(r"(?:/ref=[^/]*)+$", "")
    shown = pl.select(pl.coalesce(product, pl.when(plain != "").then(plain), pl.lit("/"))).to_series()
    return paths.scatter(rows, shown)


def _fragments(hashed: pl.Series, codes: Codes, distinct: list[Origin]) -> pl.Series:
    """`#...` where it names a page of its own, else NULL."""
    rows = hashed.is_not_null().arg_true()
    nothing = pl.Series("fragment", [None], dtype=pl.String).new_from_index(0, len(hashed))
    if rows.is_empty():
        return nothing
    picked = pl.DataFrame({"text": hashed.gather(rows)})
    here = codes[rows.to_numpy()]
    always = np.array([o.host in FRAGMENT_PAGES for o in distinct], bool)[here]
    # Search pages of Google once kept the query behind the hash.
    google = [is_google(host, o.domain) for host, o in zip(_page_hosts(distinct), distinct, strict=True)]
    kept = picked.select(pl.col("text").str.replace(r":~:[\s\S]*$", "").alias("f")).select(
        pl.when(
            (pl.col("f").str.contains(_ROUTE) | pl.Series(always))
            | (pl.Series(np.array(google, bool)[here]) & pl.col("f").str.contains(r"(?:^|&)q="))
        )
        .then(pl.when(~pl.col("f").is_in(_EMPTY_ROUTES)).then("#" + pl.col("f")))
        .alias("fragment")
    )
    return nothing.scatter(rows, kept.to_series())


def _queries(queries: pl.Series, rules: Codes) -> pl.Series:
    """`?...` without trackers and sorted, or NULL when nothing is left."""
    rows = (queries.is_not_null() & (queries != "")).arg_true()
    nothing = pl.Series("query", [None], dtype=pl.String).new_from_index(0, len(queries))
    if rows.is_empty():
        return nothing
    lists = queries.gather(rows).str.split("&")
    counts = lists.list.len().to_numpy().astype(np.int64)
    row = np.repeat(np.arange(len(counts)), counts)
    params = lists.explode().alias("param")
    keep = _kept(params, row, rules[rows.to_numpy()])
    params, row = params.filter(pl.Series(keep)), row[keep]
    joined = _join_sorted(params, row)
    return nothing.scatter(rows.gather(joined["row"]), "?" + joined["query"])


def _kept(params: pl.Series, row: Codes, rules: Codes) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which parameters stay. Rules are asked once per distinct name, not per parameter."""
    names = pl.DataFrame({"p": params}).select(
        pl.col("p").cast(pl.Binary).bin.slice(0, pl.col("p").str.find("=", literal=True)).cast(pl.String)
    )
    codes, texts = encode(names.to_series())
    lowered = [text.lower() for text in texts]
    keep: np.ndarray[Any, np.dtype[np.bool_]] = ~np.array([is_tracker(name) for name in lowered], bool)[codes]
    for number in np.unique(rules[rules > 0]):
        rule = SITE_RULES[number - 1]
        rows = rules == number
        if rule.need is not None:
            needed = np.array([name == rule.need for name in lowered], bool)[codes]
            rows &= np.bincount(row[needed], minlength=len(rules)) > 0
        drops = np.array([rule.drops(name) for name in lowered], bool)
        keep &= ~(rows[row] & drops[codes])
    keep &= (params != "").to_numpy()
    return keep


def _join_sorted(params: pl.Series, row: Codes) -> pl.DataFrame:
    """Columns row and query: parameters of each row, sorted as text, joined by `&`."""
    frame = pl.DataFrame({"row": row, "p": params})
    unsorted = frame.select(
        (pl.col("p") < pl.col("p").shift(1)) & (pl.col("row") == pl.col("row").shift(1))
    ).to_series()
    wrong = np.zeros(int(row[-1]) + 1 if len(row) else 0, bool)
    wrong[row[unsorted.fill_null(value=False).to_numpy()]] = True
    if wrong.any():
        # Sorting all rows costs several times more than sorting the ones that are out of order.
        out = pl.Series(wrong[row])
        frame = pl.concat([frame.filter(~out), frame.filter(out).sort("row", "p")])
    places = frame["row"].to_numpy()
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    values = frame["p"].to_arrow()
    lists = pa.LargeListArray.from_arrays(pa.array([*starts, len(places)], pa.int64()), values)
    joined = pl.Series("query", lists).list.join("&") if len(places) else pl.Series("query", [], pl.String)
    return pl.DataFrame({"row": places[starts], "query": joined})
