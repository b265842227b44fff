"""The last run of each flow: one small file each, so that listing them starts no server."""

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from brain.config import Home

COMPLETED = "completed"
WITH_PROBLEMS = "completed with problems"


@dataclass(slots=True)
class RunReport:
    """One run of a flow.

    `state` is `running`, `completed`, `completed with problems` or `failed`; `rows` is the table of what was
    done, one dict per line, and `problems` says in one line each what did not work. Instants are ISO 8601 UTC.
    """

    flow: str
    started_at: str
    state: str = "running"
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    pid: int = field(default_factory=os.getpid)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; without the process id, which means nothing to others."""
        values = asdict(self)
        del values["pid"]
        return values


def keep(home: Home, report: RunReport) -> None:
    """Remember this as the flow's last run."""
    folder = home.prefect / "runs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{report.flow}.json"
    draft = path.with_suffix(f".{os.getpid()}.draft")
    draft.write_text(json.dumps(asdict(report), ensure_ascii=False), "utf-8")
    draft.chmod(0o600)
    draft.replace(path)


def last_run(home: Home, flow: str) -> RunReport | None:
    """The flow's last run here, or None. One whose process is gone without an end is `interrupted`."""
    from brain.services.import_log import is_alive

    try:
        values = json.loads((home.prefect / "runs" / f"{flow}.json").read_text("utf-8"))
        report = RunReport(**values)
    except (OSError, ValueError, TypeError):
        return None
    if report.state == "running" and not is_alive(report.pid):
        report.state = "interrupted"
    return report
