"""What tests share: a home of their own, a small real lake, and the command run in this process."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

NOW = "2026-11-30T12:00:00Z"


@pytest.fixture(scope="session", autouse=True)
def _no_one_elses_lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test ever touches the lake, the zone or the clock of whoever runs the tests."""
    from brain.embedding.installed import model_root

    models = model_root()  # found from the user's own folder, which some tests replace
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BRAIN_MODEL_DIR", str(models))
        patch.setenv("BRAIN_HOME", str(tmp_path_factory.mktemp("nobody") / "home"))
        for name in ("BRAIN_TZ", "BRAIN_NOW", "FORCE_COLOR", "TTY_COMPATIBLE"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that does not exist yet, at noon of a fixed day in UTC."""
    monkeypatch.setenv("BRAIN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BRAIN_TZ", "UTC")
    monkeypatch.setenv("BRAIN_NOW", NOW)
    return tmp_path / "home"


@pytest.fixture
def workspace(home: Path) -> Any:
    """A workspace on that home."""
    from brain import open_workspace

    return open_workspace(home)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the small generated sample; to be read only."""
    from brain.sample import generate

    folder = tmp_path_factory.mktemp("sample") / "sample"
    generate(folder, "small", seed=1)
    return folder


@pytest.fixture(scope="session")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built browser extension with every optional permission given; to be read only."""
    from extension_browser import build

    return build(tmp_path_factory.mktemp("built") / "extension")


@pytest.fixture(scope="session")
def sample_home(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the small sample imported and indexed; to be read only."""
    from brain import open_workspace
    from brain.services.import_files import import_files
    from brain.services.index_documents import index_documents

    ws = open_workspace(tmp_path_factory.mktemp("lake") / "home")
    failed = [outcome for outcome in import_files(ws, [sample]).imports if outcome.error]
    assert not failed
    index_documents(ws)
    return ws.home.root


@pytest.fixture
def sample_lake(sample_home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A workspace on the sample's lake, which `$BRAIN_HOME` then names too; to be read only."""
    from brain import open_workspace

    monkeypatch.setenv("BRAIN_HOME", str(sample_home))
    monkeypatch.setenv("BRAIN_TZ", "UTC")
    monkeypatch.setenv("BRAIN_NOW", NOW)
    return open_workspace(sample_home)


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


@pytest.fixture
def brain(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run `brain ARGUMENTS` in this process, streams apart."""
    from brain.cli import main

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        return Ran(code, *capsys.readouterr())

    return run


@dataclass(frozen=True)
class Served:
    """`brain flows serve` at work: its home, the (empty) home folder of the person it runs for, its address."""

    home: Path
    person: Path
    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def announce(self, home: Path) -> None:
        """Let another home use this server instead of starting one, which takes many seconds."""
        (home / "prefect").mkdir(parents=True, exist_ok=True)
        note = {"url": self.url, "host": self.host, "port": self.port, "pid": 0}
        (home / "prefect" / "serving.json").write_text(json.dumps(note), "utf-8")


def person_environment(person: Path) -> dict[str, str]:
    """This environment, as someone would have it who lives in `person` and has set nothing up."""
    own = ("PREFECT", "XDG", "BRAIN_HOME", "BRAIN_NOW", "BRAIN_TZ")
    values = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return values | {"HOME": str(person), "USERPROFILE": str(person)}


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One `brain flows serve` for all tests that need Prefect; after them it must end cleanly."""
    from pipelines.server import free_port

    folder = tmp_path_factory.mktemp("served")
    here = Served(folder / "läke 湖", folder / "person", "127.0.0.1", free_port())
    here.person.mkdir()
    log = folder / "log"
    command = [str(Path(sys.executable).with_name("brain")), "--home", str(here.home), "flows", "serve"]
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, "--port", str(here.port)],
            env=person_environment(here.person),
            stderr=out,
            cwd=folder,
        )
    while f"UI at {here.url}" not in log.read_text("utf-8"):
        assert process.poll() is None, log.read_text("utf-8")
        time.sleep(0.1)
    yield here
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert log.read_text("utf-8").splitlines()[-1] == "Stopped."
    assert not (here.home / "prefect" / "serving.json").exists()
    assert list(here.person.iterdir()) == []


@pytest.fixture(scope="session")
def prefect(served: Served) -> Iterator[None]:
    """Lets tests call flows as functions."""
    from brain.config import Home
    from pipelines.runtime import applied, environment

    with applied(environment(Home(served.home), served.url)):
        yield
