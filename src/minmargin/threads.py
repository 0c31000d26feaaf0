"""One thread for each matrix product: with more, its last bits may depend on their number."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any, cast

from threadpoolctl import ThreadpoolController


def one_thread_each() -> AbstractContextManager[Any]:
    """Return a context in which the matrix libraries use one thread: members and blocks run side by side instead."""
    return cast("AbstractContextManager[Any]", _libraries().limit(limits=1, user_api="blas"))


@cache
def _libraries() -> Any:
    # Finding the libraries takes as long as training a small committee; numpy and scipy each bring one.
    import scipy.linalg  # noqa: F401, PLC0415 - loads the second

    return ThreadpoolController()
