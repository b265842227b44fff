"""Where the lake lies and how settings are read: order, one-line faults, homes of every name."""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from histories import Visit, chromium

from brain import config, open_workspace
from brain.errors import UsageError
from brain.services.import_files import import_files
from brain.services.query import query
from brain.services.status import status
from brain.urls import load_or_create_key
from brain.workspace import Workspace


class TestHome:
    def test_a_path_comes_before_the_variable_and_that_before_the_platform(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("BRAIN_HOME", str(tmp_path / "named"))
        assert open_workspace(tmp_path / "given").home.root == tmp_path / "given"
        assert open_workspace(str(tmp_path / "given")).home.root == tmp_path / "given"
        assert open_workspace().home.root == tmp_path / "named"
        monkeypatch.setenv("BRAIN_HOME", "")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
        if sys.platform == "linux":
            assert open_workspace().home.root == tmp_path / "data" / "brainlake"

    def test_it_is_absolute_and_a_tilde_is_the_users_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path / "me"))
        assert open_workspace("here").home.root == tmp_path / "here"
        assert open_workspace("~/brain").home.root == tmp_path / "me" / "brain"
        monkeypatch.setenv("BRAIN_HOME", "~/elsewhere")
        assert open_workspace().home.root == tmp_path / "me" / "elsewhere"

    def test_an_unknown_users_folder_is_refused(self) -> None:
        with pytest.raises(UsageError, match="there is no user ~nobody-of-this-name"):
            open_workspace("~nobody-of-this-name/brain")

    def test_opening_touches_nothing(self, workspace: Workspace) -> None:
        assert status(workspace).exists is False
        assert not workspace.home.root.exists()

    def test_a_home_that_cannot_be_made_says_so_in_one_line(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(UsageError, match=r"^the home [^\n]*file/home cannot be used: [^\n]*$"):
            import_files(open_workspace(tmp_path / "file" / "home"), [tmp_path])

    @pytest.mark.parametrize(
        "name", ["with spaces", "脳の湖", 'it\'s a "quoted" ; home', "émoji 🧠", "100%_{x}"]
    )
    def test_every_name_of_a_home_works(self, tmp_path: Path, name: str) -> None:
        ws = open_workspace(tmp_path / name)
        path = chromium(
            tmp_path / name / "my files" / "History", [Visit("2026-11-01T10:00:00Z", "https://a.example/")]
        )
        assert import_files(ws, [path]).totals["new"] == 1
        assert query(ws, "SELECT url FROM visits").frame.item() == "https://a.example/"
        assert status(ws).rows["visits"] == 1

    @pytest.mark.skipif(os.name != "posix", reason="POSIX modes")
    def test_folders_and_the_key_are_private(self, tmp_path: Path) -> None:
        home = config.Home(tmp_path / "home").ensure()
        key = load_or_create_key(home)
        assert (len(key), load_or_create_key(home)) == (32, key)
        for folder in (home.root, home.keys, home.raw, home.inbox, home.cache, home.snapshots, home.locks):
            assert folder.stat().st_mode & 0o777 == 0o700
        assert (home.keys / "lake.key").stat().st_mode & 0o777 == 0o600


class TestConfig:
    def load(self, home: Path, text: str) -> config.Settings:
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(text, "utf-8")
        return config.load(home)

    def test_every_setting_is_read(self, tmp_path: Path) -> None:
        settings = self.load(
            tmp_path,
            'timezone = "Asia/Tokyo"\nembedder = "other"\nkeep_raw = true\nkeep_private = true\n'
            'deny = ["a.example"]\nallow = ["b.a.example"]\n',
        )
        assert settings == config.Settings(
            config.Home(tmp_path), "Asia/Tokyo", "other", True, True, ("a.example",), ("b.a.example",)
        )

    def test_without_a_file_the_defaults_hold(self, home: Path) -> None:
        settings = config.load(home)
        assert (settings.embedder, settings.keep_raw, settings.keep_private, settings.deny) == (
            "minilm",
            False,
            False,
            (),
        )

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("timezone = ", "is not valid TOML"),
            ("a = 1\na = 2", "is not valid TOML"),
            ("colour = 1", "unknown setting 'colour'; known: timezone, embedder"),
            ("timezone = 5", "timezone must be a str"),
            ("keep_raw = 1", "keep_raw must be a bool"),
            ('deny = "a.example"', "deny must be a list"),
            ('timezone = "Mars/Olympus"', "unknown time zone 'Mars/Olympus'"),
            ('timezone = "../../etc/passwd"', "unknown time zone"),
        ],
    )
    def test_a_fault_is_told_in_one_line(self, tmp_path: Path, text: str, says: str) -> None:
        with pytest.raises(UsageError) as caught:
            self.load(tmp_path, text)
        assert says in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_file_that_is_no_text_is_told_in_one_line(self, tmp_path: Path) -> None:
        (tmp_path / "config.toml").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(UsageError, match=r"^[^\n]*config.toml cannot be read[^\n]*$"):
            config.load(tmp_path)

    @pytest.mark.parametrize("entry", ["", "a b", "com", 5])
    def test_a_deny_entry_that_cannot_be_meant_is_named(self, tmp_path: Path, entry: object) -> None:
        settings = self.load(tmp_path, f"deny = [{json.dumps(entry)}]")
        with pytest.raises(UsageError, match="deny or allow entry"):
            Workspace(settings).policy  # noqa: B018


