"""A short plain passage of a hit that shows why it was found."""

from collections.abc import Iterable

from brain.querytext import clean, fold

LONGEST = 240


def snippet(text: str, title: str | None, terms: Iterable[str]) -> str:
    """At most 240 characters of `text` around the query's terms, else from its start; '' if nothing but the title.

    One line, without control, bidirectional or zero-width characters; `…` marks where text is left out.
    """
    body = text
    if title and body.startswith(title):
        body = body[len(title) :]
    body = " ".join(clean(body).split())
    if len(body) <= LONGEST:
        return body
    start = _best_start(body, list(terms))
    end = min(len(body), start + LONGEST - 2)
    if end < len(body) and (blank := body.rfind(" ", start + LONGEST // 2, end + 1)) > 0:
        end = blank
    head, tail = "…" if start else "", "…" if end < len(body) else ""
    return f"{head}{body[start:end].strip()}{tail}"


def _best_start(body: str, terms: list[str]) -> int:
    """Where the window with most different terms begins, a little before the first of them."""
    folded = fold(body)
    if len(folded) != len(body):
        folded = body.lower()
    if len(folded) != len(body):
        return 0
    found: list[tuple[int, str]] = []
    for term in terms:
        at = folded.find(term)
        while at >= 0 and len(found) < 200:
            if at == 0 or not term[0].isascii() or not folded[at - 1].isalnum():
                found.append((at, term))
            at = folded.find(term, at + 1)
    if not found:
        return 0
    found.sort()
    width = LONGEST - 60
    best = max(
        found, key=lambda hit: (len({term for at, term in found if hit[0] <= at < hit[0] + width}), -hit[0])
    )[0]
    if best < 60:
        return 0
    blank = body.find(" ", best - 50, best)
    return blank + 1 if blank >= 0 else best
