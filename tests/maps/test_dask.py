"""On Dask workers, one of them killed in the middle, a map is the same bytes."""

import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.maps import MapProtocol, _map, as_signals, map_signals
from physupport.maps._protocol import BlockWork

PACKAGE = Path(_map.__file__).parents[1]
distributed = pytest.importorskip("distributed")
# Of the cluster itself, when a worker is killed and when it is closed.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_killed_worker_changes_no_byte(bank, tmp_path):
    rows, _ = bank.signals(np.repeat([0.0, 8.0], 150), seed=9)
    protocol = MapProtocol(bank.judge, bank.question, level=0.1, rate=0.2)
    plain = map_signals(rows, protocol, tmp_path / "threads", block=16, threads=2)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
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


# A worker in a process of its own, with another program: physupport is not there, or is a copy of which a byte differs.
WORKER = """
import sys
if sys.argv[1] == "without":
    sys.modules["physupport"] = None
from distributed.cli.dask_worker import main
main([sys.argv[2], "--no-nanny", "--nthreads", "1", "--no-dashboard"])
"""


@contextmanager
def worker(kind, address, sources):
    environment = os.environ | {"PYTHONPATH": str(sources), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-c", WORKER, kind, address]
    started = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        started.kill()
        started.wait()


@pytest.fixture(scope="module")
def empty_cluster():
    with distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL") as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def changed_copy(tmp_path_factory):
    """The package with a threshold that is another."""
    folder = tmp_path_factory.mktemp("sources") / "physupport"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "maps/_protocol.py"
    path.write_text(path.read_text() + "\n# changed\n")
    return folder.parent


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("without", r"but .* cannot \(ModuleNotFoundError.*physupport"),
        ("changed", r"differs in its digest of its sources \w{12} instead of \w{12}\."),
    ],
)
def test_a_worker_with_another_program_is_refused_beside_one_that_is_the_same(
    bank, empty_cluster, changed_copy, tmp_path, kind, found
):
    rows, _ = bank.signals(np.repeat([0.0, 8.0], 15), seed=9)
    protocol = MapProtocol(bank.judge, bank.question, level=0.1)
    with worker("same", empty_cluster, PACKAGE.parent), worker(kind, empty_cluster, changed_copy):
        with distributed.Client(empty_cluster) as client:
            client.wait_for_workers(2, timeout=60)
        with pytest.raises(MisuseError, match=f"workers that run the same program .* {found}.* Install the same"):
            map_signals(rows, protocol, tmp_path / "out", block=4, scheduler=empty_cluster)
    assert not [*(tmp_path / "out/map.zarr/label").glob("[0-9]*")]


def test_a_worker_that_comes_later_refuses_to_work_with_another_program():
    other = _map.program() | {"numpy": "0.1"}
    with pytest.raises(MisuseError, match=r"numpy .* instead of 0\.1") as refused:
        _map._apply(None, "first", 0, None, other)
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


def test_a_scheduler_without_workers_is_refused_in_words(bank, empty_cluster, tmp_path, monkeypatch):
    assert _map._WORKERS == 30  # as the page on Dask says
    monkeypatch.setattr(_map, "_WORKERS", 1)
    rows, _ = bank.signals(np.repeat([0.0, 8.0], 15), seed=9)
    protocol = MapProtocol(bank.judge, bank.question, level=0.1)
    start = re.escape(f"but there is none. Start one with: dask worker {empty_cluster}")
    with pytest.raises(MisuseError, match=f"scheduler must have a worker within 1 seconds, {start}"):
        map_signals(rows, protocol, tmp_path / "out", scheduler=empty_cluster)


def listening(pids):
    """Addresses on which processes wait for connections, as hexadecimal numbers of the kernel."""
    places = [os.readlink(each) for pid in pids for each in Path(f"/proc/{pid}/fd").iterdir() if each.is_symlink()]
    lines = [line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()]
    return {line[1].split(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in places}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_local_cluster_imports_nothing_that_others_may_write_and_listens_on_this_machine_alone(
    bank, tmp_path, monkeypatch
):
    """A module that every new process imports lies in the current folder, another where Dask keeps temporary files."""
    shared = tmp_path / "tmp/dask-scratch-space"
    shared.mkdir(parents=True)
    planted = "import os\nos.mkdir({!r})\nraise ImportError\n"
    (tmp_path / "pickle.py").write_text(planted.format(str(tmp_path / "ran in the current folder")))
    (shared / "scipy.py").write_text(planted.format(str(tmp_path / "ran in the shared folder")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    with _map.workers(BlockWork(None, None, 1), "local", 1) as at_work:
        client = at_work.executor._client
        known = client.run(lambda: (os.getpid(), sys.path, os.environ["PYTHONSAFEPATH"]))
        assert listening([os.getpid(), *(pid for pid, _, _ in known.values())]) == {"0100007F"}
        for _, path, is_safe in known.values():
            assert is_safe == "1"
            assert not {"", str(tmp_path), str(shared)} & {*path}
        at_work.executor.submit(import_module, "scipy.stats").result()
    assert not [*tmp_path.glob("ran*")]
    assert not os.environ["PYTHONSAFEPATH"]


@pytest.mark.slow
def test_without_any_worker_left_the_run_ends_in_words_and_goes_on(bank, tmp_path):
    rows, _ = bank.signals(np.repeat([0.0, 8.0], 150), seed=9)
    protocol = MapProtocol(bank.judge, bank.question, level=0.1)
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:

        def kill_all(done, total):
            if done == 3:
                for pid in client.run(os.getpid).values():
                    os.kill(pid, signal.SIGKILL)

        address = cluster.scheduler_address
        with pytest.raises(MisuseError, match="Finished blocks are kept"):
            map_signals(rows, protocol, tmp_path / "out", block=16, scheduler=address, progress=kill_all)
    plain = map_signals(rows, protocol, tmp_path / "threads", block=16)
    assert content(map_signals(rows, protocol, tmp_path / "out", block=16).store.folder) == content(plain.store.folder)
