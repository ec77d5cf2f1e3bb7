"""Shared by every test: random examples that are the same on every machine, every time; and one browser."""

import importlib.util
import os
import shutil
from pathlib import Path

import numba
import pytest
from hypothesis import settings

# Tests run in one process a core; kernels with threads of their own would only wait for each other.
numba.set_num_threads(1)

# No deadline, because a first call may compile a kernel; no database, because the examples are fixed anyway.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
# HYPOTHESIS_PROFILE=search draws new examples in each run.
settings.register_profile("search", derandomize=False, deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


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
