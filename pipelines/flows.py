"""The flows, thin over `brain.services`: one task per file or step, retried when the lake or a disk is busy.

Import only with Prefect's settings in place (see `pipelines.runtime`). A flow ends as `Completed with problems`
when some of its work could not be done; the rest is done all the same. Each leaves a table as its artifact.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.futures import wait
from prefect.states import Completed
from prefect.task_runners import ThreadPoolTaskRunner

from brain.errors import BrainError, LakeBusy, first_line
from brain.intervals import iso
from brain.workspace import Workspace, open_workspace
from pipelines import progress, records
from pipelines.records import RunReport

RETRY_SECONDS = [1.0, 4.0, 16.0]
# Two files at once: one is parsed while another is merged; only one writes to the lake at a time.
_THREADS: Any = ThreadPoolTaskRunner(max_workers=2)


def is_passing(_task: Any, _run: Any, state: Any) -> bool:
    """Whether a failure may be over in a moment: a busy lake or disk, never a file that cannot be read."""
    try:
        state.result()
    except (LakeBusy, OSError):
        return True
    except Exception:  # whatever it is, trying again will not mend it
        return False
    return False


WITH_RETRIES: dict[str, Any] = {
    "retries": len(RETRY_SECONDS),
    "retry_delay_seconds": RETRY_SECONDS,
    "retry_jitter_factor": 0.5,
    "retry_condition_fn": is_passing,
    "cache_policy": NO_CACHE,
}


@task(name="import file", task_run_name="import {path}", **WITH_RETRIES)
def import_file(path: str, home: str, quiet: bool = False) -> list[dict[str, Any]]:
    """One file into the lake; its outcome, also when it cannot be read, or those of an archive's members.

    With `quiet` an archive that holds nothing to import has none.
    """
    from brain.services.import_files import import_files

    report = import_files(open_workspace(home), [Path(path)], progress=_Telling(), quiet=quiet)
    return [asdict(outcome) for outcome in report.imports]


@task(name="import channel", task_run_name="import {channel}", **WITH_RETRIES)
def import_slack_channel(path: str, channel: str, home: str) -> dict[str, Any]:
    """One channel of a Slack export into the lake; its outcome."""
    from brain.services.import_slack_channel import import_slack_channel as bring

    return asdict(bring(open_workspace(home), Path(path), channel, progress=_Telling()))


@task(name="sync Slack", **WITH_RETRIES)
def bring_slack(home: str) -> dict[str, Any]:
    """What is new in Slack into the lake."""
    from brain.services.slack_sync import sync

    return asdict(sync(open_workspace(home), progress=_Telling()))


@task(name="index", **WITH_RETRIES)
def index_pending(home: str) -> dict[str, Any]:
    """Everything new into the search index."""
    from brain.services.index_documents import index_documents as bring_up

    return asdict(bring_up(open_workspace(home), progress=_Telling()))


@task(name="drain inbox", **WITH_RETRIES)
def drain_inbox(home: str) -> dict[str, Any]:
    """Events that wait into the lake."""
    from brain.services.drain_inbox import drain

    return asdict(drain(open_workspace(home)))


@task(name="check", **WITH_RETRIES)
def check(home: str) -> list[dict[str, Any]]:
    """Mend what can be mended, remove what was left behind, look everything over."""
    from brain.services.doctor import diagnose

    return [asdict(found) for found in diagnose(open_workspace(home), fix=True).checks]


@flow(name="import", task_runner=_THREADS)
def import_history(paths: list[str] | None = None, home: str | None = None) -> Any:
    """Import files and folders, or every readable browser history of this machine when none are named."""
    ws = open_workspace(home)
    with _run(ws, "import") as report:
        files = [str(file) for file in _files(paths, report)]
        named = {str(Path(path)) for path in paths or []}
        futures = {file: import_file.submit(file, str(ws.home.root), file not in named) for file in files}
        wait(list(futures.values()))
        for file, future in futures.items():
            outcomes: Any = future.result(raise_on_failure=False)
            if isinstance(outcomes, BaseException):
                outcomes = [{"path": file, "status": "failed", "error": first_line(outcomes)}]
            for outcome in outcomes:
                _count_file(report, outcome)
    return _end(report)


@flow(name="import-slack", task_runner=_THREADS)
def import_slack(paths: list[str] | None = None, home: str | None = None) -> Any:
    """Import exports of Slack, channel by channel, then bring the search index up."""
    from brain.services.import_slack_channel import slack_channels

    ws = open_workspace(home)
    with _run(ws, "import-slack") as report:
        root = str(ws.home.root)
        futures: dict[str, Any] = {}
        for path in paths or []:
            try:
                channels = slack_channels(Path(path))
            except BrainError as error:
                report.problems.append(first_line(error))
                continue
            futures |= {
                str(Path(path) / channel): import_slack_channel.submit(path, channel, root)
                for channel in channels
            }
        wait(list(futures.values()))
        for where, future in futures.items():
            outcome: Any = future.result(raise_on_failure=False)
            if isinstance(outcome, BaseException):
                outcome = {"path": where, "status": "failed", "error": first_line(outcome)}
            _count_file(report, outcome)
        if futures:
            index_pending(root)
    return _end(report)


@flow(name="slack")
def sync_slack(home: str | None = None) -> Any:
    """Bring what is new, changed or deleted in Slack, where a token is set up; then bring the search index up."""
    from brain.services.slack_access import is_set_up

    ws = open_workspace(home)
    with _run(ws, "slack") as report:
        if is_set_up(ws):
            root = str(ws.home.root)
            done = bring_slack(root)
            report.problems = list(done.pop("problems"))
            report.counts = done
            report.rows = [done]
            index_pending(root)
    return _end(report)


@flow(name="index")
def index_documents(home: str | None = None) -> Any:
    """Bring the search index up to the lake: rows at once, vectors as they are computed."""
    ws = open_workspace(home)
    with _run(ws, "index") as report:
        done = index_pending(str(ws.home.root))
        report.counts = {name: done[name] for name in ("indexed", "removed", "embedded", "pending")}
        report.rows = [done | {"degraded": "; ".join(done["degraded"])}]
        report.problems = list(done["degraded"])
    return _end(report)


@flow(name="maintain")
def maintain(home: str | None = None) -> Any:
    """Apply what waits in the inbox, finish the index, tidy up, look everything over."""
    ws = open_workspace(home)
    with _run(ws, "maintain") as report:
        root = str(ws.home.root)
        done = drain_inbox(root)
        report.counts = {name: done[name] for name in ("applied", "duplicate", "rejected")}
        if ws.lake.exists:
            index_pending(root)
        report.rows = check(root)
        report.problems = [f"{row['name']}: {row['detail']}" for row in report.rows if not row["ok"]]
        report.counts |= {"checks": len(report.rows), "failed_checks": len(report.problems)}
    return _end(report)


@flow(name="everything")
def everything(paths: list[str] | None = None, home: str | None = None) -> Any:
    """Import, then index, then maintain; a step that fails does not keep the next from its work."""
    ws = open_workspace(home)
    root = str(ws.home.root)
    with _run(ws, "everything") as report:
        for name, step, parameters in (
            ("import", import_history, {"paths": paths, "home": root}),
            ("index", index_documents, {"home": root}),
            ("maintain", maintain, {"home": root}),
        ):
            state: Any = step(**parameters, return_state=True)
            done = state.result(raise_on_failure=False)
            if isinstance(done, BaseException):
                done = {"state": "failed", "problems": [first_line(done)], "counts": {}, "seconds": 0.0}
            report.rows.append(
                {"step": name, "state": done["state"], "seconds": done["seconds"], **done["counts"]}
            )
            report.problems += [problem for problem in done["problems"] if problem not in report.problems]
            report.counts |= done["counts"]
    return _end(report)


class _Telling:
    """Progress of a service, to the listener of this process and, stage by stage, to the run's log."""

    def __init__(self) -> None:
        self._tell = progress.current()
        self._log = get_run_logger()
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if stage != self._stage:
            self._stage = stage
            self._log.info("%s%s", stage, f" ({total:,})" if total else "")
        self._tell(stage, done, total)