class TestClock:
    @pytest.mark.parametrize(
        ("text", "instant"),
        [
            ("2026-11-30T12:00:00Z", datetime(2026, 11, 30, 12, tzinfo=UTC)),
            ("2026-11-30T12:00:00+02:00", datetime(2026, 11, 30, 10, tzinfo=UTC)),
            ("2026-11-30T12:00:00", datetime(2026, 11, 30, 12, tzinfo=UTC)),
        ],
    )
    def test_a_fixed_now_is_now(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, text: str, instant: datetime
    ) -> None:
        monkeypatch.setenv("BRAIN_NOW", text)
        assert config.load(home).now() == instant

    @pytest.mark.parametrize("text", ["noon", "0001-01-01T00:00:00+05:00"])
    def test_a_now_that_is_no_instant_is_refused(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, text: str
    ) -> None:
        monkeypatch.setenv("BRAIN_NOW", text)
        with pytest.raises(UsageError, match="BRAIN_NOW is not an instant"):
            config.load(home)

    def test_without_one_it_is_the_clocks(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("BRAIN_NOW")
        before = datetime.now(UTC)
        assert before <= config.load(home).now() <= datetime.now(UTC)

    def test_the_variable_for_the_zone_comes_before_the_file(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        home.mkdir()
        (home / "config.toml").write_text('timezone = "Asia/Tokyo"')
        assert config.load(home).timezone == "UTC"
        monkeypatch.setenv("BRAIN_TZ", "Europe/Vienna")
        assert config.load(home).zone.key == "Europe/Vienna"
        monkeypatch.setenv("BRAIN_TZ", "Nowhere")
        with pytest.raises(UsageError, match="unknown time zone 'Nowhere'"):
            config.load(home)
        monkeypatch.delenv("BRAIN_TZ")
        assert config.load(home).timezone == "Asia/Tokyo"

    @pytest.mark.parametrize(
        ("system", "zone"),
        [
            ("Europe/Vienna", "Europe/Vienna"),
            (":Europe/Vienna", "Europe/Vienna"),
            (":/usr/share/zoneinfo/Europe/Vienna", "Europe/Vienna"),
        ],
    )
    def test_the_systems_zone_is_the_default(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, system: str, zone: str
    ) -> None:
        monkeypatch.delenv("BRAIN_TZ")
        monkeypatch.setenv("TZ", system)
        assert config.load(home).timezone == zone

    def test_a_system_zone_without_a_name_is_no_fault(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("BRAIN_TZ")
        monkeypatch.setenv("TZ", "")
        default = config.load(home).timezone
        monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        assert config.load(home).timezone == default
