"""Rows of several frequencies: one explanation for all of them, each with its own coefficients and noise."""

import numpy as np
import pytest
from scipy.stats import binom

from physupport import MisuseError, PhysicalSupport, StreamPlan
from physupport.banks import Library, library_bank
from physupport.io import ArrayRows, as_pairs
from physupport.judges import ByEvidence
from physupport.laws import Linear, decode_law
from physupport.responses import PlaneWaves
from physupport.verify import verify

AZIMUTHS = np.arange(20.0, 161.0, 10.0)
SENSORS = np.column_stack([0.05 * np.arange(5), np.zeros(5)])
FREQUENCIES = (900.0, 1500.0, 2100.0)
TRUTH = 6  # 80 degrees
LEVEL = 0.1
RUNS = 200


def bank_of(frequencies=FREQUENCIES, most=1):
    columns = PlaneWaves(SENSORS, frequencies)(AZIMUTHS[:, None])
    names = [f"{azimuth:g} deg" for azimuth in AZIMUTHS]
    pairs = as_pairs(columns / np.linalg.norm(columns, axis=0), axis=0)
    library = Library(names, ["source"] * len(names), AZIMUTHS[:, None], pairs)
    return library_bank(library, [["source"]], {"source": [1.0]}, counts={"source": (1, most)})


BANK = bank_of()
LAW = Linear(rows="random", bands=3, is_complex=True)


def recording(rng, count=40, noises=(0.2, 0.05, 0.6), azimuth=AZIMUTHS[TRUTH]):
    """(count, 15) snapshots of one source whose power is not the same from frame to frame, and noise of its own."""
    waves = np.split(PlaneWaves(SENSORS, FREQUENCIES)(np.array([[azimuth]])), 3)
    loudness = rng.gamma(1.0, 1.0, (count, 1)) ** 0.5
    parts = []
    for wave, noise in zip(waves, noises, strict=True):
        drawn = rng.standard_normal((count, 6, 2)) @ [1.0, 1.0j] / np.sqrt(2.0)
        parts.append(loudness * drawn[:, :1] @ wave.T + np.sqrt(noise) * drawn[:, 1:])
    return as_pairs(np.hstack(parts))


def kept(rows, bands=3, bank=BANK):
    """The elements that evidence at the level leaves, half of the rows having proposed."""
    law = Linear(rows="random", bands=bands, is_complex=True).completed(bank)
    first, second = (ArrayRows(part) for part in np.split(rows, 2))
    stream = law.stream(bank, second, [second.n_rows])
    density, key = law.opponent(bank, law.proposed(bank, first), 0).numerator(stream, second)
    best = density.log_likelihood(np.array([key])).values[0, 0]
    return {*np.flatnonzero(best - stream.log_likelihood(np.arange(stream.n_keys)).values[:, 0] < np.log(1.0 / LEVEL))}


def test_the_score_of_several_frequencies_is_the_sum_of_those_of_each():
    rows, keys = recording(np.random.default_rng(1)), np.arange(BANK.n_deployment_keys)
    together = LAW.completed(BANK).stream(BANK, ArrayRows(rows), [10, 40])
    alone = []
    for f, part in zip(FREQUENCIES, np.split(rows, 3, axis=1), strict=True):
        single = bank_of([f])
        law = Linear(rows="random", is_complex=True).completed(single)
        alone.append(law.stream(single, ArrayRows(np.ascontiguousarray(part)), [10, 40]))
    values = sum(stream.log_likelihood(keys).values for stream in alone)
    scores = together.log_likelihood(keys)
    assert (np.abs(scores.values - values) <= scores.errors + sum(s.log_likelihood(keys).errors for s in alone)).all()
    balls = together.enclosure(TRUTH, 100)
    assert all(
        float(ball.mid()) == pytest.approx(value) for ball, value in zip(balls, scores.values[TRUTH], strict=True)
    )


def lost(runs, **options):
    return sum(TRUTH not in kept(recording(np.random.default_rng(seed)), **options) for seed in range(runs))


def test_the_truth_is_lost_in_at_most_the_level_of_the_recordings():
    """Sources whose power changes from frame to frame, and noise that differs by frequency."""
    assert binom.sf(lost(RUNS) - 1, RUNS, LEVEL) > 1e-4


def test_negative_control_one_noise_for_all_frequencies_loses_the_truth():
    """As one band, the same rows need one wave in all frequencies, which they do not have."""
    assert binom.sf(lost(30, bands=1) - 1, 30, LEVEL) < 1e-6


def test_frequencies_together_leave_less_than_any_of_them():
    rng = np.random.default_rng(7)
    rows = [recording(rng, noises=(3.0, 3.0, 3.0)) for _ in range(10)]
    together = np.mean([len(kept(each)) for each in rows])
    alone = [
        np.mean([len(kept(np.ascontiguousarray(np.split(each, 3, axis=1)[b]), 1, bank_of([f]))) for each in rows])
        for b, f in enumerate(FREQUENCIES)
    ]
    assert together < min(alone)


def test_a_report_of_several_frequencies_is_verified_from_its_rows_and_not_from_others():
    rows = recording(np.random.default_rng(3))
    plan = StreamPlan("gaussian", 0.5, rows="random", bands=3, is_complex=True)
    model = PhysicalSupport(BANK, {"source": 0.0}, calibration=None, deployment=plan, judge=ByEvidence()).fit()
    report = model.report(rows)
    assert verify(report.json(), {"deployment": rows}).is_verified
    swapped = np.hstack([*np.split(rows, 3, axis=1)[::-1]])
    assert not verify(report.json(), {"deployment": swapped}).is_verified


def test_a_law_of_bands_is_read_back_and_simulated_band_by_band():
    law = LAW.completed(BANK)
    assert decode_law(law.encode()).bands == 3
    drawn = law.sample(BANK, TRUTH, np.random.default_rng(2), 2000)
    first, second = (part[:, 0::2] + 1j * part[:, 1::2] for part in np.split(drawn, 3, axis=1)[:2])
    powers = np.abs(first[:, 0]) ** 2, np.abs(second[:, 0]) ** 2
    across = np.abs(np.mean(first[:, 0] * second[:, 0].conj())) / np.sqrt(np.mean(powers[0]) * np.mean(powers[1]))
    within = np.abs(np.mean(first[:, 0] * first[:, 1].conj())) / np.mean(powers[0])
    assert across < 4.0 / np.sqrt(2000) < within  # independent over frequencies, one wave within each


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": "same mean"}, "bands must be 1 with rows of the same mean"),
        ({"rows": "random", "noises": [1.0]}, "noise must be left out with several frequencies"),
    ],
)
def test_what_does_not_go_with_several_frequencies_is_refused(options, message):
    with pytest.raises(MisuseError, match=message):
        Linear(bands=3, is_complex=True, **options)


def test_rotation_is_refused_and_evidence_is_usual():
    assert LAW.own_judge == "evidence"
    plan = StreamPlan("gaussian", 0.5, rows="random", bands=3, is_complex=True)
    with pytest.raises(MisuseError, match="several frequencies"):
        PhysicalSupport(BANK, calibration=None, deployment=plan, judge="rotation").fit().report(
            recording(np.random.default_rng(0))
        )