@contextmanager
def _run(ws: Workspace, name: str) -> Iterator[RunReport]:
    """Times a run, keeps its record and its artifact. What escapes the block is recorded and raised."""
    ws.home.ensure()
    started = time.monotonic()
    report = RunReport(name, iso(ws.settings.now()))
    records.keep(ws.home, report)
    try:
        yield report
        report.state = records.WITH_PROBLEMS if report.problems else records.COMPLETED
    except BaseException as error:
        report.state = "failed"
        report.problems.append(first_line(error))
        raise
    finally:
        report.seconds = round(time.monotonic() - started, 3)
        records.keep(ws.home, report)
    log = get_run_logger()
    log.info("%s", ", ".join(f"{count:,} {what}" for what, count in report.counts.items()) or "nothing to do")
    for problem in report.problems:
        log.warning("%s", problem)
    create_table_artifact(
        key=name,
        table=report.rows or [{"nothing": "to do"}],
        description=f"{report.state}, {report.seconds} s",
    )


def _end(report: RunReport) -> Any:
    """The state a run ends in, carrying its report."""
    if report.state == records.COMPLETED:
        return Completed(data=report.as_dict())
    return Completed(
        name="Completed with problems", message="; ".join(report.problems)[:500], data=report.as_dict()
    )


def _files(paths: list[str] | None, report: RunReport) -> Iterator[Path]:
    from brain import discovery
    from brain.services.import_files import find_files

    if paths is not None:
        yield from find_files(Path(path) for path in paths)
        return
    for source in discovery.discover():
        if source.readable:
            yield Path(source.path)
        else:
            report.rows.append({"path": str(source.path), "status": "left out", "error": source.reason})


_FILE_COLUMNS = (
    "path",
    "browser",
    "profile",
    "status",
    "seen",
    "new",
    "visible",
    "rejected",
    "seconds",
    "error",
)
_FILE_COUNTS = ("seen", "new", "visible", "rejected")


def _count_file(report: RunReport, outcome: dict[str, Any]) -> None:
    report.rows.append({name: outcome.get(name) for name in _FILE_COLUMNS})
    report.counts["files"] = report.counts.get("files", 0) + 1
    for name in _FILE_COUNTS:
        report.counts[name] = report.counts.get(name, 0) + (outcome.get(name) or 0)
    if outcome["status"] in {"failed", "partial"}:
        name, reason = Path(outcome["path"]).name, str(outcome.get("error") or outcome["status"])
        report.problems.append(reason if reason.startswith(name) else f"{name}: {reason}")
