"""Untrusted text made plain: nothing in it may steer a terminal, hide from a reader or reorder what is read."""

import re

# Whole escape sequences first (CSI, OSC with its end, single), so that their letters do not stay behind; then C0
# and C1 controls, zero-width and bidirectional characters, tags, soft hyphens, interlinear marks and BOMs.
_ESCAPES = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_].*?(?:\x07|\x1b\\\\|$)|\x1b[ -/]*[0-~]|\x9b[0-?]*[ -/]*[@-~]",
    re.DOTALL,
)
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def clean(text: object) -> str:
    """`text` on one line, without escape sequences, control, zero-width or bidirectional characters."""
    return " ".join(_HIDDEN.sub("", _ESCAPES.sub("", str(text))).split())


def clean_lines(text: str) -> str:
    """The same for text of several lines, which stay."""
    return "\n".join(clean(line) for line in text.splitlines())
