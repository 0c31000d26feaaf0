"""Draws the pictures of README and docs anew: `make docs`."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console

import minmargin as mm
from minmargin.cli.demo import show_demo
from minmargin.experiments import digits

PICTURES = Path(__file__).parent / "pictures"
BLUE, RED, GRAY = "#2f6fb3", "#c8553d", "#b8bec6"


def draw_boundaries() -> None:
    """Draw what 200 picks look like: around one boundary, and around 25 of them."""
    rng = np.random.default_rng(4)
    means = np.array([[-1.0, 0.0], [1.0, 0.0]])
    y = np.repeat([0, 1], 20)
    X = means[y] + rng.normal(size=(40, 2))
    pool = means[rng.integers(0, 2, 8000)] + rng.normal(size=(8000, 2))
    committee = mm.fit_committee(X, y, random_state=0)
    scorer = committee.scorer
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.4), sharex=True, sharey=True, layout="constrained")
    for panel, strategy, weights, intercepts in (
        (panels[0], "margin", scorer.base_weights, scorer.base_intercepts),
        (panels[1], "min-margin", scorer.member_weights, scorer.member_intercepts),
    ):
        batch = committee.select(pool, 200, strategy=strategy)
        panel.scatter(*pool.T, s=2, color=GRAY, alpha=0.5, linewidths=0, label="pool")
        for k in range(weights.shape[1]):
            draw_line(panel, weights[:, k, 0], intercepts[k, 0])
        panel.scatter(*pool[batch.rows].T, s=12, color=RED, linewidths=0, label="picked", zorder=3)
        for label, marker in ((0, "o"), (1, "^")):
            panel.scatter(
                *X[y == label].T,
                s=26,
                marker=marker,
                facecolor="white",
                edgecolor="black",
                linewidth=0.9,
                zorder=4,
            )
        models = "1 model" if strategy == "margin" else "25 models"
        panel.set_title(f"{strategy}: 200 of 8,000 picked, boundaries of {models}", fontsize=11)
        panel.set(xlim=(-4, 4), ylim=(-3.5, 3.5), xticks=[], yticks=[], aspect="equal")
        for side in panel.spines.values():
            side.set_color(GRAY)
    figure.savefig(PICTURES / "boundaries.png", dpi=130)


def draw_line(panel: plt.Axes, weights: np.ndarray, intercept: float) -> None:
    """Draw the line where a linear model is torn between two classes."""
    normal = weights / np.linalg.norm(weights)
    through = -intercept * weights / (weights @ weights)
    along = np.array([-normal[1], normal[0]])
    ends = through + np.outer([-9, 9], along)
    panel.plot(*ends.T, color=BLUE, linewidth=0.8, alpha=0.8, zorder=2)


def draw_demo() -> None:
    """Record what `minmargin demo` prints."""
    batch, gain = digits.play(lambda stage, done, total: None)
    console = Console(record=True, width=96, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print("$ make demo", style="dim")
    show_demo(batch, gain, Path("demo"), console, Path("demo/report.html"))
    console.save_svg(str(PICTURES / "demo.svg"), title="minmargin demo")


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    mpl.rcParams["svg.hashsalt"] = "minmargin"  # the same picture, the same file
    draw_boundaries()
    draw_demo()
