"""What stands before the path of a URL: scheme, host, port and registrable domain, for whole columns at once."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from brain.site_rules import merged_host

Codes = np.ndarray[Any, np.dtype[np.int64]]

_ORIGIN = r"^([A-Za-z][A-Za-z0-9+.-]*:(?://[^/?#\\]*)?)"
_ORIGIN_ONLY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(//[^/?#\\]*)?")
_BAD_HOST = re.compile(r"[\x00-\x20\x7f<>^`{|}\"@:/?#\[\]\\]")
_IPV4 = re.compile(r"\d{1,3}(\.\d{1,3}){3}")
_DEFAULT_PORTS = {"http": (80, 443), "https": (443,), "ftp": (21,), "ws": (80,), "wss": (443,)}


@dataclass(frozen=True, slots=True)
class Origin:
    """What stands before the path, parsed. `norm` is None where the address is not understood."""

    scheme: str  # lower case; '' when there is none
    host: str  # lower case, punycode, no port, no trailing dot; IPv6 in brackets; '' when there is none
    port: int | None  # only one that is not the scheme's default
    domain: str  # registrable domain; the host for IPs and local names; '(scheme)' where there is no site
    norm: str | None

    @property
    def is_web(self) -> bool:
        return self.norm is not None and self.scheme in ("http", "https")


@dataclass(frozen=True, slots=True)
class Origins:
    """Distinct origins of a column of URLs: row i has `distinct[codes[i]]`, and `tails[i]` after it."""

    codes: Codes
    distinct: list[Origin]
    tails: pl.Series

    def column(self, name: str, values: list[Any], dtype: Any) -> pl.Series:
        """`values`, one per distinct origin, spread over the rows."""
        return pl.Series(name, values, dtype=dtype).gather(self.codes)


def origins(urls: pl.Series) -> Origins:
    """Split every URL behind its authority (`https://host:port`) or, without one, behind the scheme.

    The work per row is vectorised; Python sees each distinct origin once. NULL counts as ''.
    """
    frame = pl.DataFrame({"url": urls.cast(pl.String).fill_null("")})
    raw = pl.col("url").cast(pl.Binary)
    # Nearly all rows are scheme://authority/...: finding two literals is cheaper than matching a pattern.
    mark = pl.col("url").str.find("://", literal=True)
    frame = frame.with_columns(mark=mark).with_columns(
        slash=raw.bin.slice(pl.col("mark") + 3).cast(pl.String).str.find("/", literal=True)
    )
    origin = frame.select(
        pl.when(pl.col("mark").is_between(1, 24) & pl.col("slash").is_not_null())
        .then(raw.bin.slice(0, pl.col("mark") + 3 + pl.col("slash")))
        .cast(pl.String)
        .fill_null("")
        .alias("origin")
    ).to_series()
    codes, texts = encode(origin)
    odd = np.array([_ORIGIN_ONLY.fullmatch(text) is None for text in texts], bool)[codes]
    if odd.any():
        places = np.flatnonzero(odd)
        more, found = encode(frame["url"].gather(places).str.extract(_ORIGIN).fill_null(""))
        codes[places] = more + len(texts)
        texts += found
    lengths = np.array([len(text.encode()) for text in texts], np.int64)[codes]
    tails = frame.select(raw.bin.slice(pl.Series(lengths)).cast(pl.String)).to_series()
    return Origins(codes, [parse_origin(text) for text in texts], tails.alias("tail"))


def encode(texts: pl.Series) -> tuple[Codes, list[str]]:
    """Distinct texts, and which of them each row has."""
    encoded = pc.dictionary_encode(texts.to_arrow())
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary.to_pylist()


@lru_cache(maxsize=1 << 16)  # the same few hosts come again with every batch and every question
def parse_origin(text: str) -> Origin:
    """Parse what `origins` cuts off. Never raises; what is not understood has no `norm`."""
    scheme, colon, rest = text.partition(":")
    scheme = scheme.lower()
    if not colon:
        return Origin("", "", None, "(none)", None)
    nowhere = f"({scheme})"
    if not rest.startswith("//"):
        broken = scheme in ("http", "https")
        return Origin(scheme, "", None, nowhere, None if broken else f"{scheme}:")
    host, port, valid = _split_authority(rest[2:].rpartition("@")[2], scheme)
    if not valid or (not host and scheme in ("http", "https")):
        return Origin(scheme, "", None, nowhere, None)
    if scheme == "file":
        return Origin(scheme, host, port, nowhere, f"file://{host}")
    suffix = "" if port is None else f":{port}"
    if scheme in ("http", "https"):
        domain = registrable_domain(host)
        return Origin(scheme, host, port, domain, f"https://{page_host(host, domain)}{suffix}")
    domain = registrable_domain(host) if scheme in _DEFAULT_PORTS and host else nowhere
    return Origin(scheme, host, port, domain, f"{scheme}://{host}{suffix}")


def _split_authority(text: str, scheme: str) -> tuple[str, int | None, bool]:
    if text.startswith("["):
        address, bracket, after = text.partition("]")
        host, valid = (
            f"{address.lower()}]",
            bool(bracket) and not _BAD_HOST.search(address[1:].replace(":", "")),
        )
        _, _, port = after.partition(":")
        valid = valid and (not after or after.startswith(":"))
    else:
        name, _, port = text.partition(":")
        host = ascii_host(name)
        valid = not _BAD_HOST.search(host)
    if not port:
        return host, None, valid
    if not (port.isascii() and port.isdigit() and len(port) < 9 and int(port) < 65536):
        return host, None, False
    return host, None if int(port) in _DEFAULT_PORTS.get(scheme, ()) else int(port), valid


def ascii_host(name: str) -> str:
    """The host in lower case and punycode, without trailing dots. A name that has no such form is only lowered."""
    if name.isascii():
        return name.lower().rstrip(".")
    folded = unicodedata.normalize("NFKC", name.replace("\u3002", ".").lower()).lower()
    try:
        labels = [
            label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
            for label in folded.split(".")
        ]
    except UnicodeError:
        return name.lower()
    return ".".join(labels).lower().rstrip(".")


@cache
def _suffixes() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


def registrable_domain(host: str) -> str:
    """The domain someone registered, private suffixes counted (alice.github.io); else the host itself."""
    if host.startswith("[") or "." not in host or _IPV4.fullmatch(host) or "" in host.split("."):
        return host
    return str(_suffixes().privatesuffix(host) or host)


def is_public_suffix(host: str) -> bool:
    """Whether the host is a registry's own name, such as com or co.uk; github.io and localhost are not."""
    return bool(_registries().publicsuffix(host) == host)


@cache
def _registries() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(only_icann=True, accept_unknown=False)


def page_host(host: str, domain: str) -> str:
    """The host as page identity sees it: without www. and, where known, without the mobile site's m."""
    # A leading www. goes only if a site remains: www.com and www.github.io are names of their own.
    while host.startswith("www.") and host != domain:
        host = host[4:]
    return merged_host(host)
