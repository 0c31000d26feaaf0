"""Draws how time grows with the pool, the batch, the members and the features, from the results of `scaling.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

BLUE, RED, GRAY = "#2f6fb3", "#c8553d", "#b8bec6"  # as in docs/draw_pictures.py


def draw_scaling(curves: dict[str, dict], path: Path) -> None:
    """Draw the four curves, side by side."""
    mpl.rcParams["svg.hashsalt"] = "minmargin"  # the same picture, the same file
    figure, panels = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
    for panel, (letter, curve) in zip(panels, curves.items(), strict=True):
        sizes, taken = np.array(curve["sizes"], float), np.array(curve["seconds"])
        lowest = min([*taken, *curve.get("making", ())])
        linear = taken[-1] * sizes / sizes[-1]
        panel.plot(sizes, linear, color=GRAY, linewidth=1, linestyle="--", label="linear")
        if "making" in curve:
            panel.plot(sizes, curve["making"], color=RED, linewidth=1, label="making the rows alone")
        panel.plot(sizes, taken, color=BLUE, marker="o", markersize=4, linewidth=1.6, label="select")
        panel.set(xscale="log", yscale="log", xlabel=letter, ylim=(lowest / 2, taken.max() * 2))
        panel.set_ylabel("seconds" if "making" in curve else "seconds a million rows")
        panel.xaxis.set_major_locator(LogLocator(numticks=5))
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_minor_formatter(NullFormatter())
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            panel.spines[side].set_color(GRAY)
    panels[0].set_title(f"exponent {curves['|Z|, pool rows']['exponent']:.2f}", fontsize=10)
    panels[0].legend(frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
