"""On Dask workers, one of them killed in the middle, a map is the same bytes."""

import os
import signal

import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.maps import MapProtocol, as_signals, map_signals

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    # Of the cluster itself, when a worker is killed and when it is closed.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_killed_worker_changes_no_byte(bank, tmp_path):
    rows, _ = bank.signals(np.repeat([0.0, 8.0], 150), seed=9)
    protocol = MapProtocol(bank.judge, bank.question, level=0.1, rate=0.2)
    plain = map_signals(rows, protocol, tmp_path / "threads", block=16, threads=2)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        first, *_ = waiting = list(client.run(os.getpid).values())

        def kill_one(done, total):
            if done == 3 and first in waiting:  # once, of two layers
                waiting.remove(first)
                os.kill(first, signal.SIGKILL)

        address = cluster.scheduler_address
        mapped = map_signals(rows, protocol, tmp_path / "dask", block=16, scheduler=address, progress=kill_one)
        assert first not in client.run(os.getpid).values()
    assert content(mapped.store.folder) == content(plain.store.folder)


def test_dask_arrays_are_read_in_blocks():
    array = pytest.importorskip("dask.array")
    values = np.arange(120.0).reshape(3, 4, 10)
    signals = as_signals(array.from_array(values, chunks=(1, 2, 10)))
    np.testing.assert_array_equal(signals.read((slice(1, 3), slice(0, 2)))[:, 0], values[1:3, :2].reshape(4, 10))


def test_without_any_worker_left_the_run_ends_in_words_and_goes_on(bank, tmp_path):
    rows, _ = bank.signals(np.repeat([0.0, 8.0], 150), seed=9)
    protocol = MapProtocol(bank.judge, bank.question, level=0.1)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:

        def kill_all(done, total):
            if done == 3:
                for pid in client.run(os.getpid).values():
                    os.kill(pid, signal.SIGKILL)

        address = cluster.scheduler_address
        with pytest.raises(MisuseError, match="What is done stays"):
            map_signals(rows, protocol, tmp_path / "out", block=16, scheduler=address, progress=kill_all)
    plain = map_signals(rows, protocol, tmp_path / "threads", block=16)
    assert content(map_signals(rows, protocol, tmp_path / "out", block=16).store.folder) == content(plain.store.folder)
