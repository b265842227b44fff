"""An export of Slack taken channel by channel, each an import of its own: what several workers can do side by side.

A channel that is the same in a newer export is recognised and left alone.
"""

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from brain.archive_members import DAMAGE
from brain.errors import SourceError
from brain.importers import slack_export
from brain.models import Batch, Rejected
from brain.progress import Progress, silent
from brain.services._import_one import ImportOptions, ImportOutcome, import_taken
from brain.slack import export
from brain.snapshot import Snapshot, adopt
from brain.workspace import Workspace


def slack_channels(path: Path) -> list[str]:
    """The channels of an export, by the names of their folders. Raises SourceError when it is none."""
    if not (slack_export.detect_folder(path) if path.is_dir() else slack_export.detect(path)):
        raise SourceError(f"{path.name} is no export of Slack: a zip or a folder with channels.json and days")
    return export.folders_in(path)


def import_slack_channel(
    ws: Workspace, path: Path, folder: str, progress: Progress | None = None
) -> ImportOutcome:
    """Import one channel, with the people and channels that the export lists.

    The outcome's path is the export's with the folder: export.zip/general.
    """
    ws.lake.ensure()
    where = path / folder
    try:
        sha256 = export.digest(path, folder)
    except (*DAMAGE, OSError):  # of a damaged zip the channel cannot be told alone
        sha256 = adopt(path, path).sha256
    taken = Snapshot(path, where, sha256, 0)
    return import_taken(ws, taken, where, sha256, ImportOptions(), progress or silent, _Channel(folder))


@dataclass(slots=True)
class _Channel:
    """The importer of exports, for one channel."""

    folder: str
    NAME: str = slack_export.NAME
    SOURCE: str = slack_export.SOURCE
    BROWSER: str = slack_export.BROWSER
    VERSION: int = slack_export.VERSION

    def detect(self, path: Path) -> bool:
        return slack_export.detect(path)

    def read(self, path: Path) -> Generator[Batch | Rejected]:
        return slack_export.read(path, self.folder)
