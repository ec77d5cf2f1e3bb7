"""A map asks of every signal what a report on it asks, whoever judges, however many rows, real or complex."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from physupport._errors import MisuseError
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.judges import ByEvidence
from physupport.judges.counts import ByCounts
from physupport.judges.rotation import ByRotation, Rotation, RotationJudge, RotationTable, scanned
from physupport.judges.simulation import BySimulation
from physupport.laws import KnownCodes, Linear, Mean, Poisson
from physupport.maps import MapProtocol, ProtocolSignals, RotatedSignals, as_signals, map_signals
from physupport.questions import RegionalMap, RegionRule

AXIS = np.arange(36)
LINES = np.exp(-0.5 * ((AXIS[:, None] - np.linspace(4, 32, 6)) / 3.0) ** 2)
ATOMS = LINES / np.linalg.norm(LINES, axis=0)
BASE = np.stack([np.ones(36), AXIS / 36.0], axis=1)
WAVES = np.exp(2j * np.pi * np.outer(np.arange(12), [0.02, 0.1, 0.2, 0.35, 0.41, 0.47]))


def protocol_of(law, judge, elements=ATOMS, **options):
    names = [f"line {i}" for i in range(6)]
    library = Library(names, ["axis"] * 6, np.arange(6.0)[:, None], elements)
    bank = library_bank(library, [[], ["axis"]], {"axis": [1.0]}, **options)
    question = RegionalMap(bank_regions(bank), {"axis": RegionRule(tolerance=0.5)})
    plans = {"deployment": StreamPlan(law, 0.5)}
    return AnalysisProtocol(question, RegionalPolicy(), 0.1, 1.0, bank, plans, judge=judge)


def measured(amplitudes, seed, n_rows=1):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 6, len(amplitudes))
    mean = np.asarray(amplitudes)[:, None] * ATOMS[:, truth].T + 5.0 * rng.standard_normal((len(truth), 2)) @ BASE.T
    return mean[:, None] + rng.standard_normal((len(truth), n_rows, 36)), truth


def complex_case():
    rng = np.random.default_rng(2)
    phases = np.exp(2j * np.pi * rng.random((4, 1)))
    noise = (rng.standard_normal((4, 12)) + 1j * rng.standard_normal((4, 12))) / np.sqrt(2.0)
    rows = np.array([[0.0], [4.0], [4.0], [9.0]]) * phases * WAVES[:, [0, 1, 4, 3]].T + noise
    pairs = np.stack([WAVES.real, WAVES.imag], axis=1).reshape(24, 6) / np.sqrt(12)
    return protocol_of(Linear(is_complex=True), ByRotation(), pairs), rows[:, None]


CASES = {
    "fission": lambda: (protocol_of(Linear(background=BASE, noises=[1.0]), ByEvidence("fission", 4)),
                        measured([0.0, 4.0, 9.0, 20.0], 1)[0]),
    "a ball": lambda: (protocol_of(Linear(background=BASE, noises=[1.0], error=0.1), ByEvidence("fission", 4)),
                       measured([0.0, 9.0, 30.0], 1)[0]),
    "thinning": lambda: (protocol_of(Poisson(background=np.ones((36, 1))), ByCounts()),
                         np.random.default_rng(3).poisson(
                             5.0 + np.array([[0.0], [200.0], [900.0]]) * ATOMS[:, [2, 2, 5]].T)[:, None].astype(float)),
    "repeats": lambda: (protocol_of(Linear(background=BASE), ByRotation()), measured([0.0, 2.0, 5.0], 4, 6)[0]),
    "known noise": lambda: (protocol_of(Linear(background=BASE, noises=[1.0]), ByRotation()),
                            measured([0.0, 4.0, 9.0], 5)[0]),
    "complex": complex_case,
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_labels_and_kept_elements_are_those_of_reports(case, tmp_path):
    protocol, rows = CASES[case]()
    signals = as_signals(rows, repeats=1)
    found = map_signals(signals, MapProtocol.of(protocol, repeats=signals.repeats), tmp_path / "out", threads=1)
    is_same = []
    for number, own in enumerate(rows):
        report = analyse(replace(protocol, stop="set"), {"deployment": own}).report
        (field,), gate = report.fields, report.document.get("gate") or {}
        if gate.get("is_withheld"):
            assert found.array("gate")[number] == 1
            continue
        kept = {f"line {i}" for i in np.flatnonzero(found.elements("axis")[number])}
        is_same.append(found.labels("axis")[number] == field.label and kept == set(field.cell))
    # A table has draws of its own, and fissioned rows another numerator, so that borderline elements may differ.
    is_asked_alike = case not in ("repeats", "fission")
    assert sum(is_same) >= len(is_same) - (0 if is_asked_alike else 1)
    assert "FINE" in found.labels("axis")
    assert np.isfinite(found.array("noise")).all()
    has_gate = case != "a ball"  # a single row whose response may lie beside its column says nothing of the noise
    assert np.isfinite(found.array("misfit")).all() == has_gate


def test_a_map_by_evidence_counts_its_statements_without_a_price(tmp_path):
    protocol, _ = CASES["fission"]()
    rows, truth = measured(np.where(np.arange(80) % 8 == 0, 25.0, 0.0), 6)
    found = map_signals(as_signals(rows, repeats=1), MapProtocol.of(protocol, 0.2), tmp_path / "out", threads=1)
    share = found.about["share"]
    assert found.about["are_e_values"]
    assert share["level"] <= 0.2 * share["statements"] / 80 < 0.1
    stated = found.labels("axis", share=True) == "FINE"
    assert stated.sum() >= 8
    assert found.elements("axis", share=True)[stated, truth[stated]].all()


def test_margins_of_e_values_serve_all_levels():
    protocol, rows = CASES["thinning"]()
    levels = np.array([0.1, 0.03, 1e-3])
    codes = ProtocolSignals(protocol).block_judge(levels, 1, 1)(rows).codes
    for number, level in enumerate(levels.tolist()):
        lower = ProtocolSignals(replace(protocol, level=level)).block_judge(np.array([level]), 1, 1)(rows)
        np.testing.assert_array_equal(codes <= number, lower.kept())
    assert (np.diff([(codes <= number).sum() for number in range(3)]) >= 0).all()


@pytest.mark.parametrize("case", CASES)
def test_a_signal_is_judged_alike_wherever_it_stands(case):
    """Its draws are its own: they follow from the signal alone."""
    protocol, rows = CASES[case]()
    judge = MapProtocol.of(protocol, repeats=rows.shape[1]).judge.block_judge(np.array([0.1]), 1, rows.shape[1])
    order = [2, 0, 1, 2, 2]
    np.testing.assert_array_equal(judge(rows[order]).codes, judge(rows).codes[order])


def test_no_two_signals_are_fissioned_by_the_same_noise():
    protocol, rows = CASES["fission"]()
    spec = MapProtocol.of(protocol).judge
    first, again, second = spec.drawn(rows[0]), spec.drawn(rows[0].copy()), spec.drawn(rows[1])
    np.testing.assert_array_equal(first, again)
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 6.0 / np.sqrt(first.size)


def losses(scale, n_rows=5, count=4000):
    """Signals of repeated rows that lose the truth, where rows share a wave of this size."""
    table = RotationTable(ATOMS, [(), *((i,) for i in range(6))], BASE)
    spec = Rotation(table, seed=7, outsiders=scanned(ATOMS))
    rows, truth = measured(np.full(count, 3.0), 8, n_rows)
    rng = np.random.default_rng(9)
    rows += scale * rng.standard_normal((count, n_rows, 1)) * np.sin(0.7 * AXIS)
    found = RotatedSignals(spec).block_judge(np.array([0.1]), 1, n_rows)(rows)
    return int((~found.kept()[np.arange(count), truth + 1]).sum()), spec, rows, found


def test_repeated_rows_keep_the_truth_and_what_the_rotation_judge_keeps():
    lost, spec, rows, found = losses(0.0)
    assert binom.sf(lost - 1, 4000, 0.1) > 1e-6
    for s in range(12):
        alone = RotationJudge(spec, rows[s], 0.1).verdicts(np.arange(7)).codes != 1
        mirrored = RotationJudge(spec, -rows[s], 0.1).verdicts(np.arange(7)).codes != 1
        assert not ((alone & mirrored) & ~found.kept()[s]).any()
    assert found.kept().mean() < 0.5


def test_negative_control_rows_that_scatter_along_something_are_seen():
    lost, *_ = losses(3.0)
    assert lost > 0.9 * 4000  # by the leading eigenvalue, which rejects all: nothing fits such noise


def test_calibration_rows_are_judged_once(monkeypatch, tmp_path):
    plain = protocol_of(Linear(background=BASE, noises=[1.0]), ByRotation(), calibration=product_grid(noise=[0.05]))
    plans = {"calibration": StreamPlan(KnownCodes(), 0.5, first=4), **plain.streams}
    protocol, scored = replace(plain, streams=plans), []
    rows = KnownCodes().completed(plain.bank).sample(plain.bank, 1, np.random.default_rng(3), 16)
    stream_type = type(protocol.propose("calibration", rows).factor.stream)
    score = stream_type.log_likelihood

    def counted(self, keys):
        scored.append(len(keys))
        return score(self, keys)

    monkeypatch.setattr(stream_type, "log_likelihood", counted)
    counts = []
    for n in (2, 9):
        scored.clear()
        judged = MapProtocol.of(protocol, calibration=rows)
        map_signals(as_signals(measured([9.0] * n, 4)[0], repeats=1), judged, tmp_path / str(n), threads=1)
        counts.append(sum(scored))
    assert counts[0] == counts[1] > 0
    assert judged.judge.encode()["calibration"]["held_out"]
    with pytest.raises(MisuseError, match="streams"):
        MapProtocol.of(protocol)


@pytest.mark.parametrize("case", ["fission", "thinning", "known noise"])
def test_the_work_of_a_protocol_can_be_sent_to_workers(case):
    protocol, rows = CASES[case]()
    work = pickle.loads(pickle.dumps(MapProtocol.of(protocol).work(4, 1)))
    np.testing.assert_array_equal(work.first(rows)["label"], MapProtocol.of(protocol).work(4, 1).first(rows)["label"])


def test_few_draws_serve_where_every_signal_has_its_own():
    protocol = protocol_of(Mean(), BySimulation(draws=99), deployment=product_grid(noise=[1.0]))
    judge = ProtocolSignals(protocol).block_judge(np.array([0.1]), 1, 1)
    assert judge(measured([9.0, 9.0], 4)[0]).codes.shape == (2, 12)


def test_axes_are_put_in_order_and_rows_that_cannot_be_judged_are_refused():
    values = np.arange(120.0).reshape(5, 4, 6)
    signals = as_signals(values, channels=0, repeats="2")
    assert (signals.shape, signals.repeats, signals.channels) == ((4,), 6, 5)
    np.testing.assert_array_equal(signals.at((3,)), values[:, 3].T)
    with pytest.raises(MisuseError, match="another axis"):
        as_signals(values, channels=0, repeats=0)
    with pytest.raises(MisuseError, match="axes"):
        as_signals(values, channels="band")
    protocol = protocol_of(Linear(background=BASE, noises=[1.0]), ByEvidence("rows", 4))
    with pytest.raises(MisuseError, match="single row"):
        ProtocolSignals(protocol).block_judge(np.array([0.1]), 1, 1)


def test_fits_are_those_of_least_squares():
    (protocol, rows), columns = CASES["repeats"](), np.hstack([ATOMS[:, [3]], BASE])
    wanted = columns @ np.linalg.lstsq(columns, rows[1].mean(axis=0), rcond=None)[0]
    e = int(np.flatnonzero(protocol.question.slots(np.arange(protocol.bank.size))[:, 0] == 3)[0])
    for judge in (ProtocolSignals(protocol), MapProtocol.of(protocol, repeats=6).judge):
        np.testing.assert_allclose(judge.fitted(rows[1], e), wanted, atol=1e-9)
