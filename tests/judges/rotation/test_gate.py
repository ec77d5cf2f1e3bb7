"""The gate finds effects outside the bank in the residuals and names their place."""

import numpy as np
import pytest
from scipy.signal import lfilter

from physupport import MisuseError
from physupport.judges import Verdict
from physupport.judges.rotation import Outsiders, Rotation, RotationTable, ordered_axis, scanned

Q = 60


@pytest.fixture(scope="module")
def lines(tools):
    return tools.make_lines(Q, 12, 2.0)


@pytest.fixture(scope="module")
def table(tools, lines):
    """Every line but number 8."""
    return RotationTable(lines, [(i,) for i in range(12) if i != 8], tools.polynomial(Q, 1))


def judged(table, rows, outsiders, kind="same mean", seed=1):
    judge = Rotation(table, kind, seed, 499, 1999, outsiders=outsiders).judge(rows, 0.1)
    found = judge.verdicts(np.arange(table.size))
    assert found.are_proven().all()
    retained = np.flatnonzero(found.codes != Verdict.REJECTED)
    facts = judge.facts(retained)
    return judge, facts | {"is_empty": not retained.size, "outsider": most_telling(facts)}


def most_telling(facts):
    """The finding with the smallest p-value, where the gate rejects the best fit."""
    return min(facts["findings"], key=lambda finding: finding["p"]) if facts["is_best_rejected"] else None


def test_a_missing_element_ends_in_empty_with_its_place(table, lines):
    row = 9.0 * lines[:, 2] + 8.0 * lines[:, 8] + np.random.default_rng(1).standard_normal(Q)
    _, facts = judged(table, row, ordered_axis(Q))
    assert facts["is_empty"]
    assert facts["is_best_rejected"]
    assert not facts["is_withheld"]
    assert facts["outsider"]["part"] == "columns"
    assert facts["outsider"]["p"] <= 0.01
    # Line 8 stands at channel 40, line 2 at 14; the best fit is line 2, and the bump lies on the other.
    first, *last = (int(word) for word in facts["outsider"]["place"].split() if word.isdigit())
    assert abs((first + (last or [first])[0]) / 2 - 40.2) < 4


def test_without_a_gate_the_best_fit_is_kept_whatever_is_missing(table, lines):
    row = 9.0 * lines[:, 2] + 8.0 * lines[:, 8] + np.random.default_rng(1).standard_normal(Q)
    _, facts = judged(table, row, None)
    assert not facts["is_empty"]
    assert facts["outsider"] is None


SIZES, RUNS = (0.0, 2.0, 4.0, 8.0), 40


@pytest.mark.slow
def test_the_power_against_a_missing_element_grows_with_its_strength(table, lines):
    """Norms of the missing line in units of the noise: not seen below 4 or 5, always seen at 8."""
    missing = lines[:, 8] / np.linalg.norm(lines[:, 8])
    found = []
    for size in SIZES:
        rejected = 0
        for run in range(RUNS):
            noise = np.random.default_rng([3, run]).standard_normal(Q)
            _, facts = judged(table, 9.0 * lines[:, 2] + size * missing + noise, ordered_axis(Q), seed=run)
            rejected += facts["is_best_rejected"]
        found.append(rejected / RUNS)
    assert found[0] <= 0.15
    assert found[1] <= 0.4
    assert found[2] >= found[0]
    assert found[3] >= 0.95


def test_correlated_noise_is_seen_by_the_lags(table, lines):
    rng = np.random.default_rng(2)
    noise = lfilter([1.0], [1.0, -0.8], rng.standard_normal(Q + 50))[50:]
    judge, _ = judged(table, 9.0 * lines[:, 2] + noise, ordered_axis(Q))
    assert next(finding for finding in judge.rows.findings(2) if finding.part == "lags").p <= 0.01


def test_the_scatter_of_rows_shows_coloured_noise(table, lines):
    rng = np.random.default_rng(2)
    common = rng.standard_normal((20, 1)) * np.sin(np.arange(Q) / 3)
    rows = lines[:, 2] + rng.standard_normal((20, Q))
    _, white = judged(table, rows, scanned(lines[:, 8:9]))
    judge, facts = judged(table, rows + common, scanned(lines[:, 8:9]))
    assert not white["is_empty"]
    assert facts["is_empty"]
    assert facts["outsider"]["part"] == "spectrum"
    assert facts["outsider"]["place"] == "the scatter of the rows"
    assert len(judge.rows.findings(0)) == 2


