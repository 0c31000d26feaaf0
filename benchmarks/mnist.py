"""How long the paper's MNIST experiment takes on a GPU: section 4.1, at full size.

Per draw, 100 labeled images and 60,000 candidates: a committee of 25 networks and a base, 784-512-512-10, 100 epochs of
Adam; ten strategies pick 2,000 images; and for each strategy and each of eight batch sizes up to 2,000 a network
is trained anew and tried on the 10,000 test images. Committees and selections go through the public face; the
retrainings of several draws are stacked. Smaller batches are the beginnings of the largest; those of random-margin-mix
are made of the beginnings of margin's and random's.

    python benchmarks/mnist.py --data FOLDER [--draws 100] [--quick] [--json FILE]
"""

from __future__ import annotations

import gzip
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import minmargin as mm
from measuring import Report, Table, arguments_of, figure

N_LABELED = 100
SIZES = (50, 100, 200, 400, 800, 1200, 1600, 2000)
STRATEGIES = [entry.name for entry in mm.strategies() if entry.name != "true-margin"]
MIX = "random-margin-mix"
HIDDEN, EPOCHS, BATCH_SIZE = (512, 512), 100, 32
GROUP = 12  # draws whose retrainings are stacked
N_WORKERS = 6  # draws that are picked for at a time: each waits for the GPU now and then


