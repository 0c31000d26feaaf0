"""Memory does not follow the pool: a selection goes through inside a limit that the pool itself would burst."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and /proc are Linux's")

N_FILES, N_ROWS, N_FEATURES = 16, 1 << 18, 16  # 268 MB of float32 in all, 4 MB in a row group
ROOM = 200 << 20  # beyond what the process has after a first small selection

# The limit is set when libraries are loaded and kernels compiled: what these take is not the pool's.
SCRIPT = """
    import resource
    import sys
    from pathlib import Path

    import minmargin as mm
    import numpy as np
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())  # others reserve a gigabyte at once, and use it or not
    first, *others = sorted(Path(sys.argv[1]).glob("*.parquet"))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, {n_features}))
    committee = mm.fit_committee(X, X[:, 0] > 0, random_state=0, n_jobs=1)
    committee.select(first, 100, n_jobs=1)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + {room}
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    if sys.argv[2] == "all at once":
        rows = [pa.parquet.read_table(path, use_threads=False) for path in others]
    else:
        batch = committee.select([first, *others], 100, n_jobs=1)
        print(batch.manifest["pool"]["rows"])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pool")
    rng = np.random.default_rng(0)
    columns = {f"f{place}": rng.normal(size=N_ROWS).astype(np.float32) for place in range(N_FEATURES)}
    pq.write_table(pa.table(columns), folder / "part-00.parquet", row_group_size=N_ROWS // 4)
    for number in range(1, N_FILES):  # the same rows again: what matters is how many
        (folder / f"part-{number:02d}.parquet").hardlink_to(folder / "part-00.parquet")
    return folder


def run(folder: Path, how: str) -> subprocess.CompletedProcess[str]:
    script = textwrap.dedent(SCRIPT).format(n_features=N_FEATURES, room=ROOM)
    environment = {"MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", script, str(folder), how],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment,
    )


def test_a_pool_larger_than_the_limit_is_selected_from(folder: Path) -> None:
    done = run(folder, "in chunks")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{N_FILES * N_ROWS}\n"


def test_the_limit_is_one_that_the_pool_would_burst(folder: Path) -> None:
    done = run(folder, "all at once")
    assert done.returncode != 0
    assert "malloc" in done.stderr or "MemoryError" in done.stderr