def test_a_third_source_is_seen_in_the_residual_second_moments():
    rng = np.random.default_rng(3)
    grid = np.exp(1j * np.pi * np.outer(np.arange(10), np.linspace(-0.9, 0.9, 19)))
    table = RotationTable(grid[:, :12], [(i, j) for i in range(12) for j in range(i)])

    def normal(*shape):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)

    rows = 2.0 * normal(32, 2) @ grid[:, [2, 8]].T + normal(32, 10)
    _, on_bank = judged(table, rows, scanned(grid), "free")
    assert not on_bank["is_best_rejected"]
    _, facts = judged(table, rows + 2.0 * normal(32, 1) @ grid[:, [16]].T, scanned(grid), "free")
    assert facts["is_empty"]
    places = {finding["part"]: finding["place"] for finding in facts["findings"]}
    assert places == {"columns": "column 16", "spectrum": "strongest single direction"}


def test_labels_are_withheld_where_the_best_fit_is_rejected_and_worse_ones_are_not():
    """Two lines where the table has one at a time: rare, and rarer than the level of the gate says."""
    centres = np.array([8.0, 16.0, 24.0, 26.0, 32.0])

    def line(centre):
        shape = np.exp(-0.5 * ((np.arange(40)[:, None] - centre) / 1.5) ** 2)
        return shape / np.linalg.norm(shape, axis=0)

    rng = np.random.default_rng(291)
    strengths = rng.uniform(2, 6, 2)
    row = line(np.array([24.0, rng.uniform(25, 38)])) @ strengths + rng.standard_normal(40)
    table = RotationTable(line(centres), [(i,) for i in range(5)])
    judge = Rotation(table, draws=399, gate_draws=999, outsiders=ordered_axis(40)).judge(row, 0.3)
    retained = np.flatnonzero(judge.verdicts(np.arange(5)).codes != Verdict.REJECTED)
    facts = judge.facts(retained)
    assert facts["best"] not in retained
    assert retained.size
    assert facts["is_best_rejected"]
    assert facts["is_withheld"]


@pytest.mark.parametrize(
    ("outsiders", "kind", "n_rows", "message"),
    [
        (Outsiders(lags=(1,)), "same mean", 3, "lags must be asked for of a single row"),
        (Outsiders(lags=(1,)), "free", 3, "lags must be asked for of a single row"),
        (Outsiders(spectrum=True), "same mean", 1, "spectrum must be asked for of at least 3 rows"),
        (Outsiders(np.ones((4, 1))), "same mean", 1, "outsiders must have shape"),
    ],
)
def test_outsiders_that_rows_cannot_tell_are_refused(outsiders, kind, n_rows, message, table):
    with pytest.raises(MisuseError, match=message):
        Rotation(table, kind, outsiders=outsiders).judge(np.zeros((n_rows, Q)) + 1.0, 0.1)


@pytest.mark.parametrize(("kind", "n_rows"), [("same mean", 1), ("same mean", 5), ("free", 5)])
def test_the_gate_stops_early_with_the_verdict_of_all_its_draws(kind, n_rows, table, lines):
    outsiders = ordered_axis(Q) if n_rows == 1 else scanned(lines[:, 8:])
    for seed in range(4):
        rows = 3.0 * lines[:, 2] + np.random.default_rng(seed).standard_normal((n_rows, Q))
        gate = Rotation(table, kind, seed, 99, 599, outsiders=outsiders).judge(rows, 0.1).rows
        full = np.array([min(finding.exceedances for finding in gate.findings(e)) for e in range(table.size)])
        for level in (0.01, 0.1, 0.4):
            number, counts = int(level * 600), gate.gate_counts(range(table.size), outsiders, level)
            assert (counts.least <= full).all()
            assert (full <= counts.most).all()
            assert ((counts.least >= number) == (full >= number)).all()
            assert ((counts.most < number) == (full < number)).all()
        assert (gate.gate_counts(range(table.size), outsiders, 0.01).least < full).any()


@pytest.mark.parametrize("kind", ["same mean", "free"])
def test_outsiders_within_the_span_of_an_explanation_say_nothing_against_it(kind, table, lines):
    rows = 5.0 * lines[:, 2] + np.random.default_rng(1).standard_normal((3, Q))
    judge = Rotation(table, kind, outsiders=Outsiders(lines[:, [2]])).judge(rows, 0.1)
    assert judge.rows.findings(2)[0].place == "nowhere"
    assert judge.verdicts(np.array([2])).codes.tolist() == [Verdict.ADMISSIBLE]


def test_outsiders_of_nothing_are_refused():
    with pytest.raises(MisuseError, match="outsiders must have columns, lags or the spectrum"):
        Outsiders()
    with pytest.raises(MisuseError, match="outsiders must be columns other than 0"):
        Outsiders(np.zeros((3, 1)))
    with pytest.raises(MisuseError, match="outsiders must be of sizes between 1e-80"):
        Outsiders(np.full((3, 1), 1e200))
    with pytest.raises(MisuseError, match="places must name all 2 outsiders"):
        Outsiders(np.ones((3, 2)), ("one",))
    with pytest.raises(MisuseError, match="lags must be at least 1"):
        Outsiders(lags=(0,))
