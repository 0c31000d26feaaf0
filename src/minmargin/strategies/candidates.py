"""Candidates: a run of pool rows as a strategy sees them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from minmargin import margins
from minmargin.compute import make_keys
from minmargin.data.keys import Keys, keys_of_values
from minmargin.data.rows import ColumnBlock, Frame, Matrix, concat_rows, take_rows
from minmargin.device import Device
from minmargin.errors import MinMarginError, NotNumbersError, ScoringError
from minmargin.learners import Embedder, Scorer
from minmargin.margins import MemberMargins
from minmargin.properties import cached_property
from minmargin.seeds import SeedTree

_Part = TypeVar("_Part")

_FEW = 1 << 20  # class scores, under all members, that are kept: 8 MB


class Candidates:
    """Pool rows with everything a score can be made of; each part is computed when first asked for.

    Without a base, the members' mean stands for it. With `compiled`, kernels make what they can make: where a pool is
    large, loading them pays.
    """

    def __init__(
        self,
        rows: NDArray[np.int64] | range,
        X: Any,
        scorer: Scorer,
        *,
        seeds: SeedTree,
        device: Device,
        has_base: bool = True,
        carried: Frame | None = None,
        compiled: bool = False,
        taken_from: tuple[Candidates, NDArray[np.intp]] | None = None,
    ) -> None:
        self._rows = rows
        self._X = X
        self._scorer = scorer
        self._seeds = seeds
        self._device = device
        self._has_base = has_base
        self._carried = carried
        self._compiled = compiled
        self._taken_from = taken_from

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(n,) the rows' numbers in the pool."""
        if isinstance(self._rows, range):  # which numpy would go through one by one
            return np.arange(self._rows.start, self._rows.stop, dtype=np.int64)
        return np.asarray(self._rows, dtype=np.int64)

    @property
    def n_members(self) -> int:
        """K: how many members there are."""
        return self._scorer.n_members

    @property
    def X(self) -> Any:  # noqa: N802 - the field's name for rows
        """The rows in the learner's form."""
        if isinstance(self.as_read, ColumnBlock):
            self._X = np.asarray(self._X)
        return self._X

    @property
    def as_read(self) -> Any:
        """The rows in the learner's form, or columns as they were read; for screens."""
        if self._X is None and self._taken_from is not None:
            whole, index = self._taken_from
            self._X = take_rows(whole.as_read, index)
        return self._X

    @property
    def carried(self) -> Frame | None:
        """The columns that go with picked rows; None if there are none."""
        return self._carried

    @cached_property
    def member_margins(self) -> MemberMargins:
        """(K, n) the margins under each member, and (n, C) the class scores under the closest one."""

        def take(part: MemberMargins, index: NDArray[np.intp]) -> MemberMargins:
            return MemberMargins(part.margins[:, index], part.contested[index])

        return self._part("member_margins", lambda X: margins.member_margins(self._each_member(X)), take)

    @cached_property
    def mean_scores(self) -> NDArray[np.float64]:
        """(n, C) the class scores averaged over the members."""
        return self._part("mean_scores", lambda X: margins.mean_scores(self._each_member(X)), _take_rows)

    @cached_property
    def votes(self) -> NDArray[np.float64]:
        """(n, C) how many members give each class their highest score."""
        return self._part("votes", lambda X: margins.votes(self._each_member(X)), _take_rows)

    @cached_property
    def member_scores(self) -> NDArray[np.float64]:
        """(K, n, C) the class scores under each member."""

        def make(X: Any) -> NDArray[np.float64]:
            return np.stack(list(self._scorer.each_member(X, device=self._device)))

        return self._part("member_scores", make, lambda scores, index: scores[:, index])

    @cached_property
    def base_scores(self) -> NDArray[np.float64]:
        """(n, C) the class scores under the base; their mean over the members if there is no base."""
        if not self._has_base:
            return self.mean_scores

        def make(X: Any) -> NDArray[np.float64]:
            return self._scorer.base_scores(X, device=self._device)

        return self._part("base_scores", make, _take_rows)

    @cached_property
    def vectors(self) -> Matrix:
        """(n, D) the rows as the learner's last step sees them, dense or CSR."""
        return self._part("vectors", self._scorer.vectors, _take_rows)

    @cached_property
    def keys(self) -> Keys:
        """(n, 2) whole numbers, the same for rows that the learner's last step sees alike."""

        def make(X: Any) -> Keys:
            try:
                return make_keys(self.vectors, compiled=self._compiled)
            except NotNumbersError:
                return keys_of_values(X)

        return self._part("keys", make, _take_rows)

    @cached_property
    def embedding(self) -> Matrix:
        """(n, D) what the base's last linear layer sees, dense or CSR; no numbers where rows have none."""

        def make(X: Any) -> Matrix:
            if isinstance(self._scorer, Embedder):
                return self._scorer.embedding(X)
            try:
                return self.vectors
            except NotNumbersError:
                return np.empty((len(self), 0))

        return self._part("embedding", make, _take_rows)

    @cached_property
    def uniform(self) -> NDArray[np.float64]:
        """(n,) one random number in [0, 1) a row, the same however the pool is read."""
        return self._seeds.uniform(self.rows)

    @cached_property
    def gumbel(self) -> NDArray[np.float64]:
        """(n,) standard Gumbel noise for each row, the same however the pool is read."""
        return self._seeds.gumbel(self.rows)

    def take(self, index: NDArray[np.intp]) -> Candidates:
        """Return some of these candidates, with the same scores to the bit."""
        if (
            self._X is None and self._taken_from is not None
        ):  # then these rows have not been copied, and need not be
            whole, places = self._taken_from
            return whole.take(places[index])
        # Nearly all rows of a block are dismissed before anyone asks for their numbers.
        rows = self._rows.start + index if isinstance(self._rows, range) else self._rows[index]
        carried = None if self.carried is None else _take_rows(self.carried, index)
        return self._like(rows, None, carried, taken_from=(self, index))

    def apart(self) -> Candidates:
        """Return the same candidates with rows of their own: the block that they were taken from can go."""
        return self._like(self.rows, self.as_read, self.carried)

    def joined(self, others: Sequence[Candidates]) -> Candidates:
        """Return these and others of the same scan, by a learner that scores each row by itself."""
        rows = np.concatenate([self.rows, *(other.rows for other in others)])
        X = concat_rows([self.as_read, *(other.as_read for other in others)])
        carried = [each.carried for each in (self, *others) if each.carried is not None]
        return self._like(rows, X, cast("Frame", concat_rows(carried)) if carried else None)

    def failure(self, of: str, error: Exception) -> ScoringError:
        """Return the error that says what failed on these rows, and why."""
        first, last = int(self.rows.min()), int(self.rows.max())  # rows that waited are not in order
        return ScoringError(
            f"The {of} failed on pool rows {first:,} to {last:,}: {type(error).__name__}: {error}"
        )

    def _like(
        self,
        rows: NDArray[np.int64] | range,
        X: Any,
        carried: Frame | None,
        *,
        taken_from: tuple[Candidates, NDArray[np.intp]] | None = None,
    ) -> Candidates:
        return Candidates(
            rows,
            X,
            self._scorer,
            seeds=self._seeds,
            device=self._device,
            has_base=self._has_base,
            carried=carried,
            compiled=self._compiled,
            taken_from=taken_from,
        )

    def _each_member(self, X: Any) -> Iterable[NDArray[np.float64]]:
        """Return the class scores under each member: of few rows all at once, so that no part asks for them again."""
        if "member_scores" in self.__dict__:
            return self.member_scores
        remaining = iter(self._scorer.each_member(X, device=self._device))
        first = list(itertools.islice(remaining, 1))
        if first and first[0].size * self.n_members <= _FEW:
            self.member_scores = np.stack([*first, *remaining])
            return self.member_scores
        return itertools.chain(first, remaining)

    def _part(
        self, name: str, make: Callable[[Any], _Part], take: Callable[[_Part, NDArray[np.intp]], _Part]
    ) -> _Part:
        if self._taken_from is not None:
            whole, index = self._taken_from
            # A model that scores each row by itself can be asked for these rows alone. Any other is asked
            # for the whole block, so that each row stands where it always stands.
            if name in whole.__dict__ or not self._scorer.rowwise:
                return take(getattr(whole, name), index)
        try:
            return make(self.X)
        except MinMarginError:
            raise
        except Exception as error:
            raise self.failure("learner", error) from error


def _take_rows(part: _Part, index: NDArray[np.intp]) -> _Part:
    return cast("_Part", take_rows(cast("Any", part), index))
