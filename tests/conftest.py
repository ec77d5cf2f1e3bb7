"""Shared by every test: random examples that are the same on every machine, every time; small projects; one browser."""

import importlib.util
import os
import resource
import shutil
import signal
from contextlib import contextmanager
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import settings

# Tests run in one process a core; kernels with threads of their own would only wait for each other.
numba.set_num_threads(1)

# No deadline, because a first call may compile a kernel; no database, because the examples are fixed anyway.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, max_examples=50)
# HYPOTHESIS_PROFILE=search draws new examples in each run.
settings.register_profile("search", derandomize=False, deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


# Two peaks on a line of eight channels; small enough that a run takes a fraction of a second.
PEAKS = """\
title = "Small"
level = 0.1
budget = 1.0
seed = 3

[data.deployment]
file = "deployment.npy"
channels = 1
law = "covariance"
noise = 0.5
proposal = 0.4

[elements]
file = "elements.csv"
coordinates = ["x"]
response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }

[regions.A]
strength = 2.0
tolerance = 0.01
"""
TWO = "id,region,x\na1,A,0.2\na2,A,0.8\n"

# Lines of files, of which one may be in a row over a background.
LINES = """\
level = 0.05

[data.deployment]
file = "rows.npy"
channels = 1
law = "gaussian"

[background]
polynomial = 2

[elements]
file = "elements.csv"
coordinates = ["place"]
responses = "lines.npy"

[regions.line]
presence = "optional"
"""

# A peak anywhere on a line, of which a cover makes cells.
COVERED = """\
level = 0.1
judge = "simulation"

[data.deployment]
file = "rows.npy"
channels = 1
law = "mean"
noise = 0.25
proposal = 0.5

[elements]
coordinates = ["x"]
unit = "mm"
response = { kind = "peak", axis = { from = 0, to = 1, count = 20 }, width = 0.1 }

[cover]
snr = 8.1
eta = 0.8

[cover.box.line]
x = [0.3, 0.7]

[regions.line]
strength = 1.0
tolerance = 0.2
"""


def _written(folder, text, changes, elements, arrays):
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    (folder / "project.toml").write_text(text)
    if elements is not None:
        (folder / "elements.csv").write_text(elements)
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    return folder / "project.toml"


@pytest.fixture(scope="session")
def small_files():
    """As on a full disk, writing fails in here where a file would become larger than this."""

    @contextmanager
    def limited(n_bytes):
        limit, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limit[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            signal.signal(signal.SIGXFSZ, ignored)

    return limited


@pytest.fixture(scope="session")
def write_peaks():
    """Write the project of peaks: parts of its text replaced in turn, more text behind it, and arrays as files."""

    def written(folder, *changes, more="", elements=TWO, **arrays):
        return _written(folder, PEAKS + more, changes, elements, arrays)

    return written


@pytest.fixture(scope="session")
def write_lines():
    """Write the project of lines L0, L1 and so on at these places, in the same way; lines: their columns."""

    def written(folder, places, *changes, **arrays):
        listed = [f"L{i},line,{place}" for i, place in enumerate(places)]
        return _written(folder, LINES, changes, "\n".join(["id,region,place", *listed]), arrays)

    return written


@pytest.fixture(scope="session")
def write_cover():
    """Write the project of a cover, which lists no elements, in the same way; rows: of its deployment."""

    def written(folder, rows, *changes):
        return _written(folder, COVERED, changes, None, {"rows": rows})

    return written


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        if os.environ.get("PHYSUPPORT_REQUIRE_CHROMIUM") == "1":
            pytest.fail("PHYSUPPORT_REQUIRE_CHROMIUM is 1, but no chromium was found")
        pytest.skip("no chromium was found, so that pages cannot be opened")
    spec = importlib.util.spec_from_file_location("chromium", Path(__file__).parent / "report/page/chromium.py")
    driver = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(driver)
    started = driver.Browser(program, tmp_path_factory.mktemp("profile"))
    yield started
    started.close()
