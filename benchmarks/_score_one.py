"""One factor scored, by a process that imports nothing else: what a second start costs."""

import numpy as np

from . import _banks

if __name__ == "__main__":
    bank = _banks.global_bank()
    _banks.global_stream(bank, _banks.global_rows(1024, np.random.default_rng(0)), [1024]).log_likelihood(np.arange(5))
