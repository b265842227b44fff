"""`queries.json`: questions with known answers, for judging search on the sample.

`{"queries": [{"id", "family", "text", "since", "until", "answers", "split"}]}`. An answer is the exact URL of a page
as it stands in the sample's files; a question may have none. `since` and `until` are instants (ISO 8601, UTC) or
null. Each family is cut in halves, `split` "tune" and "report": settings are chosen on one and reported on the other.
The labels come from the same hands as the sample: they are synthetic and should be called so.
"""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from brain.sample.pages import data

FAMILIES = ("exact", "name", "paraphrase", "typo", "cjk", "time-bounded", "recency-conflict", "no-answer")


def questions(end: datetime) -> list[dict[str, Any]]:
    """All questions, grouped by family in the order of `FAMILIES`; intervals are whole UTC days before `end`."""
    asked: list[tuple[str, str, list[str], list[int] | None]] = []
    for page in data("anchors")["page"]:
        for family, text, *interval in page.get("ask", []):
            asked.append((family, text, [page["url"]], interval[0] if interval else None))
    asked += [("no-answer", text, [], None) for text in data("anchors")["no_answer"]["texts"]]
    asked.sort(key=lambda question: FAMILIES.index(question[0]))
    numbers: Counter[str] = Counter()
    found = []
    for family, text, answers, interval in asked:
        numbers[family] += 1
        since, until = (_day(end, days) for days in interval) if interval else (None, None)
        found.append(
            {
                "id": f"{family}-{numbers[family]:02d}",
                "family": family,
                "text": text,
                "since": since,
                "until": until,
                "answers": answers,
                "split": "tune" if numbers[family] % 2 else "report",
            }
        )
    return found


def write(path: Path, end: datetime) -> int:
    """Write the file and return the number of questions."""
    found = questions(end)
    text = json.dumps({"queries": found}, ensure_ascii=False, indent=1) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")
    return len(found)


def _day(end: datetime, days: int) -> str:
    midnight = end.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)
    return midnight.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
