import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from conftest import Served, person_environment
from slack_files import as_folder, as_zip, export, message
from slack_server import FakeSlack

from brain import Workspace
from brain.config import Home
from brain.errors import BrainError, LakeBusy, SourceError, UsageError
from brain.services.find import search
from pipelines import catalog, records
from pipelines.runtime import environment
from pipelines.server import OwnPagesOnly, Server, free_port

DATA = Path(__file__).parent / "data"
CHROMIUM = DATA / "chromium-156-History"
FIREFOX = DATA / "firefox-153-live-places.sqlite"
BRAIN = str(Path(sys.executable).with_name("brain"))


def _visits(ws: Workspace) -> int:
    return int(ws.lake.sql("SELECT count(*) AS n FROM visits")["n"][0])


@pytest.mark.usefixtures("prefect")
class TestSlackFlows:
    DAYS: ClassVar = {
        "bread/2026-03-01": [message("1772323200.000100", "How often do you feed it?")],
        "sea/2026-03-01": [message("1772323300.000100", "Ferry at seven", "U2")],
    }

    def test_every_channel_is_a_task_and_a_row(self, workspace: Workspace, tmp_path: Path) -> None:
        from pipelines.flows import import_slack

        path = as_zip(tmp_path / "export.zip", export(self.DAYS))
        report = import_slack([str(path)], str(workspace.home.root))
        assert (report["problems"], report["state"]) == ([], "completed")
        assert [(row["path"], row["status"], row["new"]) for row in report["rows"]] == [
            (str(path / "bread"), "imported", 1),
            (str(path / "sea"), "imported", 1),
        ]
        assert [hit.kind for hit in search(workspace, "feed it").results][:1] == ["slack_thread"]

    def test_of_a_newer_export_only_what_changed_is_read(self, workspace: Workspace, tmp_path: Path) -> None:
        from pipelines.flows import import_slack

        import_slack([str(as_zip(tmp_path / "export.zip", export(self.DAYS)))], str(workspace.home.root))
        days = self.DAYS | {"sea/2026-03-02": [message("1772409700.000100", "Late again")]}
        for newer in (
            as_zip(tmp_path / "newer.zip", export(days)),
            as_folder(tmp_path / "newer", export(days)),
        ):
            report = import_slack([str(newer)], str(workspace.home.root))
            found = {Path(row["path"]).name: (row["status"], row["new"]) for row in report["rows"]}
            if newer.suffix:
                assert found == {"bread": ("unchanged", 0), "sea": ("imported", 1)}
            else:
                assert {new for _, new in found.values()} == {0}

    def test_what_is_no_export_or_damaged_is_a_problem_and_the_rest_goes_on(
        self, workspace: Workspace, tmp_path: Path
    ) -> None:
        from pipelines.flows import import_slack

        whole = as_zip(tmp_path / "export.zip", export(self.DAYS))
        half = tmp_path / "half.zip"
        half.write_bytes(whole.read_bytes()[:-30])
        report = import_slack([str(CHROMIUM), str(half), str(whole)], str(workspace.home.root))
        assert "is no export of Slack" in report["problems"][0]
        assert workspace.lake.sql("SELECT count(*) AS n FROM slack_messages")["n"][0] == 2

    def test_without_a_token_there_is_nothing_to_sync(
        self, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from pipelines.flows import sync_slack

        monkeypatch.delenv("BRAIN_SLACK_TOKEN", raising=False)
        assert sync_slack(str(workspace.home.root))["state"] == "completed"

    def test_a_token_that_is_no_good_is_said(
        self, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from brain.services import slack_access
        from brain.services.slack_access import SlackUnavailable
        from pipelines.flows import sync_slack

        workspace.home.ensure()
        (workspace.home.keys / "slack_token").write_text("xoxb-other")
        fake = FakeSlack()
        made = slack_access.web_client
        monkeypatch.setattr(
            "brain.services.slack_sync.web_client", lambda token, base: made(token, base or fake.url)
        )
        with pytest.raises(SlackUnavailable, match="invalid_auth"):
            sync_slack(str(workspace.home.root))
        fake.close()


@pytest.mark.usefixtures("prefect")
class TestImportFlow:
    def test_every_file_is_a_row_and_the_counts_are_exact(self, workspace: Workspace) -> None:
        from pipelines.flows import import_history

        report = import_history([str(CHROMIUM), str(FIREFOX)], str(workspace.home.root))
        assert (report["problems"], report["state"]) == ([], "completed")
        assert report["counts"] == {"files": 2, "seen": 45, "new": 45, "visible": 43, "rejected": 0}
        assert [(row["browser"], row["status"], row["visible"]) for row in report["rows"]] == [
            ("chromium", "imported", 23),
            ("firefox", "imported", 20),
        ]
        assert _visits(workspace) == 45

    def test_a_second_run_finds_everything_unchanged(self, workspace: Workspace) -> None:
        from pipelines.flows import import_history

        import_history([str(CHROMIUM)], str(workspace.home.root))
        report = import_history([str(CHROMIUM)], str(workspace.home.root))
        assert [row["status"] for row in report["rows"]] == ["unchanged"]
        assert report["counts"]["new"] == 0
        assert _visits(workspace) == 24

    def test_a_bad_file_is_a_problem_and_the_others_are_imported(
        self, workspace: Workspace, tmp_path: Path
    ) -> None:
        from pipelines.flows import import_history

        bad = tmp_path / "notes.db"
        bad.write_text("no database")
        state: Any = import_history([str(bad), str(CHROMIUM)], str(workspace.home.root), return_state=True)
        assert state.name == "Completed with problems"
        assert state.is_completed()
        report = state.result()
        assert [row["status"] for row in report["rows"]] == ["failed", "imported"]
        assert len(report["problems"]) == 1
        assert report["problems"][0].startswith("notes.db ")
        assert _visits(workspace) == 24

    def test_a_run_leaves_a_table_and_its_record(self, workspace: Workspace) -> None:
        from prefect.artifacts import Artifact

        from pipelines.flows import import_history

        import_history([str(CHROMIUM)], str(workspace.home.root))
        artifact = Artifact.get("import")
        assert artifact is not None
        assert json.loads(str(artifact.data))[0]["seen"] == 24
        last = records.last_run(workspace.home, "import")
        assert last is not None
        assert (last.state, last.started_at) == ("completed", "2026-11-30T12:00:00.000000Z")
        assert last.counts["new"] == 24


@pytest.mark.usefixtures("prefect")
class TestOtherFlows:
    def test_everything_chains_the_three_and_leaves_a_healthy_lake(self, workspace: Workspace) -> None:
        from brain.services.doctor import diagnose
        from pipelines.flows import everything

        report = everything([str(CHROMIUM)], str(workspace.home.root))
        assert [row["step"] for row in report["rows"]] == ["import", "index", "maintain"]
        assert report["rows"][0]["new"] == 24
        pages = workspace.lake.sql("SELECT count(DISTINCT page_id) AS n FROM visits WHERE is_visible")["n"][0]
        assert report["rows"][1]["indexed"] == pages
        assert [check.name for check in diagnose(workspace).checks if not check.ok] == [
            problem.split(":")[0] for problem in report["problems"] if not problem.startswith("keyword only")
        ]

    def test_maintain_applies_what_waits_in_the_inbox(self, workspace: Workspace) -> None:
        from brain.services.drain_inbox import inbox
        from pipelines.flows import maintain

        inbox(workspace).drop(
            {"kind": "note", "at": "2026-11-30T10:00:00Z", "data": {"text": "water the fern"}}
        )
        report = maintain(str(workspace.home.root))
        assert report["counts"]["applied"] == 1
        assert inbox(workspace).waiting() == 0

    def test_maintain_on_an_empty_home_makes_no_lake(self, workspace: Workspace) -> None:
        from pipelines.flows import maintain

        report = maintain(str(workspace.home.root))
        assert report["counts"]["checks"] == len(report["rows"])
        assert not workspace.lake.exists


@pytest.mark.usefixtures("prefect")
@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (LakeBusy("held by another"), 4),
        (OSError("disk away"), 4),
        (SourceError("encrypted"), 1),
        (KeyError("x"), 1),
    ],
)
def test_a_busy_lake_or_disk_is_tried_again_and_nothing_else(error: Exception, tries: int) -> None:
    from prefect import flow, task

    from pipelines.flows import WITH_RETRIES

    calls = []

    @task(**WITH_RETRIES | {"retry_delay_seconds": 0})
    def work() -> None:
        calls.append(1)
        raise error

    @flow
    def around() -> None:
        work()

    with pytest.raises(type(error)):
        around()
    assert len(calls) == tries


