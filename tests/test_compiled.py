"""Machine code on disk is used again only as long as no module with kernels has changed."""

import importlib.util
import re
from pathlib import Path

import pytest
from numba import config

import physupport
from physupport import _compiled

PACKAGE = Path(physupport.__file__).parent


def load(path):
    spec = importlib.util.spec_from_file_location("kernel_of_a_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_a_kernel_is_compiled_anew_when_another_module_of_kernels_changes(tmp_path, monkeypatch):
    path = tmp_path / "kernel.py"
    path.write_text(
        "from physupport._compiled import cached_njit\n\n\n@cached_njit(nogil=True)\ndef twice(x):\n    return 2 * x\n"
    )

    def found_on_disk(stamp):
        monkeypatch.setattr(_compiled, "kernels_stamp", lambda: stamp)
        twice = load(path).twice
        assert twice(3) == 6
        return sum(twice.stats.cache_hits.values())

    assert [found_on_disk(stamp) for stamp in ("old", "old", "new", "new")] == [0, 1, 0, 1]


def test_every_module_that_compiles_something_counts():
    compiling = [
        path for path in PACKAGE.rglob("*.py") if re.search(r"numba import .*jit|numba\.n?jit", path.read_text())
    ]
    assert compiling == [PACKAGE / "_compiled.py"]


def test_the_stamp_follows_modules_with_kernels_and_no_others(tmp_path, monkeypatch):
    monkeypatch.setattr(_compiled, "__file__", str(tmp_path / "_compiled.py"))
    kernel, other = tmp_path / "laws.py", tmp_path / "words.py"
    stamp = _compiled.kernels_stamp.__wrapped__

    def after(path, text):
        path.write_text(text)
        return stamp()

    first = after(kernel, "from ._compiled import cached_njit\nB = 256\n")
    assert after(other, "WORD = 'located'\n") == first
    assert after(kernel, "from ._compiled import cached_njit\nB = 128\n") != first
