"""Figures of the paper's experiments, drawn from what was measured.

A strategy has one colour everywhere. The colours can be told apart with the common kinds of colour blindness, and line
styles help where many lines meet. The same results give the same file, to the byte.
"""

from __future__ import annotations

from minmargin.experiments.paper.figures.accuracy import Panel, accuracy_figure, difference_figure, panels_of
from minmargin.experiments.paper.figures.gaussian import gaussian_figure, gaussian_panels
from minmargin.experiments.paper.figures.style import APPENDIX, MAIN_TEXT, STROKES, save
from minmargin.experiments.paper.figures.theorem import theorem_figure
from minmargin.experiments.paper.figures.tuning import tuning_figure

__all__ = [
    "APPENDIX",
    "MAIN_TEXT",
    "STROKES",
    "Panel",
    "accuracy_figure",
    "difference_figure",
    "gaussian_figure",
    "gaussian_panels",
    "panels_of",
    "save",
    "theorem_figure",
    "tuning_figure",
]
