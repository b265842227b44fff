"""One opened lake with everything that goes with it: settings, tables, index, model.

    from brain import open_workspace
    ws = open_workspace()          # the same lake the CLI and the MCP server mean

Parts are made when first used, so opening costs nothing. Safe to share between threads.
"""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from brain import config
from brain.config import Home, Settings
from brain.errors import LakeError, ModelUnavailable

if TYPE_CHECKING:
    from brain.embedding import Embedder
    from brain.index import Index
    from brain.lake import Lake
    from brain.policy import Policy


class Workspace:
    """The lake of one home and the services' way to its parts."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @property
    def home(self) -> Home:
        return self.settings.home

    @cached_property
    def lake(self) -> "Lake":
        """The DuckDB lake."""
        from brain.lake import Lake

        return Lake(self.home)

    @cached_property
    def index(self) -> "Index":
        """The LanceDB index; derived from the lake, rebuildable."""
        from brain.index import Index

        return Index(self.home.index)

    @cached_property
    def key(self) -> bytes:
        """The lake's hash key, made on first use.

        Raises LakeError when it is gone from beside a lake that holds data: under a new key nothing known would be
        recognised again.
        """
        from brain.urls import load_or_create_key

        if not (self.home.keys / "lake.key").exists() and self.lake.exists and self._holds_urls():
            raise LakeError(
                f"{self.home.keys / 'lake.key'} is missing; put it back from a backup of this home"
            )
        return load_or_create_key(self.home.ensure())

    def _holds_urls(self) -> bool:
        self.lake.ensure()
        with self.lake.read(what="check key") as con:
            return bool(con.execute("SELECT 1 FROM store.urls LIMIT 1").fetchall())

    @cached_property
    def policy(self) -> "Policy":
        """What may be stored at all."""
        from brain.policy import Policy

        return Policy.from_settings(self.settings)

    @cached_property
    def embedder(self) -> "Embedder":
        """The configured embedding model. Raises ModelUnavailable when it is not installed."""
        from brain.embedding import load

        return load(self.settings.embedder)

    def embedder_or_none(self) -> "tuple[Embedder | None, str | None]":
        """The model, or None and the reason why there is none."""
        try:
            return self.embedder, None
        except ModelUnavailable as error:
            return None, str(error)


def open_workspace(home: Path | str | None = None) -> Workspace:
    """Open the lake at `home`, else `$BRAIN_HOME`, else the platform's user data folder."""
    return Workspace(config.load(home))
