"""What a secret looks like: parameter names that hold one, credential formats, and a test for random text."""

import math
import re
from collections import Counter
from functools import lru_cache

# A scrubbed value: `~` and 12 hex digits of a keyed hash, or of nothing where no key is at hand.
MASK = re.compile(r"~[0-9a-f]{12}")

# Names ending in one of these always hold a secret, whatever the value.
_ALWAYS = (
    r"(?:access|id|refresh|auth|oauth|api|session|csrf|xsrf|bearer|private|reset|reset_password|login|magic|invite"
    r"|invitation|confirmation|verification|verify|activation|unlock|security|user|device|jwt|sso)[-_.]?token"
    r"|(?:api|access|secret|private|subscription|session|functions|license|activation|account|shared)[-_.]?key(?:[-_]?id)?"
    r"|(?:client|api|app|token|shared)[-_.]?secret|client_assertion|samlrequest|samlresponse|authorization"
    r"|password|passwd|passwort|passphrase|passcode|pwd|otp|totp|mfa_?code|signature|secret|jwt|bearer"
    r"|(?:php|j|asp)?sess(?:ion)?[-_.]?id|connect\.sid|oauth_verifier|code_verifier|oobcode|hapikey|rlkey"
    r"|authenticity_token|accesskeyid|googleaccessid|(?:activation|verification|access|auth|login|reset|invite)[-_]?code"
)
_ALWAYS_NAME = re.compile(
    rf"(?:.*[^a-z])?(?:{_ALWAYS})|token|_token|x-(?:amz|goog)-.+|aspsessionid.*|.*(?:password|passwd)",
    re.DOTALL,
)
# These often hold something plain (key=F, code=404, session=keynote): only a value that looks random counts.
_MAYBE = (
    "key|code|token|auth|sig|sid|session|ticket|hash_?key|hmac|pass|pin|credentials?|sso|invite|assertion"
    "|nonce_key|share|g-recaptcha-response"
)
_MAYBE_NAME = re.compile(
    rf"(?:.*[^a-z])?(?:{_MAYBE})|.*(?:token|secret|apikey|signature)|__cf_chl_.+", re.DOTALL
)
# Where a page of results goes on: random to look at, but part of the page's address.
_PLAIN_NAME = re.compile(r"(?:next|page|continuation|next_?page|cancel|sync|post|zip)[-_]?(?:token|code|key)")

# Superset of both, as text to be found before `=`; names may be percent-encoded more than once.
NAME_SCREEN = (
    r"(?i)(?:token|secret|passw(?:or)?[dt]|pwd|pass(?:phrase|code)?|otp|signature|sig|key(?:[-_]?id)?|code|auth"
    r"|authorization|session|s(?:ess(?:ion)?)?[-_.]?id|accessid|ticket|jwt|bearer|samlre(?:quest|sponse)|verifier|assertion"
    r"|credentials?|hmac|sso|pin|invite|share|g-recaptcha-response|(?:x-amz-|x-goog-|aspsessionid|__cf_chl_)[^=&#?]{1,40})"
    r"(?:[\[\]]|%(?:25)*5[bd])*(?:=|%(?:25)*3d)[^&;#]"
)

# Every format begins with one of these, so that a text without any of them need not be matched against all.
SHAPE_HINTS = (
    "xox", "xapp-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "npm_", "pypi-",
    "AKIA", "ASIA", "AIza", "k_live_", "k_test_", "sk-", "hf_", ":AA", "eyJ",
)  # fmt: skip
_SHAPES = re.compile(
    r"""
    xox[a-z]-[A-Za-z0-9-]{8,} | xapp-[0-9]-[A-Za-z0-9-]{8,}              # Slack
  | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}            # GitHub
  | glpat-[A-Za-z0-9_-]{20,} | npm_[A-Za-z0-9]{36} | pypi-[A-Za-z0-9_-]{50,}
  | (?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])             # AWS
  | (?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}                                # Google
  | (?<![A-Za-z0-9])[srp]k_(?:live|test)_[A-Za-z0-9]{16,}                # Stripe
  | (?<![A-Za-z0-9])sk-(?:ant-|proj-|or-)?(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}   # OpenAI, Anthropic
  | (?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}
  | (?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])           # Telegram bots
  | (?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?   # JSON web tokens
    """,
    re.VERBOSE,
)

