"""Secrets out of URLs and texts before anything is stored or embedded.

A secret value becomes `~` and the first 12 hex digits of SHA-256(key || "secret:" || value), the value percent-
decoded and UTF-8: names stay, the same secret keeps the same hash under the same key, and scrubbing again changes
nothing. Every other byte of the URL stays. What counts as a secret (`RULES_VERSION`): the user part of an address;
query, fragment and `;` parameters by name, where common names such as key and code also need a value that looks
random; the one-time part of reset, invite and similar links; long random path segments; credential formats
anywhere; and all that inside a URL nested in a parameter. See brain/secret_shapes.py for names and formats.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

import numpy as np
import polars as pl

from brain.secret_shapes import (
    ALTERNATING,
    KNOWN_IDS,
    LONG_RUN,
    MASK,
    NAME_SCREEN,
    SHAPE_HINTS,
    credential_spans,
    is_link_token,
    is_secret_name,
    is_token_segment,
    looks_random,
    may_be_secret_name,
)

RULES_VERSION = 1

Span = tuple[int, int]

_DEEPEST = 3  # URLs nested in parameters of nested URLs; deeper is not followed
_LINK_ROOTS = (
    *("reset", "magic", "verif(?:y|ication)", "confirm(?:ation)?", "invit(?:e|ation)s?", "unsubscribe"),
    *("activat(?:e|ion)", "recover(?:y)?"),
)
# Three spellings, since matching without case costs the screen eight times as much.
_LINK_WORDS = "|".join(spelt for root in _LINK_ROOTS for spelt in (root, root.capitalize(), root.upper()))
_ADDRESS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#\\]*))?")
_PARAM = re.compile(r"([^?&;#=]*)=([^&;#]*)")
_SEGMENT = re.compile(r"[^/;!]+")
_LINK_SEGMENT = re.compile(
    rf"(?:[A-Za-z0-9]+[-_]|[a-z]+(?=[A-Z]))*(?:{_LINK_WORDS})(?:[-_][A-Za-z0-9_-]*|[A-Z][A-Za-z]*)?"
)
_WEBHOOKS = (
    re.compile(r"(?:^|\.)hooks\.slack(?:-gov)?\.com$", re.IGNORECASE),
    re.compile(r"^/(?:services|workflows|triggers)/(.+)", re.DOTALL),
)
# The id in the path is the page's public address here.
_ID_HOSTS = re.compile(
    r"(?:^|[./@])(?:(?:docs|drive|sheets|slides|photos|colab\.research|sites|lookerstudio|datastudio|mail)\.google\.com"
    r"|youtube\.com|youtu\.be|notion\.(?:so|site)|figma\.com|facebook\.com|linkedin\.com|instagram\.com"
    r"|open\.spotify\.com|mempool\.space|blockchair\.com|blockstream\.info|solscan\.io)(?::[0-9]*)?$",
    re.IGNORECASE,
)


def scrub(urls: pl.Series, key: bytes) -> pl.Series:
    """The column with every secret masked; rows without one come back unchanged to the byte. NULL stays NULL."""
    return _scrub_column(urls, _url_screen(urls), lambda text: scrub_url(text, key))


def scrub_texts(texts: pl.Series, key: bytes) -> pl.Series:
    """`scrub_text` over a column, such as titles."""
    screen = texts.str.contains(
        r"://|(?i:bearer|passw|pwd|token|secret|api[-_ ]?key|(?:access|private)[-_ ]?key)|-----BEGIN|" + _HINT
    )
    return _scrub_column(texts, screen, lambda text: scrub_text(text, key))


def scrub_url(url: str, key: bytes | None = None) -> str:
    """One URL scrubbed. Without a key a secret becomes `~` and twelve zeros."""
    return _masked(url, _url_spans(url, 0), key)


_TEXT_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s<>\"'`|\\^{}]+")
_STOPS = ".,;:!?)]*_"  # marks that end a sentence around a URL or value, not the URL or value
_TEXT_SECRETS = (
    re.compile(
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|\Z)"
    ),
    re.compile(r"(?i)\bbearer[ \t:=]+([A-Za-z0-9._~+/-]{16,}=*)"),
)
_TEXT_PAIR = re.compile(
    r"(?i)\b(?:password|passwd|pwd|secret|token|api[-_ ]?key"
    r"|(?:access|client|secret|private)[-_ ]?(?:key|token|secret))"
    r"[\"']?[ \t]*[:=][ \t]*[\"']?([^\s\"',;&<>]{6,})"
)


def scrub_text(text: str, key: bytes | None = None) -> str:
    """Free text with the secrets of its URLs, known credential formats and `password: ...` pairs masked."""
    spans = credential_spans(text)
    for pattern in (*_TEXT_SECRETS, _TEXT_PAIR):
        for match in pattern.finditer(text):
            start, end = match.span(match.lastindex or 0)
            if pattern is _TEXT_PAIR:
                end = start + len(text[start:end].rstrip(_STOPS))
                if text[start:end].isalpha():  # a word after `password:` is prose
                    continue
            spans.append((start, end))
    for match in _TEXT_URL.finditer(text):
        spans += [(match.start() + a, match.start() + b) for a, b in _url_spans(match[0].rstrip(_STOPS), 0)]
    return _masked(text, spans, key)


def _scrub_column(texts: pl.Series, screen: pl.Series, clean: Callable[[str], str]) -> pl.Series:
    places = screen.fill_null(value=False).arg_true()
    if places.is_empty():
        return texts
    cleaned = pl.Series([clean(text) for text in texts.gather(places)], dtype=pl.String)
    return texts.clone().scatter(places, cleaned)  # scatter writes in place


# Screens: a cheap text that a secret's URL must contain, and a pattern for the rows that do. Together they find every
# row that holds a secret, and as few others as patterns without memory can tell.
_HINT = "|".join(map(re.escape, SHAPE_HINTS))
_LONG_SEGMENT = r"(?:[/!]|%(?:25)*2[Ff1])[^/?#&]*" + LONG_RUN
_SCREENS: tuple[tuple[str, str], ...] = (
    (r"=|%(?:25)*3[Dd]", NAME_SCREEN),
    (r"%[^/?]*=", r"[?&;#][^?&;#=/]*%[^&;#=/?]*="),
    (r"@|%(?:25)*40", r"^[^/?#]*//[^/?#\\@]*@|%(?:25)*40|//[^/?#\\@]*@"),
    (_HINT, ""),
    (
        r"(?:reset|Reset|RESET|magic|Magic|MAGIC|verif|Verif|VERIF|confirm|Confirm|CONFIRM|invit|Invit|INVIT"
        r"|unsubscribe|Unsubscribe|UNSUBSCRIBE|activat|Activat|ACTIVAT|recover|Recover|RECOVER)[A-Za-z0-9_-]*(?:/|%)",
        rf"(?:/|2[Ff])[A-Za-z0-9_-]*(?:{_LINK_WORDS})[A-Za-z0-9_-]*(?:/|%(?:25)*2[Ff])[^/?#]",
    ),
    ("hooks.slack|HOOKS.SLACK", ""),
)


def _url_screen(urls: pl.Series) -> pl.Series:
    frame = pl.DataFrame({"url": urls.fill_null("")})
    column = pl.col("url")
    hits = frame.select(column.str.contains(cheap).alias(str(at)) for at, (cheap, _) in enumerate(_SCREENS))
    found = np.zeros(len(urls), bool)
    for at, (_, exact) in enumerate(_SCREENS):
        rows = np.flatnonzero(hits[str(at)].to_numpy() & ~found)
        if exact and len(rows):
            rows = rows[frame["url"].gather(rows).str.contains(exact).to_numpy()]
        found[rows] = True
    long = frame["url"].filter(~pl.Series(found)).str.contains(_LONG_SEGMENT)
    rows = np.flatnonzero(~found)[long.to_numpy()]
    if len(rows):
        rest = frame["url"].gather(rows).str.contains(ALTERNATING)
        rows = rows[rest.to_numpy()]
        bare = frame["url"].gather(rows).str.replace_all(KNOWN_IDS, "")
        rows = rows[(bare.str.contains(_LONG_SEGMENT) & bare.str.contains(ALTERNATING)).to_numpy()]
        found[rows] = True
    return pl.Series(found)


def _masked(text: str, spans: list[Span], key: bytes | None) -> str:
    if not spans:
        return text
    out, at = [], 0
    for start, end in _union(spans):
        if MASK.fullmatch(text, start, end):
            continue
        out += [text[at:start], _mask(text[start:end], key)]
        at = end
    return "".join(out) + text[at:]


def _union(spans: list[Span]) -> Iterator[Span]:
    """Overlapping spans as one, in order."""
    start, end = -1, -1
    for a, b in sorted(spans):
        if a < end or (a, b) == (start, end):
            end = max(end, b)
            continue
        if end > start:
            yield start, end
        start, end = a, b
    if end > start:
        yield start, end


def _mask(secret: str, key: bytes | None) -> str:
    if key is None:
        return "~000000000000"
    for _ in range(_DEEPEST):
        decoded = unquote(secret, errors="replace")
        if decoded == secret:
            break
        secret = decoded
    return "~" + hashlib.sha256(key + b"secret:" + secret.encode("utf-8", "replace")).hexdigest()[:12]


# --- where the secrets of one URL stand ----------------------------------------------------------------------


def _url_spans(url: str, depth: int) -> list[Span]:
    spans = credential_spans(url)
    address = _ADDRESS.match(url)
    scheme, authority = (address[1] or "", address[2] or "") if address else ("", "")
    at = address.end() if address else 0
    if "@" in authority and address:
        user = authority.rpartition("@")[0]
        if user and (":" in user or scheme.lower() in ("http", "https")):
            spans.append((address.start(2), address.start(2) + len(user)))
    head, mark, fragment = url.partition("#")
    question = head.find("?", at)
    end_of_path = len(head) if question < 0 else question
    host = authority.rpartition("@")[2]
    if address and (address[2] is not None or not scheme):  # data:, javascript: and the like have no path
        spans += _path_spans(url, at, end_of_path, host, depth)
    if question >= 0:
        spans += _param_spans(url, question + 1, len(head), depth)
    if mark:
        start = len(head) + 1
        route = fragment.startswith(("/", "!"))
        query = fragment.find("?")
        split = start if not route else (len(url) if query < 0 else start + query)
        if route:
            spans += _path_spans(url, start, split, host, depth)
        spans += _param_spans(url, split, len(url), depth)
    return spans


def _path_spans(url: str, start: int, end: int, host: str, depth: int) -> list[Span]:
    path = url[start:end]
    spans: list[Span] = []
    if ";" in path and (semi := path.find(";")) >= 0:
        spans += _param_spans(url, start + semi, end, depth)
    if _WEBHOOKS[0].search(host) and (hook := _WEBHOOKS[1].match(path)):
        return spans + [(start + hook.start(1) + a, start + hook.start(1) + b) for a, b in _segments(hook[1])]
    public = _ID_HOSTS.search(host) is not None
    after_link = 0  # segments left that may be the one-time part
    for a, b in _segments(path):
        segment = path[a:b]
        if a and path[a - 1] in "/!" and "=" not in segment:
            if (after_link > 0 or b - a >= 32) and not MASK.search(segment):
                plain = unquote(segment, errors="replace") if "%" in segment else segment
                if (after_link > 0 and is_link_token(plain)) or (not public and is_token_segment(plain)):
                    spans.append((start + a, start + b))
            after_link = 2 if _LINK_SEGMENT.fullmatch(segment) else after_link - 1
        if "%" in segment or "=" in segment:
            spans += _nested(url, start + a, start + b, depth)
    return spans


def _segments(path: str) -> list[Span]:
    return [m.span() for m in _SEGMENT.finditer(path)]


def _param_spans(url: str, start: int, end: int, depth: int) -> list[Span]:
    matches = list(_PARAM.finditer(url, start, end))
    names = [_name(m[1]) for m in matches]
    spans: list[Span] = []
    for match, name in zip(matches, names, strict=True):
        a, b = match.span(2)
        value = match[2]
        if a == b or MASK.fullmatch(value):
            continue
        if is_secret_name(name) or _is_secret_value(name, value, names):
            spans.append((a, b))
        elif "%" in value or "=" in value or "/" in value:
            spans += _nested(url, a, b, depth)
    return spans


def _name(raw: str) -> str:
    name = raw.rpartition("/")[2]
    for _ in range(_DEEPEST):
        if "%" not in name:
            break
        name = unquote(name, errors="replace")
    return name.strip("+ ").rstrip("[]").lower()  # user[password], tokens[]


def _is_secret_value(name: str, value: str, names: list[str]) -> bool:
    if MASK.search(value) or not may_be_secret_name(name):
        return False
    plain = unquote(value, errors="replace")
    if name == "code" and "state" in names and len(plain) >= 8:
        return True
    return looks_random(plain)


def _nested(url: str, start: int, end: int, depth: int) -> list[Span]:
    """Secrets of the URL that this value is once decoded, as places in the undecoded text."""
    if depth >= _DEEPEST or not _NESTED.search(url, start, end):
        return []
    decoded, places = _decode(url, start, end)
    return [(places[a], places[b]) for a, b in _url_spans(decoded, depth + 1)]


_NESTED = re.compile(r"[=/]|%(?:25)*(?:3[Dd]|2[Ff]|40)")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")


def _decode(url: str, start: int, end: int) -> tuple[str, list[int]]:
    """The text with each escape as one character (bytes as Latin-1), and where each character stood."""
    out: list[str] = []
    places: list[int] = []
    at = start
    for match in _ESCAPE.finditer(url, start, end):
        here = match.start()
        out += (url[at:here], chr(int(url[here + 1 : here + 3], 16)))
        places += range(at, here + 1)
        at = here + 3
    out.append(url[at:end])
    places += range(at, end + 1)
    return "".join(out), places
