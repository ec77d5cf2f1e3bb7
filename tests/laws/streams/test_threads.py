"""Work shared among threads is the same work."""

import os
import threading

import numba
import pytest

from physupport.laws import in_pieces


@pytest.fixture
def two_threads():
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("numba has one thread here")
    before = numba.get_num_threads()
    numba.set_num_threads(2)
    yield
    numba.set_num_threads(before)


@pytest.mark.parametrize(("count", "least"), [(0, 1), (1, 1), (7, 1), (7, 8), (1000, 1), (1000, 300)])
def test_every_item_is_worked_on_once(two_threads, count, least):
    done = []
    in_pieces(count, lambda part: done.extend(range(part.start, part.stop)), least)
    assert sorted(done) == list(range(count))


def test_few_items_stay_on_the_thread_that_asks(two_threads):
    seen = []
    in_pieces(15, lambda part: seen.append(threading.current_thread()), least=16)
    assert seen == [threading.current_thread()]


def test_an_error_in_a_piece_is_raised(two_threads):
    def work(part):
        if part.stop == 100:
            raise ValueError("the last piece")

    with pytest.raises(ValueError, match="the last piece"):
        in_pieces(100, work)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(two_threads):
    in_pieces(8, lambda part: None)  # the parent has its threads now
    child = os.fork()
    if child == 0:
        done = []
        in_pieces(8, lambda part: done.append(part))
        os._exit(0 if len(done) == 8 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
