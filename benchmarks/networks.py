"""How fast a committee of 25 small networks is trained on a CPU.

*separate* is what one writes first: for each of the 25 draws a `torch.nn.Sequential` and a `torch.optim.Adam`, one
after the other. It is timed with torch's own number of threads and with one, since small networks gain nothing by more;
the faster is what minmargin is held against. *minmargin* is `fit_committee(X, y, learner=MLPLearner(...))`, the base
and 25 members: 26 networks, all stacked. Accuracies are those of the members on 5,000 further rows.

Where training takes long, a few of the 25 separate networks are timed, and the time is taken for all of them.

    python benchmarks/networks.py [--quick] [--repeats 3] [--json FILE]
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

import minmargin as mm
from measuring import Report, Table, arguments_of, figure, take_turns, times

N_MODELS = 25
N_TEST = 5_000


class Problem(NamedTuple):
    """A network, what it is trained on, and what is asked of minmargin."""

    n_features: int
    hidden: tuple[int, ...]
    n_classes: int
    n_rows: int
    epochs: int
    batch_size: int
    n_timed: int  # of the separate trainings
    asked: float  # how many times as fast

    @property
    def widths(self) -> tuple[int, ...]:
        """The inputs, hidden units and outputs."""
        return (self.n_features, *self.hidden, self.n_classes)

    @property
    def name(self) -> str:
        """The widths, as 784-128-10, and the rows."""
        return f"{'-'.join(map(str, self.widths))}, {self.n_rows:,} rows, {self.epochs} epochs"


PROBLEMS = [
    Problem(784, (128,), 10, 100, 100, 32, 5, 5.0),
    Problem(16, (10,), 2, 5_000, 20, 100, 5, 8.0),
]


def make_rows(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return rows around one center a class, standardized, and their classes: labeled ones, then those of the test."""
    rng = np.random.default_rng(0)
    n = problem.n_rows + N_TEST
    y = np.arange(n) % problem.n_classes
    centers = (
        rng.normal(size=(problem.n_classes, problem.n_features)) * 2 / np.sqrt(problem.n_features) ** 0.5
    )
    return (centers[y] + rng.normal(size=(n, problem.n_features))).astype(np.float32), y


def train_separately(problem: Problem, X: np.ndarray, y: np.ndarray, draws: list[np.ndarray]) -> list[object]:
    """Return one network for each draw, trained as anyone would."""
    import torch  # noqa: PLC0415 - an extra

    rows, labels = torch.from_numpy(X), torch.from_numpy(y)
    networks = []
    for number, drawn in enumerate(draws):
        torch.manual_seed(number)
        layers: list[torch.nn.Module] = []
        for n_in, n_out in zip(problem.widths[:-1], problem.widths[1:], strict=True):
            layers += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU()]
            torch.nn.init.xavier_uniform_(layers[-2].weight)
            torch.nn.init.zeros_(layers[-2].bias)
        network = torch.nn.Sequential(*layers[:-1])
        optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, eps=1e-7)
        loss_of = torch.nn.CrossEntropyLoss()
        own = torch.from_numpy(drawn)
        for _ in range(problem.epochs):
            for batch in torch.split(own[torch.randperm(len(own))], problem.batch_size):
                optimizer.zero_grad()
                loss_of(network(rows[batch]), labels[batch]).backward()
                optimizer.step()
        networks.append(network)
    return networks


def accuracies_of(problem: Problem, networks: list[object], X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the share of test rows that each network tells right."""
    import torch  # noqa: PLC0415 - an extra

    rows = torch.from_numpy(X[problem.n_rows :])
    with torch.no_grad():
        return np.array([(net(rows).argmax(1).numpy() == y[problem.n_rows :]).mean() for net in networks])


def measure(problem: Problem, repeats: int) -> tuple[list[str], float, bool]:
    """Return a row of the table, how many times as fast minmargin is, and whether accuracies agree."""
    import torch  # noqa: PLC0415 - an extra

    X, y = make_rows(problem)
    labeled = X[: problem.n_rows], y[: problem.n_rows]
    learner = mm.MLPLearner(
        hidden=problem.hidden, epochs=problem.epochs, batch_size=problem.batch_size, standardize=False
    )
    trained: dict[str, object] = {}

    def together() -> None:
        trained["together"] = mm.fit_committee(
            *labeled, learner=learner, n_models=N_MODELS, random_state=0, device="cpu"
        )

    together()
    draws = [trained["together"].training.bootstrap.indices(k) for k in range(N_MODELS)]
    n_threads = torch.get_num_threads()

    def separately(threads: int) -> None:
        torch.set_num_threads(threads)
        trained["separate"] = train_separately(problem, *labeled, draws[: problem.n_timed])
        torch.set_num_threads(n_threads)

    ways = {
        "minmargin": together,
        "separate": lambda: separately(n_threads),
        "one thread": lambda: separately(1),
    }
    taken = take_turns(ways, repeats, warm_up=False)
    share = N_MODELS / problem.n_timed
    fastest = taken.fastest(["separate", "one thread"])
    ratio = taken.ratio(fastest, "minmargin") * share
    torch.set_num_threads(1)
    apart = accuracies_of(problem, train_separately(problem, *labeled, draws), X, y)
    torch.set_num_threads(n_threads)
    members = trained["together"].scorer.each_member(X[problem.n_rows :])
    stacked = np.array([(scores.argmax(axis=1) == y[problem.n_rows :]).mean() for scores in members])
    # Two means of 25 runs each agree if they differ by less than three of their standard errors.
    error = np.sqrt((apart.var(ddof=1) + stacked.var(ddof=1)) / N_MODELS)
    row = [
        problem.name,
        figure(taken.median("minmargin")),
        figure(taken.median("separate") * share),
        figure(taken.median("one thread") * share),
        times(ratio),
        f"{stacked.mean():.4f} ± {stacked.std(ddof=1):.4f}",
        f"{apart.mean():.4f} ± {apart.std(ddof=1):.4f}",
    ]
    return row, ratio, bool(abs(apart.mean() - stacked.mean()) < 3 * error)


def main() -> None:
    """Measure all problems."""
    arguments = arguments_of(__doc__, repeats=(3, "rounds"))
    try:
        import torch  # noqa: F401, PLC0415 - an extra
    except ImportError:
        sys.exit("benchmarks/networks.py needs torch. Use pip install torch==2.13.0.")
    report = Report(__file__, __doc__, arguments)
    table = Table(
        "Seconds for 25 networks, how many times as fast minmargin is, and the members' accuracy",
        ["networks", "minmargin", "separate", "one thread", "ratio", "accuracy", "of separate ones"],
    )
    goals = []
    for problem in PROBLEMS:
        quick = problem._replace(epochs=3, n_timed=2) if arguments.quick else problem
        row, ratio, alike = measure(quick, 1 if arguments.quick else arguments.repeats)
        table.rows.append(row)
        goals.append((quick, ratio, alike, row))
    report.add(table)
    for problem, ratio, alike, row in goals:
        asked = f"{problem.name}: {problem.asked:g}x separate trainings"
        report.goal(asked, times(ratio), met=ratio >= problem.asked)
        report.goal(f"{problem.name}: the same accuracy", f"{row[-2]}, separately {row[-1]}", met=alike)
    report.write()


if __name__ == "__main__":
    main()
