"""`learner="text"`: logistic regression on the words of texts, a rare word counting more than a common one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from minmargin.checks import set_without_numpy
from minmargin.data.intake import Intake
from minmargin.data.rows import Matrix
from minmargin.errors import InputError, listing
from minmargin.execution import Progress
from minmargin.labeled import Bootstrap, LabeledSet
from minmargin.learners.linear import LinearScorer
from minmargin.learners.logistic import LogisticLearner, name_penalty
from minmargin.properties import cached_property

# Chosen by measuring, as the square root of counts was: docs/decisions/0017-words-of-texts.md.
_USUAL_C = 30.0


@dataclass(frozen=True)
class Words:
    """What makes vectors of texts: their words, weighted by TF-IDF with the square root of a word's count.

    Attributes:
        words: (D,) those of the labeled texts, sorted.
        rarity: (D,) what a word in a text weighs: more, the fewer labeled texts have it (scikit-learn's `idf_`).
    """

    words: tuple[str, ...]
    rarity: NDArray[np.float64]

    @classmethod
    def of(cls, texts: NDArray[Any]) -> Words:
        """Return the words of the labeled texts, or say that there are none."""
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - slow to import

        try:
            fitted = TfidfVectorizer().fit(texts)
        except ValueError as error:
            raise InputError(
                f"The {len(texts):,} labeled texts have no word of two letters or digits or more, so nothing can be "
                "learned from them. Look whether features=[...] names the right column."
            ) from error
        return cls(tuple(fitted.get_feature_names_out().tolist()), fitted.idf_)

    def __call__(self, texts: Any) -> sparse.csr_array[Any, Any]:
        """Return (n, D) the weights of each text's words, divided by the length of that vector.

        Products, quotients and roots are exactly rounded, and squares are summed in order. So a text gives the same
        bits beside any others, and on any CPU.
        """
        counts = sparse.csr_array(self._counter.transform(texts))
        weights = np.sqrt(counts.data) * self.rarity[counts.indices]
        row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        lengths = np.sqrt(np.bincount(row, weights * weights, minlength=counts.shape[0]))
        return sparse.csr_array((weights / lengths[row], counts.indices, counts.indptr), shape=counts.shape)

    @cached_property
    def _counter(self) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415 - slow to import

        return CountVectorizer(vocabulary=self.words)


@dataclass(frozen=True)
class TextScorer(LinearScorer):
    """A base and K members that are linear in the words of texts, which they all share."""

    #: Words are counted by Python, so no GPU looks at them.
    multiplications = 0

    def vectors(self, X: Any) -> Matrix:
        """Return (n, D): the weights of the texts' words."""
        return self._features(X)


@dataclass(frozen=True)
class TextLearner:
    """Logistic regression on the words of texts.

    The words are those of the labeled texts. They are counted once, and all members share them: members differ by
    their draws. A word is two or more letters or digits; a word that no labeled text has is passed over.

    >>> import minmargin as mm
    >>> texts = ["card is lost", "card was stolen", "top up failed", "cannot top up"]
    >>> committee = mm.fit_committee(texts, ["card", "card", "top-up", "top-up"], learner="text", random_state=0)
    >>> committee.class_scores(["lost card", "failed top up"]).argmax(axis=1).tolist()
    [0, 1]

    Args:
        C: the inverse strength of the L2 penalty; more fits the labels closer. "auto" is as for `LogisticLearner`.
        class_weight: as for `LogisticLearner`.
    """

    C: float | Literal["auto"] = _USUAL_C
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None

    probabilistic = True
    takes_sparse = False

    def __post_init__(self) -> None:
        """Raise an error if a setting cannot be used."""
        set_without_numpy(self)
        LogisticLearner(C=self.C, class_weight=self.class_weight)

    @property
    def name(self) -> str:
        """The name, with the settings that are not the usual ones."""
        settings = [name_penalty(self.C)] if self.C != _USUAL_C else []
        settings += [f"class_weight={self.class_weight!r}"] if self.class_weight is not None else []
        return f"text({', '.join(settings)})" if settings else "text"

    def check(self, n_classes: int) -> None:
        """Raise no error: any number of classes can be scored."""

    def intake(self, labeled: LabeledSet) -> Intake:
        """Return the labeled set's texts, or say why it has none; those of several columns are joined."""
        labeled.require_table()
        if labeled.columns is None:
            if labeled.row_shape:
                raise InputError(
                    f"learner='text' reads texts, and the labeled set is an array of shape {labeled.rows.shape}. Pass "
                    "a list of texts, or a frame or file with text columns."
                )
            return Intake("text", None, 1)
        declared = tuple(column for column in labeled.columns if column.is_free_text)
        if declared:
            return Intake("text", declared, len(declared))
        texts = tuple(column for column in labeled.columns if column.kind == "text")
        others = [column for column in labeled.columns if column.kind not in {"text", "empty"}]
        if others:
            fix = f" ({listing(column.name for column in texts)})" if texts else ""
            raise InputError(
                f"learner='text' reads text columns only, and column {others[0].name!r} is {others[0].type_name}. Name "
                f"the text columns with features=[...]{fix}; a column that identifies rows, as id_column."
            )
        if not texts:
            raise InputError(
                f"learner='text' reads texts, and there are none in {listing(labeled.names or ())}. Name the text "
                "columns with features=[...]."
            )
        return Intake("text", texts, len(texts))

    def fit(
        self,
        X: NDArray[Any],
        labeled: LabeledSet,
        bootstrap: Bootstrap,
        n_members: int,
        *,
        n_jobs: int,
        device: str,
        progress: Progress,
    ) -> TextScorer:
        """Return the base, trained on all texts X, and `n_members` members, each on its own draw."""
        words = Words.of(X)
        vectors = words(X)
        learner = LogisticLearner(C=self.C, class_weight=self.class_weight)
        choice = None
        if isinstance(self.C, str):
            choice = learner.choose(vectors, labeled, bootstrap, usual=_USUAL_C, n_jobs=n_jobs)
            learner = replace(learner, C=choice.C)
        linear = learner.fit(
            vectors, labeled, bootstrap, n_members, n_jobs=n_jobs, device=device, progress=progress
        )
        weights = linear.base_weights, linear.base_intercepts, linear.member_weights, linear.member_intercepts
        return TextScorer(*weights, expansion=words, choice=choice)
