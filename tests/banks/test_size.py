"""A million explanations cost what is asked of them, not what they are."""

import tracemalloc

import numpy as np

from physupport.banks import Library, library_bank, product_grid, region_supports

BLOCK = 2**16


def large_bank():
    rng = np.random.default_rng(3)
    responses = rng.normal(size=(32, 36))
    names = [region for region in "ABCDEF" for _ in range(6)]
    library = Library(
        [f"{name}{i}" for i, name in enumerate(names)],
        names,
        rng.random((36, 3)),
        responses / np.linalg.norm(responses, axis=0),
    )
    strengths = dict.fromkeys("ABCDEF", 1.0)
    return library_bank(library, region_supports("AB", "CDEF"), strengths, deployment=product_grid(noise=[0.8, 1.0]))


def test_all_keys_of_more_than_a_million_explanations_fit_in_200_megabytes():
    tracemalloc.start()
    bank = large_bank()
    built, _ = tracemalloc.get_traced_memory()
    calibration, deployment = np.empty(bank.size, dtype=np.int64), np.empty(bank.size, dtype=np.int64)
    for start in range(0, bank.size, BLOCK):
        block = np.arange(start, min(start + BLOCK, bank.size))
        calibration[block], deployment[block] = bank.calibration_keys(block), bank.deployment_keys(block)
        bank.presence(block)
        bank.location(block)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert bank.size == 6**6 * 16 * 2 >= 10**6
    assert built < 10**6
    assert peak < 200 * 10**6
    # Each key is met, and as often as the regions that it leaves open have elements.
    assert (np.bincount(calibration) == 16 * 2).all()
    open_regions = 4 - (bank.strengths[bank.deployment_parts(np.arange(bank.n_deployment_keys)).support, 2:] > 0).sum(
        axis=1
    )
    assert np.array_equal(np.bincount(deployment), 6**open_regions)
