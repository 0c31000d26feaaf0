"""Reports of the command line: what they say of the table names flags."""

from __future__ import annotations

from pathlib import Path

from minmargin.batch import Batch
from minmargin.cli.flags import with_flags
from minmargin.execution import Progress


def write_page(
    batch: Batch, path: Path, *, image_column: str | None, progress: Progress, command: str | None = None
) -> None:
    """Write the report of a batch; `command` is what repeats the selection."""
    from minmargin.report.batch import Wishes, write_report  # noqa: PLC0415 - few batches are reported on

    wishes = Wishes(image_column=image_column, command=command, spell=with_flags)
    write_report(batch.picks, path, wishes, progress=progress)
