"""Which flows there are, what they do and when they run by themselves."""

from dataclasses import dataclass

from brain.errors import UsageError


@dataclass(frozen=True, slots=True)
class FlowInfo:
    """One flow. `cron` is in the user's time zone; None means only on demand. `function` is in `pipelines.flows`."""

    name: str
    function: str
    what: str
    cron: str | None
    schedule: str

    @property
    def takes_paths(self) -> bool:
        """Whether it can be told what to import."""
        return self.name in {"import", "import-slack", "everything"}


CATALOG: tuple[FlowInfo, ...] = (
    FlowInfo(
        "import", "import_history", "import the browser history found on this machine", "0 * * * *", "hourly"
    ),
    FlowInfo(
        "index",
        "index_documents",
        "bring the search index up to the lake",
        "5,20,35,50 * * * *",
        "every 15 minutes",
    ),
    FlowInfo(
        "maintain",
        "maintain",
        "apply what waits, tidy up, check that all is well",
        "30 3 * * *",
        "daily at 03:30",
    ),
    FlowInfo(
        "slack",
        "sync_slack",
        "bring what is new in Slack, where a token is set up",
        "10 * * * *",
        "hourly",
    ),
    FlowInfo(
        "import-slack", "import_slack", "import exports of Slack, channel by channel", None, "on demand"
    ),
    FlowInfo("everything", "everything", "import, then index, then maintain", None, "on demand"),
)


def find(name: str) -> FlowInfo:
    """The flow of that name. Raises UsageError naming the flows there are."""
    for info in CATALOG:
        if info.name == name:
            return info
    raise UsageError(f"there is no flow {name!r}; there are {', '.join(info.name for info in CATALOG)}")
