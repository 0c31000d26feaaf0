"""Draws what picks of other libraries are worth against the seconds that picking takes, from `peer_picks.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from measuring import figure as as_text
from peer_strategies import WAYS
from peer_summary import NOT_TRIED, RANDOM, Played, means_of, seconds_text

SIZE = 1_000  # whose seconds are drawn
# Ours as in docs/draw_pictures.py; the others keep apart in gray, too, by their marks.
LOOKS = {
    "minmargin": ("#2f6fb3", "o"),
    "scikit-activeml": ("#c8553d", "s"),
    "small-text": ("#3f8f5f", "D"),
    "cleanlab": ("#8a5fb0", "^"),
    "baal": ("#b8860b", "v"),
    "modAL": ("#555b63", "P"),
}
GRAY = "#b8bec6"


def draw_peers(kept: dict[str, Any], path: Path) -> None:
    """Draw a point for each way: how far it is above random, with its interval, and the seconds for 1,000 rows."""
    mpl.rcParams["svg.hashsalt"] = "minmargin"  # the same picture, the same file
    played = Played.from_json(kept)
    size = next(iter(played.quality))
    means = means_of(played, size)
    whole, panel = plt.subplots(figsize=(9, 5.6), layout="constrained")
    seconds = [row[SIZE] for row in played.seconds.values() if isinstance(row.get(SIZE), float)]
    edge = 2.5 * max(seconds)  # where ways stand that did not finish
    panel.axhline(0, color=GRAY, linewidth=1)
    panel.axvline(edge, color=GRAY, linewidth=1, linestyle=":")
    seen: set[str] = set()
    for way in WAYS:
        if (way.name, RANDOM) not in means or not seconds_text(played, way.name, SIZE):
            continue
        difference, _ = means[way.name, RANDOM]
        taken = played.seconds[way.name].get(SIZE, NOT_TRIED)
        color, mark = LOOKS[way.library]
        at = (edge if isinstance(taken, str) else taken, 100 * float(difference.mean))
        reach = 100 * float(difference.high - difference.mean)
        label = None if way.library in seen else way.library
        seen.add(way.library)
        panel.errorbar(
            *at,
            yerr=reach,
            color=color,
            marker=mark,
            markersize=6,
            linewidth=0.8,
            linestyle="none",
            label=label,
        )
        panel.annotate(way.strategy, at, (5, 4), textcoords="offset points", fontsize=7.5, color=color)
    panel.set(
        xscale="log",
        xlabel=f"seconds to pick {SIZE:,} of 100,000 rows, training included; dotted: over the limit",
        ylabel=f"accuracy above random's, points (B = {size})",
    )
    finish(panel)
    path.parent.mkdir(parents=True, exist_ok=True)
    whole.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
    plt.close(whole)


def finish(panel: Axes) -> None:
    """Take away what the eye does not need, and write the numbers out."""
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: as_text(value)))
    panel.xaxis.set_minor_formatter(NullFormatter())
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        panel.spines[side].set_color(GRAY)
    panel.legend(frameon=False, fontsize=8, loc="lower left")
