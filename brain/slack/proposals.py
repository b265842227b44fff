"""Messages that propose a preference, such as `pref: plain words, not jargon`."""

import re
import shlex
from dataclasses import dataclass

_PROPOSES = re.compile(r"\s*pref(?:erence)?\s*:\s*(?P<what>\S.*)", re.IGNORECASE | re.DOTALL)
_DOMAIN = re.compile(r"\[(?P<domain>[^\[\]\n]{1,60})\]\s*(?P<rest>\S.*)", re.DOTALL)
_REJECT = re.compile(r"\s*[,;.]\s*(?:but\s+)?(?:not|no|never|reject|instead of)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A preference somebody proposes; only a person's client makes it one."""

    name: str
    domain: str
    want: str
    reject: str | None

    @property
    def command(self) -> str:
        """The command that would set it."""
        parts = ["brain", "prefs", "set", self.name, "--domain", self.domain, "--want", self.want]
        return shlex.join(parts + (["--reject", self.reject] if self.reject else []))


def read_proposal(text: str) -> Proposal | None:
    """What a message proposes: `pref: [domain] want, not reject`; None when it proposes nothing."""
    if not (found := _PROPOSES.match(text)):
        return None
    what = " ".join(found["what"].split())[:1000]
    domain = "general"
    if named := _DOMAIN.match(what):
        domain, what = named["domain"].strip().lower() or domain, named["rest"]
    want, reject = ([*_REJECT.split(what, maxsplit=1), ""])[:2]
    name = "-".join(re.findall(r"\w+", want.lower())[:4]) or "preference"
    return Proposal(name, domain, want.strip(" .,;") or what, reject.strip(" .,;") or None)
