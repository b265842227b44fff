"""Progress for a person who watches, on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager

from brain.progress import Progress, silent


@contextmanager
def bar(shown: bool) -> Iterator[Progress]:
    """A callable (stage, done, total) that draws one bar, a stage after the other, and leaves nothing behind."""
    if not shown:
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from brain.plaintext import clean

    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[count]}", style="dim", markup=False),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bars:
        task: TaskID | None = None
        current = ""

        def tell(stage: str, done: int, total: int | None) -> None:
            nonlocal task, current
            if task is None or stage != current:
                if task is not None:
                    bars.remove_task(task)
                task, current = bars.add_task(clean(stage), total=None, count=""), stage
            count = f"{done:,}" if done else ""
            bars.update(task, completed=done, total=total, count=f"{count}/{total:,}" if total else count)

        yield tell
