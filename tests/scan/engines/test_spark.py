"""What a worker of Spark does beside its work, without Spark. (tests/clusters has the engine itself.)"""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from minmargin.scan.engines.spark import number_of_tasks

SCRIPT = """
import gc
from minmargin.scan.engines.spark import keep_libraries
keep_libraries()
first = gc.get_freeze_count()
more = [[] for _ in range(1000)]
keep_libraries()
print(first > 10_000, gc.get_freeze_count() - first, len(gc.get_objects()) < first)
"""


def test_the_garbage_collector_passes_over_libraries_and_over_nothing_that_came_later() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    hidden, more, fewer_left = done.stdout.split()
    assert (hidden, fewer_left) == ("True", "True")
    assert int(more) <= 0


@pytest.mark.parametrize(
    ("n_cores", "n_pieces", "n_tasks"),
    [(2, 16, 8), (2, 4096, 1024), (8, 3, 3), (8, 40, 32), (1, 9, 4), (None, 16, 16), (2, 0, 0)],
)
def test_a_task_does_up_to_four_pieces_if_that_leaves_every_core_four_tasks(
    n_cores, n_pieces, n_tasks
) -> None:
    context = {} if n_cores is None else {"sparkContext": SimpleNamespace(defaultParallelism=n_cores)}
    assert number_of_tasks(SimpleNamespace(**context), n_pieces) == n_tasks
