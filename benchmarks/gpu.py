"""What a GPU does: rows looked at, networks trained, greedy picks.

Ceilings are measured in the same run: a copy in device memory, counting what is read and written; a copy to the device
from page-locked memory; matrix products of 8,192 cubed. Shares are of these. *Linear committees* are 25 members, and
the kernel is handed rows in device memory and a threshold that hardly any row meets, which is what a scan is like
after its first blocks. *From host memory* is a whole selection, `committee.select(pool, 1000, device="cuda")`, from
an array in the computer's own memory. *A training step* is one step of 256 networks on 32 rows each. *Greedy* is a
whole selection from 60,000 rows of 784 features; the CPU of the same machine picks the first tenth of it.

    python benchmarks/gpu.py [--quick] [--json FILE]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

import minmargin as mm
from measuring import Report, Table, arguments_of, figure

N_MODELS = 25


def median_seconds(work: Callable[[], object]) -> float:
    """Return the median time of device work, by the device's clock."""
    from triton.testing import do_bench  # noqa: PLC0415 - only where there is a GPU

    return float(do_bench(work, warmup=50, rep=300, return_mode="median")) * 1e-3


class DeviceCeilings:
    """What the device can do at most."""

    def __init__(self, *, quick: bool) -> None:
        import torch  # noqa: PLC0415 - an extra

        n = 1 << (26 if quick else 30)
        source = torch.randn(n, device="cuda")
        target = torch.empty_like(source)
        self.copy = 8 * n / median_seconds(lambda: target.copy_(source))
        pinned = torch.empty(n // 4, pin_memory=True)
        self.from_host = n / median_seconds(lambda: target[: n // 4].copy_(pinned, non_blocking=True))
        size = 2048 if quick else 8192
        left, right = (torch.randn(size, size, device="cuda") for _ in range(2))
        self.float32 = 2 * size**3 / median_seconds(lambda: left @ right)
        halves = left.half(), right.half()
        self.float16 = 2 * size**3 / median_seconds(lambda: halves[0] @ halves[1])
        doubles = left.double(), right.double()
        self.float64 = 2 * size**3 / median_seconds(lambda: doubles[0] @ doubles[1])
        self.name = torch.cuda.get_device_name()
        self.torch = torch.__version__

    def table(self) -> Table:
        """Return them as a table."""
        return Table(
            f"{self.name}, torch {self.torch}: ceilings",
            ["what", "a second"],
            [
                ["copy in device memory, read and written", f"{self.copy / 1e12:.2f} TB"],
                ["copy from page-locked memory", f"{self.from_host / 1e9:.1f} GB"],
                ["float32 product", f"{self.float32 / 1e12:.1f} TFLOP"],
                ["float16 product", f"{self.float16 / 1e12:.0f} TFLOP"],
                ["float64 product", f"{self.float64 / 1e12:.1f} TFLOP"],
            ],
        )


def linear(report: Report, ceilings: DeviceCeilings, *, quick: bool) -> None:
    """Measure the kernels for linear committees on rows in device memory."""
    import torch  # noqa: PLC0415 - an extra

    from minmargin.compute.gpu.gaps import GapLooks  # noqa: PLC0415 - imports torch

    table = Table(
        "25 linear members, rows in device memory",
        ["classes, features", "way", "million rows/s", "share of copy", "TFLOP/s", "largest error"],
        note="The share of the copy counts bytes read only. TFLOP/s are those of the logits, 2 K C D a row, whatever "
        "the kernel really multiplies. Errors are those of a gap, from float64.",
    )
    rng = np.random.default_rng(0)
    shares: dict[tuple[int, str], float] = {}
    rates: dict[tuple[int, str], float] = {}
    for n_classes, n_features, full_size in ((2, 32, 1 << 26), (10, 64, 1 << 24), (10, 784, 1 << 21)):
        n = full_size >> 6 if quick else full_size
        n_outputs = 1 if n_classes == 2 else n_classes
        weights = rng.normal(size=(N_MODELS, n_outputs, n_features)) * 3 / np.sqrt(n_features)
        constants = rng.normal(size=(N_MODELS, n_outputs))
        rows = torch.randn(n, n_features, device="cuda")
        flat = torch.from_numpy(weights.reshape(-1, n_features).T.copy()).float().cuda()
        shift = torch.from_numpy(constants.ravel()).float().cuda()
        few = rows[: max(n >> 4, 1)]

        def plainly(few=few, flat=flat, shift=shift, n_outputs=n_outputs) -> object:
            logits = torch.addmm(shift, few, flat).view(len(few), N_MODELS, n_outputs)
            if n_outputs == 1:
                return logits.abs().amin((1, 2))
            top = logits.topk(2, dim=2).values
            return (top[..., 0] - top[..., 1]).amin(1)

        exact = torch.einsum("nd,kod->nko", rows[:4096].double(), torch.from_numpy(weights).cuda())
        exact += torch.from_numpy(constants).cuda()
        if n_outputs == 1:
            gaps = exact.abs().amin((1, 2)).cpu().numpy()
        else:
            top = exact.topk(2, dim=2).values
            gaps = (top[..., 0] - top[..., 1]).amin(1).cpu().numpy()
        ways: dict[str, tuple[Callable[[], object], int, float]] = {
            "plain torch": (plainly, len(few), np.nan)
        }
        for precision in ("float32", "fast"):
            look = GapLooks(weights, constants, True, precision, "cuda")
            found = look.found_by(look.first_look(rows[:4096], np.inf), None, lambda gap: gap)
            error = float(np.abs(found.values - gaps[found.places]).max())
            ways[precision] = (launcher(look, rows), n, error)
        for way, (work, n_rows, error) in ways.items():
            taken = median_seconds(work)
            share = n_rows * n_features * 4 / taken / ceilings.copy
            rate = n_rows / taken
            flops = 2 * N_MODELS * n_outputs * n_features * rate
            shares[n_features, way], rates[n_features, way] = share, rate
            shown = "" if np.isnan(error) else f"{error:.1e}"
            name = f"{n_classes} x {n_features}"
            table.rows.append([name, way, figure(rate / 1e6), f"{share:.3f}", figure(flops / 1e12), shown])
        del rows, few
    report.add(table)
    share, rate = shares[32, "float32"], rates[784, "float32"]
    report.goal("2 classes, 32 features: 75% of the copy bandwidth", f"{share:.1%}", met=share >= 0.75)
    report.goal(
        "10 classes, 784 features: 150 million rows/s at float32 accuracy",
        f"{rate / 1e6:.0f} million",
        met=rate >= 150e6,
    )


def launcher(look: object, rows: object) -> Callable[[], object]:
    """Return a call of the kernel alone, with a threshold that hardly any row meets."""
    import torch  # noqa: PLC0415 - an extra

    n = len(rows)
    written = (
        torch.zeros(1, dtype=torch.int32, device="cuda"),
        torch.empty(n, dtype=torch.int32, device="cuda"),
        torch.empty(n, device="cuda"),
        torch.empty(n, device="cuda"),
    )
    launch = look.prepare(rows)

    def run() -> None:
        written[0].zero_()
        launch(1e-7 - look.slope * float(np.sqrt(rows.shape[1])), written)

    return run


def random_rows(n: int, n_features: int) -> np.ndarray:
    """Return normal float32 rows, made by all cores."""
    rows = np.empty((n, n_features), np.float32)
    parts = np.array_split(rows, 64)

    def fill(number: int) -> None:
        parts[number][:] = np.random.default_rng(number).standard_normal(
            parts[number].shape, dtype=np.float32
        )

    with ThreadPoolExecutor() as workers:
        list(workers.map(fill, range(len(parts))))
    return rows


def from_host(report: Report, ceilings: DeviceCeilings, *, quick: bool) -> None:
    """Measure whole selections from host memory."""
    table = Table(
        "A selection of 1,000 rows from host memory",
        ["classes, features", "rows", "seconds", "GB/s", "share of the copy", "scored exactly"],
    )
    rng = np.random.default_rng(0)
    for n_classes, n_features, full_size in ((2, 32, 1 << 27), (10, 784, 1 << 22), (10, 784, 1 << 23)):
        n = full_size >> 9 if quick else full_size
        pool = random_rows(n, n_features)
        X = rng.normal(size=(300, n_features))
        y = (X @ rng.normal(size=(n_features, n_classes))).argmax(axis=1)
        committee = mm.fit_committee(X, y, n_models=N_MODELS, random_state=0)
        committee.select(pool[: 1 << 19], 1000, device="cuda")
        taken = []
        for _ in range(5):
            start = time.perf_counter()
            batch = committee.select(pool, 1000, device="cuda")
            taken.append(time.perf_counter() - start)
        seconds = float(np.median(taken))
        share = pool.nbytes / seconds / ceilings.from_host
        speed = pool.nbytes / seconds
        exactly = f"{batch.manifest['rows_scored_exactly']:,}"
        name = f"{n_classes} x {n_features}"
        table.rows.append([name, f"{n:,}", f"{seconds:.3f}", f"{speed / 1e9:.1f}", f"{share:.2f}", exactly])
        report.goal(
            f"{n_classes} classes, {n_features} features, {n / 1e6:.0f} million rows from host memory: "
            "80% of the copy rate",
            f"{share:.1%}",
            met=share >= 0.8,
        )
    report.add(table)


def training(report: Report, *, quick: bool) -> None:
    """Measure a step of 256 networks."""
    import torch  # noqa: PLC0415 - an extra

    from minmargin.compute.networks.dense import glorot, join  # noqa: PLC0415
    from minmargin.learners.networks.fused import fused_step  # noqa: PLC0415 - imports torch
    from minmargin.learners.networks.steps import AdamSettings, DenseState, plain_step  # noqa: PLC0415 - imports torch

    n_networks, n_rows = (16, 32) if quick else (256, 32)
    table = Table(
        f"A training step of {n_networks} networks on 32 rows each: microseconds a network",
        ["networks", "plain stacked torch", "fused"],
    )
    for widths in ((784, 512, 512, 10), (784, 128, 10), (16, 10, 2)):
        networks = join([glorot(widths, np.random.default_rng(seed)) for seed in range(n_networks)])
        inputs = torch.rand(n_networks, n_rows, widths[0], device="cuda")
        codes = torch.randint(0, widths[-1], (n_networks, n_rows), device="cuda")
        weights = torch.full((n_networks, n_rows), 1 / n_rows, device="cuda")
        taken = {}
        for step in (plain_step, fused_step):
            state = DenseState.of(networks, "cuda")
            work = partial(step, state, inputs, codes, weights, AdamSettings())
            taken[step] = median_seconds(work)
        each = [taken[step] * 1e6 / n_networks for step in (plain_step, fused_step)]
        table.rows.append(["-".join(map(str, widths)), *map(figure, each)])
        if widths == (784, 512, 512, 10):
            report.goal(
                "a step of 256 stacked 784-512-512-10 networks: 9 µs a network",
                f"{each[1]:.2f}",
                met=each[1] <= 9,
            )
    report.add(table)


def greedy(report: Report, *, quick: bool) -> None:
    """Measure greedy selections."""
    n, n_features, size = (3_000, 784, 50) if quick else (60_000, 784, 2_000)
    rng = np.random.default_rng(0)
    pool = rng.random((n, n_features), dtype=np.float32)
    X = rng.random((100, n_features), dtype=np.float32)
    committee = mm.fit_committee(X, np.arange(100) % 10, n_models=0, random_state=0)
    few = size // 10  # a greedy batch begins with the smaller one, so a tenth can be compared
    table = Table(
        f"Greedy selections, {n:,} rows of {n_features} features, batch of {size:,}: seconds",
        ["strategy", "GPU", f"same machine's CPU, batch of {few:,}", f"the same first {few:,}"],
    )
    for strategy in ("k-centers", "balanced-margin"):
        taken, batches = {}, {}
        for device, batch_size in (("cuda", size), ("cpu", few)):
            start = time.perf_counter()
            batches[device] = committee.select(pool, batch_size, strategy=strategy, device=device)
            taken[device] = time.perf_counter() - start
        same = bool((batches["cuda"].rows[:few] == batches["cpu"].rows).all())
        same = same and batches["cuda"].scores[:few].tobytes() == batches["cpu"].scores.tobytes()
        shown = "to the bit" if same else "NO"
        table.rows.append([strategy, f"{taken['cuda']:.2f}", f"{taken['cpu']:.2f}", shown])
        report.goal(
            f"{strategy}: a few seconds, and the CPU's batch",
            f"{taken['cuda']:.2f} s, {'same' if same else 'different'}",
            met=same and taken["cuda"] < 5,
        )
    report.add(table)


def main() -> None:
    """Measure everything."""
    arguments = arguments_of(__doc__)
    try:
        import torch  # noqa: PLC0415 - an extra
    except ImportError:
        sys.exit("benchmarks/gpu.py needs torch and a CUDA GPU.")
    if not torch.cuda.is_available():
        sys.exit("benchmarks/gpu.py needs a CUDA GPU, and torch finds none.")
    report = Report(__file__, __doc__, arguments)
    ceilings = DeviceCeilings(quick=arguments.quick)
    report.add(ceilings.table())
    linear(report, ceilings, quick=arguments.quick)
    training(report, quick=arguments.quick)
    from_host(report, ceilings, quick=arguments.quick)
    greedy(report, quick=arguments.quick)
    report.write()


if __name__ == "__main__":
    main()
