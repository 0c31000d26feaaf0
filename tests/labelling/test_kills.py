"""A server that goes away in the middle of a push: the next push adds what is missing, and nothing twice."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

from made_up_batch import made_up_batch
from minmargin.integrations.items import Showing
from minmargin.integrations.label_studio import LabelStudioError, push

N_ROWS = 1_500  # so many that a quick server is still taking some when it is killed


@pytest.mark.parametrize("after_seconds", [0.0, 0.15, 0.4])
def test_a_server_that_is_killed_in_the_middle_of_a_push_has_every_row_once(
    server: Any, title: str, after_seconds: float
) -> None:
    batch = made_up_batch(N_ROWS)
    timers: list[threading.Timer] = []

    def kill_soon(stage: str, done: int, total: int | None) -> None:
        if done == 200:  # the third import is about to begin
            timers.append(threading.Timer(after_seconds, server.kill))
            timers[0].start()
            if not after_seconds:
                timers[0].join()

    settings: dict[str, Any] = {"url": server.url, "project": title, "token": server.token}
    try:
        with pytest.raises(LabelStudioError) as caught:
            push(Showing.of(batch), **settings, progress=kill_soon)
    finally:
        for timer in timers:
            timer.join()
        server.kill()
        server.start()
    assert str(caught.value).endswith("new rows were added before. Push again: no row is added twice.")
    again = push(Showing.of(batch), **settings)
    assert 200 <= again.n_present < N_ROWS
    assert again.n_added == N_ROWS - again.n_present
    tasks = server.tasks(again.project)
    assert [task["data"]["row_id"] for task in tasks] == batch.ids.tolist()
    assert all(len(task["predictions"]) == 1 for task in tasks)
    assert push(Showing.of(batch), **settings).n_added == 0


def test_a_push_that_is_killed_itself_can_be_repeated(environment: Any, title: str) -> None:
    batch = made_up_batch(N_ROWS)
    stop_at = random.Random(0).randrange(1, N_ROWS)  # noqa: S311 - a test's own choice

    def interrupt(stage: str, done: int, total: int | None) -> None:
        if done >= stop_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        push(Showing.of(batch), url=environment.url, project=title, progress=interrupt)
    again = push(Showing.of(batch), url=environment.url, project=title)
    assert [task["data"]["row_id"] for task in environment.tasks(again.project)] == batch.ids.tolist()