_RUNS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_PIECES = re.compile(r"[A-Za-z0-9]+")
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
# Three patterns that the column screen (Rust) and the test of one segment (Python) read alike.
LONG_RUN = r"[A-Za-z0-9_.~-]{32}"
# Two groups of digits within one piece, or letters that change case again and again: rare in words.
ALTERNATING = r"[0-9][A-Za-z]+[0-9]|[a-z][A-Z]+[a-z]+[A-Z]+[a-z]+[A-Z]"
# Names of content and of things: MD5, SHA-1, SHA-256 (Git, ledgers), UUIDs, and the two forms IPFS uses.
KNOWN_IDS = (
    r"\b(?:(?:0x)?(?:[0-9A-Fa-f]{64}|[0-9A-Fa-f]{40}|[0-9A-Fa-f]{32})"
    r"|[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
    r"|Qm[1-9A-HJ-NP-Za-km-z]{44}|baf[a-z2-7]{50,})\b"
)
_LONG_RUN, _ALTERNATING, _KNOWN_IDS = map(re.compile, (LONG_RUN, ALTERNATING, KNOWN_IDS))
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}$")


def credential_spans(text: str) -> list[tuple[int, int]]:
    """Where known credential formats stand in `text`."""
    if not any(hint in text for hint in SHAPE_HINTS):
        return []
    return [match.span() for match in _SHAPES.finditer(text)]


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a parameter of this decoded, lower-case name holds a secret whatever its value."""
    return not _PLAIN_NAME.fullmatch(name) and _ALWAYS_NAME.fullmatch(name) is not None


@lru_cache(maxsize=4096)
def may_be_secret_name(name: str) -> bool:
    """Whether a parameter of this decoded, lower-case name holds a secret if its value looks random."""
    return not _PLAIN_NAME.fullmatch(name) and _MAYBE_NAME.fullmatch(name) is not None


def looks_random(text: str, shortest: int = 12) -> bool:
    """Whether `text` reads like a generated token rather than like words, numbers, versions or identifiers.

    Words change character class seldom (UserPreferences2024 in 3 runs, mean 6.3), random base-62 text after
    fewer than two characters on average, random hexadecimal after about two.
    """
    if len(text) < shortest or text.isdigit() or not text.isascii():
        return False
    pieces = [p for p in _PIECES.findall(text) if not _is_word(p)]
    mixed = sum(map(len, pieces))
    if mixed < 0.6 * len(text) or entropy(text) < (2.5 if len(text) < 20 else 3.0):
        return False
    return mixed / max(1, sum(len(_RUNS.findall(p)) for p in pieces)) < 3.2


def is_token_segment(text: str) -> bool:
    """Whether a path segment is a long token, and not a hash of content, a UUID or a slug made of words."""
    if not _LONG_RUN.search(text) or not _ALTERNATING.search(text):
        return False
    bare = _KNOWN_IDS.sub("", _EXTENSION.sub("", text))
    if not _LONG_RUN.search(bare) or not _ALTERNATING.search(bare):
        return False
    has_both = any(c.isdigit() for c in bare) and any(c.isalpha() for c in bare)
    return has_both and entropy(bare) >= 3.3 and looks_random(bare)


def is_link_token(text: str) -> bool:
    """Whether what follows /reset/, /invite/ and the like is the one-time part: no word, no file name."""
    if len(text) < 6 or _EXTENSION.search(text) or not text.isascii():
        return False
    if _UUID.fullmatch(text) or looks_random(text, 6):
        return True
    return (
        len(text) >= 16
        and any(c.isdigit() for c in text)
        and any(c.isalpha() for c in text)
        and "-" not in text
    )


def entropy(text: str) -> float:
    """Shannon entropy in bits per character."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)


def _is_word(piece: str) -> bool:
    """Letters of one word or a number; not camelCase of two letters a piece, as random text is."""
    if piece.isdigit():
        return True
    runs = _RUNS.findall(piece)
    return piece.isalpha() and len(piece) / len(runs) >= 3.2
