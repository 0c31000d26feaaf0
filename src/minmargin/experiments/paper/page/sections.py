"""What the page says of each experiment: how it was run, its figures and its tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from minmargin.compare.statistics import summarize
from minmargin.experiments.paper.claims import Measured
from minmargin.experiments.paper.claims.measured import GAUSSIAN
from minmargin.experiments.paper.claims.theorem import (
    closed_form,
    margin_mean,
    mean_and_interval,
    pool_words,
    scaled_angles,
)
from minmargin.experiments.paper.figures import (
    APPENDIX,
    MAIN_TEXT,
    accuracy_figure,
    difference_figure,
    gaussian_figure,
    panels_of,
    theorem_figure,
    tuning_figure,
)
from minmargin.experiments.paper.page.section import Section, how_it_was_run
from minmargin.experiments.paper.page.tables import table, wins

_WINS = "Wins, ties and losses of min-margin over all batch sizes, after Holm's correction for each dataset:"
_BANDS = "mean accuracy, standard error shaded"


class Chapter(NamedTuple):
    """What stands in a section before there are numbers, and what adds the numbers."""

    experiment: str
    title: str
    about: str
    fill: Callable[[Measured, Section], None]


def make_sections(measured: Measured, pictures: str) -> list[Section]:
    """Return a section for each experiment; one without results says so."""
    sections = []
    for chapter in _CHAPTERS:
        section = Section(pictures, [f"## {chapter.title}", chapter.about])
        if measured.has(chapter.experiment):
            section.say(how_it_was_run(measured.notes.get(chapter.experiment, {})))
            chapter.fill(measured, section)
        else:
            section.say(f"*Not measured yet: `minmargin reproduce {chapter.experiment}` runs it.*")
        sections.append(section)
    return sections


def _gaussian(measured: Measured, section: Section) -> None:
    shown = measured.curves(GAUSSIAN[1])
    if measured.draws and shown is not None:
        caption = "One draw, its boundaries and its picks, and the accuracy over all draws, with means at distance 2"
        section.show("gaussian", gaussian_figure(measured.draws[0], shown), caption)
    panels = sorted(panels_of(measured, "gaussian"), key=lambda panel: panel.title)
    section.show("gaussian-distances", accuracy_figure(panels), f"Means at several distances: {_BANDS}")
    section.show(
        "gaussian-differences", difference_figure(panels), "Paired differences to margin, 95% intervals"
    )
    section.say(_WINS, wins(panels))
    section.tabulate(panels)


def _theorem(measured: Measured, section: Section) -> None:
    section.show(
        "theorem", theorem_figure(measured), "Mean squared angles with 95% intervals, and the bounds"
    )
    rows = []
    for m, factor in measured.regimes():
        if measured.angles(m, factor) is None:
            continue
        margin, *ends = margin_mean(measured, m, factor)
        min_margin = mean_and_interval(scaled_angles(measured, m, factor)[1])[0]
        cells = (f"{margin:.4f} [{ends[0]:.4f}, {ends[1]:.4f}]", f"{min_margin:.2g}", f"{closed_form(m):.4f}")
        rows.append((pool_words(factor), f"{m}", *cells))
    section.say(
        "Mean squared angles of the pick closest to the true boundary, in units of π²/((m+1)(m+2)). In the proof, "
        "margin's is at least 7/64 = 0.1094 and min-margin's at most 13/128 = 0.1016.",
        table(("pool", "m", "margin", "min-margin", "E(h_margin)"), rows),
    )


def _images(experiment: str) -> Callable[[Measured, Section], None]:
    def fill(measured: Measured, section: Section) -> None:
        panels = panels_of(measured, experiment)
        if not panels:
            return
        groups = (("methods of the main text", MAIN_TEXT), ("methods of the appendix", APPENDIX))
        both = [
            panel._replace(title=f"{panel.title}, {words}", strategies=names)
            for panel in panels
            for words, names in groups
        ]
        section.show(experiment, accuracy_figure(both), f"{panels[0].title}: {_BANDS}")
        caption = f"{panels[0].title}: paired differences to margin, 95% intervals"
        section.show(f"{experiment}-differences", difference_figure(panels), caption)
        section.say(_WINS, wins(panels))
        section.tabulate(panels)

    return fill


def _benchmark(measured: Measured, section: Section) -> None:
    if not panels_of(measured, "benchmark"):
        return
    for name, words, strategies in (
        ("benchmark", "Methods of the main text", MAIN_TEXT),
        ("benchmark-appendix", "Methods of the appendix", APPENDIX),
    ):
        figure = accuracy_figure(panels_of(measured, "benchmark", strategies=strategies))
        section.show(name, figure, f"{words}: {_BANDS}")
    panels = panels_of(measured, "benchmark")
    section.show(
        "benchmark-differences", difference_figure(panels), "Paired differences to margin, 95% intervals"
    )
    section.say(_WINS, wins(panels))
    section.tabulate(panels)
    for variant in ("liblinear", "standardized"):
        panels = panels_of(measured, "benchmark", variant)
        if panels:
            section.say(f"### The same, {variant}")
            section.show(f"benchmark-{variant}", accuracy_figure(panels), f"Variant {variant}: {_BANDS}")
            section.say(_WINS, wins(panels))
            section.tabulate(panels)


def _tuning(measured: Measured, section: Section) -> None:
    caption = "Min-margin with various K (top) and β (bottom): mean accuracy; the defaults are drawn thick"
    section.show("tuning", tuning_figure(measured), caption)
    results = measured.results["tuning"]
    for dataset in results.datasets():
        rows: list[tuple[str, ...]] = []
        sizes: list[int] = []
        for variant in results.variants(dataset):
            curves = results.curves(dataset, variant)
            sizes = sizes or curves.sizes
            for name, heights in zip(curves.strategies, curves.accuracies, strict=True):
                means = dict(zip(curves.sizes, summarize(heights).mean.tolist(), strict=True))
                label = name if variant == "reference" else variant.replace("beta", "β").replace("=", " = ")
                rows.append((label, *(f"{100 * means[size]:.2f}" if size in means else "" for size in sizes)))
        head = ("min-margin with", *(f"{size:,}" for size in sizes))
        section.fold(f"{dataset}: mean accuracies in percent", table(head, rows))


def _large(measured: Measured, section: Section) -> None:
    results = measured.results["large"]
    variants = dict.fromkeys(variant for name in results.datasets() for variant in results.variants(name))
    for variant in variants:
        panels = panels_of(measured, "large", variant)
        labeled = f"{int(variant.removeprefix('N=')):,} labeled rows"
        name = f"large-{variant.removeprefix('N=')}"
        section.say(f"### {labeled}")
        section.show(name, accuracy_figure(panels), f"{labeled}: {_BANDS}")
        caption = f"{labeled}: paired differences to margin, 95% intervals"
        section.show(f"{name}-differences", difference_figure(panels), caption)
        section.say(_WINS, wins(panels))
        section.tabulate(panels)


_CHAPTERS = (
    Chapter(
        "gaussian",
        "Two Gaussians (section 2.3)",
        "Two Gaussians in the plane with identity covariance, 40 labeled rows, a pool of 8,000, 10,000 test rows, "
        "logistic regression. The paper does not say how far apart the means are: 2 is shown, 1 and 3 are tried too.",
        _gaussian,
    ),
    Chapter(
        "theorem",
        "The theorem (section 3)",
        "Angles on the half-circle, a linear SVM through the origin, all m² bootstrap models, batches of 3m² ln m. The "
        "theorem asks for a pool of 12Bm rows, its proof for 12Bm²: both are measured.",
        _theorem,
    ),
    Chapter(
        "mnist",
        "MNIST (section 4.1)",
        "100 labeled images, a network of 784-512-512-10 units, Adam, 100 epochs, the standard test set.",
        _images("mnist"),
    ),
    Chapter(
        "fashion",
        "Fashion-MNIST (section 4.1)",
        "100 labeled images, a network of 784-128-10 units, Adam, 100 epochs, the standard test set.",
        _images("fashion"),
    ),
    Chapter(
        "benchmark",
        "Benchmark tables (section 4.2)",
        "100 labeled rows, the others halved into pool and test set, logistic regression with scikit-learn's default "
        "penalty. *main*, shown first, is its optimum on the columns as they are. *liblinear* is the default solver of "
        "2019: one class against the rest, with a penalty on the intercept. *standardized* scales the columns first.",
        _benchmark,
    ),
    Chapter(
        "tuning",
        "K and β (section 4.3)",
        "Min-margin with 2 to 100 members at β = 1, and with β from 1/4 to 4 at K = 25. Draws and learner are those of "
        "the benchmark.",
        _tuning,
    ),
    Chapter(
        "large",
        "Large tables (section 4.4)",
        "The paper's two tables are not public. Three public ones of that scale stand in for them, so what the paper "
        "says of its own tables is tested on others. Ten hidden units, Adam, 20 epochs, mini-batches of 100.",
        _large,
    ),
)
