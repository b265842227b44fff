"""What an assistant should know when a session begins, within a budget of tokens."""

from dataclasses import dataclass

from brain.errors import UsageError
from brain.plaintext import clean
from brain.services.preferences import get_preferences
from brain.services.thought_reads import list_thoughts, open_action_items, thought_stats
from brain.workspace import Workspace

# Characters a token stands for at least, over English prose; other scripts are counted by their bytes.
_CHARACTERS = 3
_LONGEST_LINE = 300


@dataclass(frozen=True, slots=True)
class WakeUp:
    """The pack as text, with an upper estimate of its tokens and what did not fit."""

    text: str
    tokens: int
    left_out: dict[str, int]


def wake_up(ws: Workspace, token_budget: int = 800) -> WakeUp:
    """Preferences first, then open action items, latest decisions, this week's themes, as far as the budget goes.

    Raises UsageError for a budget outside 50 to 20,000.
    """
    if not 50 <= token_budget <= 20_000:
        raise UsageError("the budget must be from 50 to 20,000 tokens")
    stats = thought_stats(ws, since="7d")
    themes = [f"- {topic['name']} ({topic['thoughts']})" for topic in stats.topics[:5]]
    sections = (
        ("Preferences", [line for line in get_preferences(ws).text.splitlines() if line]),
        (
            "Open action items",
            [f"- {item['text']} [{item['id']}]" for item in open_action_items(ws, limit=20)],
        ),
        (
            "Latest decisions",
            [
                f"- {t.created_at[:10]} {t.content}"
                for t in list_thoughts(ws, type="decision", limit=5).thoughts
            ],
        ),
        (f"Themes of the last 7 days ({stats.total} thoughts)", themes),
    )
    lines: list[str] = []
    left_out: dict[str, int] = {}
    spent = 0
    for title, items in sections:
        if not items:
            continue
        head = f"# {title}"
        for place, item in enumerate(items):
            shown = item if len(item) <= _LONGEST_LINE else item[: _LONGEST_LINE - 1] + "…"
            new = [head, clean(shown)] if place == 0 else [clean(shown)]
            cost = sum(map(_tokens, new))
            if spent + cost > token_budget:
                left_out[title] = len(items) - place
                break
            lines += new
            spent += cost
    return WakeUp("\n".join(lines), spent, left_out)


def _tokens(line: str) -> int:
    return -(-(len(line.encode()) + 1) // _CHARACTERS)
