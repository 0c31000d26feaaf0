"""The page that tells what was tried: docs/reliability.md."""

from __future__ import annotations

from collections.abc import Sequence

from faults.situation import Row
from faults.struck import Struck
from fuzz.page import section

_HEAD = """# What happens when things fail

`make faults` tries each of these for real, stops at the first outcome that is not allowed, and writes this page. A
smaller share of each is part of `make test`. Workers of Dask, Ray and Spark that are killed in the middle of a scan are
tried by `make test-clusters`; scripts and markup in the cells, columns and classes of a report by `make test-browser`,
in a real browser; a campaign in Python that is killed at any moment by `make test`; a Label Studio server that goes
away in the middle of a push by `make test-labelling`.

## What is promised

- **The same batch, to the bit**, however often a selection is killed, interrupted or stopped by an error, as long as it
  is taken up with the same `--checkpoint`.
- **Files whole or not at all.** A batch, a manifest or a state has its name only when all of it is on disk. A process
  that is killed may leave a hidden file or folder `.NAME.*.tmp`; whoever writes NAME next removes it, unless another
  process is at work on it.
- **The same command goes on.** After a kill or a full disk, the command that was cut off is given once more, and ends
  as if nothing had happened. One that was done already says so: a campaign that has begun, a round without labels. Only
  `campaign next --even-so` and `--requeue` would make another round; `campaign status` tells whether there is one.
- **One sentence and exit 1** for whatever is wrong outside the program, with the file that it is about.
- **Damage is found where it can be.** Checkpoints, saved committees, all that a campaign's folder keeps but the
  settings, which people may change, draws of `compare` and parts of the study have checksums, and so do the pages of
  Parquet files that were written with them (`write_page_checksum=True`). CSV, Feather and `.npy` files have none: a
  flipped bit in a number is another number. Such rows are selected as they are, and were compared here with what other
  libraries read.
- **What is read back may have been written by anybody.** Sizes, types and what belongs together are checked before
  anything is made of it, although all checksums fit.
- **CSV that spreadsheets do not run.** A text that begins with `=`, `+`, `-`, `@`, a tab or a line end, and is no
  number, gets an apostrophe before it in CSV files, names of columns too. Use Parquet, Feather or JSON lines to have
  every text as it is.
- **Ctrl-C keeps what was found.** Threads stop at the next block of rows, and the state is written. On 16 million rows
  in fragments of a million, five tries ended after 0.35 to 0.70 s.
- **Ctrl-C says one line and leaves with 130**, at any moment once Python itself has started (20 ms): what was kept,
  and how to go on. The processes that a comparison or a study started end with it, and print nothing.
- **Files that change while they are read**, or after it and before the batch is made, are found by their size and time,
  and refused. Of a folder that gains files meanwhile, those are read that were there at first; the manifest has their
  number. A file that you mapped yourself (`np.memmap`) and somebody cuts short ends the process, as the system has it:
  give its path, which is read without a map.

## What was tried
"""


_STRUCK = """
## At every point

A *point* is a call that changes something on disk or at the server: a file or folder made, bytes written, a name given
or taken, an fsync, a request; SQLite's own calls are among them. Each command was killed after such a call, inside it
(with a part of the bytes written), and again when it was taken up; it was run with a disk that is full from a point on,
and on a small disk that is really full. Each time the same command followed, with nothing in its way, and all that it
left was compared with what an undisturbed one leaves: batches, journals, labels, reports, committees, tasks at the
server, and no file besides. A full disk was named in one sentence, and no temporary file was left.
"""


def page(rows: Sequence[Row | Struck], *, day: str, machine: str, python: str) -> str:
    """Return the page."""
    others = [row for row in rows if isinstance(row, Row)]
    struck = [row for row in rows if isinstance(row, Struck)]
    lines = [
        _HEAD,
        f"On {day} ({machine}, Python {python}); {sum(row.times for row in others):,} times in all.\n",
        "| fault | what was tried | times | what happened |",
        "|---|---|---:|---|",
        *(f"| {row.fault} | {_cell(row.tried)} | {row.times:,} | {_cell(row.happened)} |" for row in others),
        *([_STRUCK, *_struck_table(struck)] if struck else []),
    ]
    return "\n".join(lines) + "\n\n" + section()


def _struck_table(rows: Sequence[Struck]) -> list[str]:
    """Return the lines of a table. There would be no page if an end state differed."""
    total = Struck("all", *(sum(counts) for counts in zip(*(row[1:] for row in rows), strict=True)))
    return [
        "| command | points found | kills | full from a point on | full small disks | end states equal |",
        "|---|---:|---:|---:|---:|---:|",
        *(
            f"| {row.command} | {row.points:,} | {row.kills:,} | {row.full:,} | {row.mounted:,} | all |"
            for row in (*rows, total)
        ),
    ]


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
