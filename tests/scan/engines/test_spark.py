"""What a worker of Spark does beside its work, without Spark. (tests/clusters has the engine itself.)"""

from __future__ import annotations

import subprocess
import sys

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
