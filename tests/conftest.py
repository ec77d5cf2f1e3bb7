"""Shared by every test: random examples that are the same on every machine, every time."""

import os

import numba
from hypothesis import settings

# Tests run in one process a core; kernels with threads of their own would only wait for each other.
numba.set_num_threads(1)

# No deadline, because a first call may compile a kernel; no database, because the examples are fixed anyway.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
# HYPOTHESIS_PROFILE=search draws new examples in each run.
settings.register_profile("search", derandomize=False, deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