def read_images(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (n, 784) images in [0, 1] and (n,) digits."""
    with gzip.open(folder / f"{name}-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz") as file:
        digits = np.frombuffer(file.read(), np.uint8, offset=8)
    return images.astype(np.float32) / 255, digits.astype(np.int64)


def mix(by_margin: np.ndarray, by_chance: np.ndarray, size: int) -> np.ndarray:
    """Return the batch of random-margin-mix from the other two: half of the one, then of the other what is new."""
    half = by_margin[: (size + 1) // 2]
    fresh = by_chance[:size][~np.isin(by_chance[:size], half)]
    return np.concatenate([half, fresh])[:size]


def pick(
    images: np.ndarray, digits: np.ndarray, draw: int, device: str, sizes: tuple[int, ...]
) -> tuple[np.ndarray, dict[tuple[str, int], np.ndarray], float]:
    """Return the labeled rows of a draw, what each strategy picks at each size, and the seconds of training."""
    labeled = np.random.default_rng(draw).choice(len(images), N_LABELED, replace=False)
    learner = mm.MLPLearner(hidden=HIDDEN, epochs=EPOCHS, batch_size=BATCH_SIZE, standardize=False)
    start = time.perf_counter()
    committee = mm.fit_committee(
        images[labeled], digits[labeled], learner=learner, random_state=draw, device=device
    )
    trained = time.perf_counter() - start
    ranked = {
        strategy: committee.select(images, max(sizes), strategy=strategy, device=device, n_jobs=4).rows
        for strategy in STRATEGIES
        if strategy != MIX or draw == 0
    }
    picked = {
        (strategy, size): rows[:size]
        for strategy, rows in ranked.items()
        if strategy != MIX
        for size in sizes
    }
    picked |= {(MIX, size): mix(ranked["margin"], ranked["random"], size) for size in sizes}
    assert draw or (picked[MIX, max(sizes)] == ranked[MIX]).all()
    return labeled, picked, trained


def retrain(
    images: np.ndarray,
    digits: np.ndarray,
    test: tuple[np.ndarray, np.ndarray],
    row_sets: list[np.ndarray],
    device: str,
) -> np.ndarray:
    """Return the test accuracy of a network trained on each set of rows."""
    import torch  # noqa: PLC0415 - an extra

    from minmargin.gpu.plain import network_logits  # noqa: PLC0415 - imports torch
    from minmargin.networks.jobs import Job  # noqa: PLC0415
    from minmargin.networks.steps import AdamSettings  # noqa: PLC0415 - imports torch
    from minmargin.networks.training import train_dense  # noqa: PLC0415 - imports torch

    jobs = [Job(rows, np.random.SeedSequence(number)) for number, rows in enumerate(row_sets)]
    networks = train_dense(
        torch.from_numpy(images).to(device),
        digits,
        10,
        jobs,
        hidden=HIDDEN,
        epochs=EPOCHS,
        batch_size=BATCH_SIZE,
        adam=AdamSettings(),
        device=device,
    )
    rows, answers = torch.from_numpy(test[0]).to(device), torch.from_numpy(test[1]).to(device)
    accuracies = []
    for start in range(0, len(jobs), 64):
        some = networks.take(slice(start, start + 64))
        layers = [
            [torch.from_numpy(each).to(device) for each in part] for part in (some.weights, some.biases)
        ]
        predicted = network_logits(rows, *layers)[0].argmax(2)
        accuracies.append((predicted == answers).double().mean(1).cpu().numpy())
    return np.concatenate(accuracies)


def main() -> None:
    """Run the experiment."""
    arguments = arguments_of(
        __doc__, data=(Path("data/mnist"), "folder of the four .gz files"), draws=(100, "how many")
    )
    report = Report(__file__, __doc__, arguments)
    device = "cuda" if not arguments.quick else "auto"
    n_draws, sizes = (1, (20, 40)) if arguments.quick else (arguments.draws, SIZES)
    images, digits = read_images(arguments.data, "train")
    test = read_images(arguments.data, "t10k")
    if arguments.quick:
        images, digits = images[:2000], digits[:2000]
    began = time.perf_counter()
    spent = {"picking": 0.0, "training committees": 0.0, "retraining": 0.0}
    accuracies: dict[tuple[int, str, int], float] = {}
    for first in range(0, n_draws, GROUP):
        group = range(first, min(first + GROUP, n_draws))
        start = time.perf_counter()
        with ThreadPoolExecutor(N_WORKERS) as workers:
            draws = list(workers.map(lambda draw: pick(images, digits, draw, device, sizes), group))
        picked_at = time.perf_counter()
        row_sets = {
            (draw, *key): np.concatenate([labeled, rows])
            for draw, (labeled, picked, _) in zip(group, draws, strict=True)
            for key, rows in picked.items()
        }
        tried = retrain(images, digits, test, list(row_sets.values()), "cuda" if device == "cuda" else "cpu")
        accuracies.update(zip(row_sets, tried.tolist(), strict=True))
        spent["picking"] += picked_at - start
        spent["training committees"] += sum(seconds for _, _, seconds in draws)
        spent["retraining"] += time.perf_counter() - picked_at
        print(f"{group.stop} draws: {time.perf_counter() - began:.0f} s", flush=True)
    ended = time.perf_counter()
    table = Table(
        f"Test accuracy in percent, mean of {n_draws} draws, by the number of images picked",
        ["strategy", *map(str, sizes)],
    )
    for strategy in STRATEGIES:
        means = [
            100 * np.mean([accuracies[draw, strategy, size] for draw in range(n_draws)]) for size in sizes
        ]
        table.rows.append([strategy, *(f"{mean:.2f}" for mean in means)])
    report.add(table)
    parts = [
        ["committees and selections", figure(spent["picking"])],
        ["of it, training, if one after the other", figure(spent["training committees"])],
        [f"{len(accuracies):,} retrainings and tests", figure(spent["retraining"])],
        ["all", figure(ended - began)],
    ]
    report.add(Table("Seconds", ["part", "seconds"], parts))
    report.goal(
        f"the whole MNIST experiment, {n_draws} draws, in ten minutes",
        f"{ended - began:.0f} s",
        met=ended - began <= 600 and n_draws >= 100,
    )
    report.curves = {"accuracies": [[*key, round(value, 4)] for key, value in accuracies.items()]}
    report.write()


if __name__ == "__main__":
    main()
