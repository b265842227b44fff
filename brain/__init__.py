"""Brainlake: a local-first workbench over everything you read and write down.

    import brain
    ws = brain.open_workspace()
    ws.lake.sql("SELECT domain, count(*) FROM visits WHERE is_visible GROUP BY 1 ORDER BY 2 DESC")

Importing this package costs nothing; parts load when used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brain.workspace import Workspace as Workspace
    from brain.workspace import open_workspace as open_workspace

__version__ = "0.1.0"
__all__ = ["Workspace", "__version__", "open_workspace"]


def __getattr__(name: str) -> Any:
    if name in {"Workspace", "open_workspace"}:
        from brain import workspace

        return getattr(workspace, name)
    raise AttributeError(f"module 'brain' has no attribute {name!r}")
