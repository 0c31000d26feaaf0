"""The local engine: everything once, little held at a time, errors and stops pass through."""

import threading

import pytest

from minmargin.scan.engines import run_locally


@pytest.mark.parametrize("n_workers", [1, 3])
def test_every_item_is_worked_on_once(n_workers):
    assert sorted(run_locally(lambda x: x * x, range(100), n_workers)) == [x * x for x in range(100)]


def test_only_a_few_items_are_drawn_ahead():
    drawn, finished = [], []
    lock = threading.Lock()

    def items():
        for i in range(200):
            with lock:
                drawn.append(len(finished))
            yield i

    def work(i):
        with lock:
            finished.append(i)
        return i

    assert len(list(run_locally(work, items(), 2))) == 200
    assert all(place - done <= 5 for place, done in enumerate(drawn))


def test_an_error_in_a_worker_is_raised_and_the_rest_is_dropped():
    worked = []

    def work(i):
        worked.append(i)
        if i == 3:
            raise RuntimeError("broken")
        return i

    with pytest.raises(RuntimeError, match="broken"):
        list(run_locally(work, range(1000), 2))
    assert len(worked) < 1000


def test_an_error_while_reading_is_raised():
    def items():
        yield 1
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        list(run_locally(lambda x: x, items(), 2))


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_of_several_errors_the_first_item_s_is_raised(n_workers):
    later = threading.Event()

    def work(i):
        if i == 1:
            later.wait(5 if n_workers > 1 else 0)  # fails after those behind it
            raise ValueError("the first")
        if i > 1:
            later.set()
            raise ValueError(f"number {i}")
        return i

    with pytest.raises(ValueError, match=r"^the first$"):
        list(run_locally(work, range(20), n_workers))


def test_an_error_before_what_cannot_be_read_is_raised():
    def items():
        yield 1
        raise OSError("disk gone")

    def work(i):
        raise ValueError("it came before")

    with pytest.raises(ValueError, match=r"^it came before$"):
        list(run_locally(work, items(), 2))