class TestRecords:
    def test_a_run_whose_process_is_gone_was_interrupted(self, workspace: Workspace) -> None:
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        records.keep(workspace.home, records.RunReport("index", "2026-11-30T12:00:00.000000Z", pid=gone.pid))
        last = records.last_run(workspace.home, "index")
        assert last is not None
        assert last.state == "interrupted"

    def test_a_damaged_record_counts_as_none(self, workspace: Workspace) -> None:
        records.keep(workspace.home, records.RunReport("index", "2026-11-30T12:00:00.000000Z"))
        (workspace.home.prefect / "runs" / "index.json").write_text("{", "utf-8")
        assert records.last_run(workspace.home, "index") is None


class TestEnvironment:
    def test_what_the_user_set_up_for_prefect_elsewhere_does_not_apply(
        self, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PREFECT_API_KEY", "pnu_secret")
        monkeypatch.setenv("PREFECT_API_URL", "https://api.prefect.cloud/api/accounts/1")
        monkeypatch.setenv("PREFECT_API_DATABASE_CONNECTION_URL", "postgresql://elsewhere/db")
        values = environment(workspace.home, "http://127.0.0.1:4200")
        assert values["PREFECT_API_URL"] == "http://127.0.0.1:4200/api"
        assert values["PREFECT_HOME"] == str(workspace.home.prefect)
        assert not {"PREFECT_API_KEY", "PREFECT_API_DATABASE_CONNECTION_URL"} & values.keys()

    def test_telemetry_is_off_and_no_proxy_is_asked_for_this_machine(
        self, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("NO_PROXY", "intranet.example")
        values = environment(workspace.home, "http://127.0.0.1:4200")
        assert (values["PREFECT_SERVER_ANALYTICS_ENABLED"], values["DO_NOT_TRACK"]) == ("False", "1")
        assert values["NO_PROXY"] == "intranet.example,127.0.0.1,localhost,::1"


class TestServer:
    @pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "example.org"])
    def test_it_binds_this_machine_only(self, host: str, workspace: Workspace) -> None:
        with pytest.raises(UsageError, match="binds this machine only"):
            Server({}, host, 4200, workspace.home.logs / "log")

    def test_a_taken_port_is_said(self, workspace: Workspace) -> None:
        import socket

        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            with pytest.raises(BrainError, match="is taken by another program"):
                Server({}, "127.0.0.1", other.getsockname()[1], workspace.home.logs / "log")

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({}, 200),
            ({"Host": "localhost:{port}"}, 200),
            ({"Origin": "http://127.0.0.1:{port}"}, 200),
            ({"Host": "evil.example:{port}"}, 403),
            ({"Host": "127.0.0.1"}, 403),
            ({"Origin": "https://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": "http://127.0.0.1:1"}, 403),
        ],
    )
    def test_pages_of_other_sites_are_turned_away(
        self, headers: dict[str, str], status: int, guarded: int
    ) -> None:
        asked = http.client.HTTPConnection("127.0.0.1", guarded, timeout=10)
        asked.request("GET", "/", headers={k: v.format(port=guarded) for k, v in headers.items()})
        assert asked.getresponse().status == status
        asked.close()

    @pytest.fixture
    def guarded(self) -> Iterator[int]:
        """Port of a server whose only page is behind the guard."""
        import uvicorn

        async def page(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})

        port = free_port()
        server = uvicorn.Server(
            uvicorn.Config(OwnPagesOnly(page, port), "127.0.0.1", port, log_level="error", lifespan="off")
        )
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started and thread.is_alive():
            thread.join(0.02)
        yield port
        server.should_exit = True
        thread.join()


class TestCommand:
    def test_the_list_names_every_flow_with_its_schedule(self, brain: Callable[..., Any], home: Path) -> None:
        shown = brain("flows", "list", "--json")
        assert shown.code == 0
        assert [(f["name"], f["cron"], f["last_run"]) for f in shown.json["flows"]] == [
            (info.name, info.cron, None) for info in catalog.CATALOG
        ]
        assert not home.exists()

    def test_an_unknown_flow_is_wrong_usage(self, brain: Callable[..., Any]) -> None:
        shown = brain("flows", "run", "nonsense")
        assert shown.code == 2
        assert "import, index, maintain, slack, import-slack, everything" in shown.err

    def test_only_flows_that_import_take_a_path(self, brain: Callable[..., Any], home: Path) -> None:
        shown = brain("flows", "run", "index", "--path", CHROMIUM)
        assert shown.code == 2
        assert not home.exists()

    @pytest.mark.slow
    def test_a_run_leaves_nothing_outside_the_home(self, tmp_path: Path) -> None:
        person, home = tmp_path / "person", tmp_path / "läke 湖"
        person.mkdir()
        ran = subprocess.run(
            [BRAIN, "--json", "--home", home, "flows", "run", "import", "--path", CHROMIUM],
            env=person_environment(person),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=280,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        assert json.loads(ran.stdout)["counts"]["new"] == 24
        assert list(person.iterdir()) == []
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted([home.name, person.name])
        for path in (home / "prefect", *(home / "prefect").rglob("*")):
            assert path.is_dir() or path.stat().st_mode & 0o077 == 0, path


@pytest.mark.slow
class TestServe:
    def test_the_ui_is_served(self, served: Served) -> None:
        status, page = _ask(served, "GET", "/")
        assert status == 200
        assert page.lower().startswith("<!doctype html>")

    def test_every_flow_is_deployed_and_its_schedule_active(self, served: Served) -> None:
        found = json.loads(_ask(served, "POST", "/api/deployments/filter", {})[1])
        schedules = {
            d["entrypoint"]: [s["schedule"]["cron"] for s in d["schedules"] if s["active"]] for d in found
        }
        assert schedules == {
            f"pipelines.flows.{info.function}": [info.cron] if info.cron else [] for info in catalog.CATALOG
        }
        assert not any(d["paused"] for d in found)

    def test_a_deployment_runs_through(self, served: Served) -> None:
        found = json.loads(_ask(served, "POST", "/api/deployments/filter", {})[1])
        chosen = next(d["id"] for d in found if d["entrypoint"] == "pipelines.flows.index_documents")
        scheduled = {"state": {"type": "SCHEDULED"}}
        run = json.loads(_ask(served, "POST", f"/api/deployments/{chosen}/create_flow_run", scheduled)[1])
        state = ""
        while state not in {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}:
            time.sleep(0.3)
            state = json.loads(_ask(served, "GET", f"/api/flow_runs/{run['id']}")[1])["state"]["type"]
        assert state == "COMPLETED"
        last = records.last_run(Home(served.home), "index")
        assert last is not None
        assert last.state == "completed"

    def test_a_second_one_for_the_same_home_is_refused(
        self, served: Served, brain: Callable[..., Any]
    ) -> None:
        shown = brain("--home", served.home, "flows", "serve", "--port", free_port())
        assert shown.code == 2
        assert f"served already, at {served.url}" in shown.err

    def test_a_run_by_hand_uses_the_same_server(self, served: Served, brain: Callable[..., Any]) -> None:
        shown = brain("--home", served.home, "--json", "flows", "run", "maintain")
        assert shown.json["flow"] == "maintain"
        found = json.loads(_ask(served, "POST", "/api/flow_runs/filter", {})[1])
        flows = json.loads(_ask(served, "POST", "/api/flows/filter", {})[1])
        maintain = next(flow["id"] for flow in flows if flow["name"] == "maintain")
        assert any(run["flow_id"] == maintain and run["deployment_id"] is None for run in found)


def _ask(served: Served, method: str, path: str, body: Any = None) -> tuple[int, str]:
    asked = http.client.HTTPConnection(served.host, served.port, timeout=60)
    asked.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
    answer = asked.getresponse()
    text = answer.read().decode()
    asked.close()
    return answer.status, text
