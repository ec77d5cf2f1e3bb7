"""Which statistic a bank and its laws call for: a score for orientations, a ratio for libraries, by what they keep."""

from dataclasses import replace

import numpy as np
import pytest

from physupport.aeb import EndpointPolicy
from physupport.analysis import AnalysisProtocol, PhysicalSupport, StreamPlan, analyse
from physupport.banks import Library, array_bank, library_bank, product_grid
from physupport.io import ArrayRows
from physupport.judges import Sealed, SealedStream, Verdict
from physupport.judges.simulation import BySimulation
from physupport.judges.simulation._simulated import first_alike
from physupport.laws import Latent, Mean
from physupport.local.shell import orbit_bank
from physupport.questions import Resolution
from physupport.verify import verify

SKEW = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
ATOMS = np.array([[0.6, 0.0], [0.0, 0.8], [0.8, 0.6]])
GRID = product_grid(p=[0.2, 0.4], noise=[0.3, 0.4])


def turned(angles, supports=((0, 1),)):
    noise = product_grid(noise=[0.3])
    return orbit_bank(ATOMS, SKEW, angles, supports=[*supports], calibration=GRID, deployment=noise)


def peaks(places, width=0.15):
    waves = np.exp(-0.5 * ((np.linspace(-0.5, 1.5, 40)[:, None] - places) / width) ** 2)
    names = [f"p{i}" for i in range(len(places))]
    return Library(names, ["line"] * len(places), places[:, None], waves / np.linalg.norm(waves, axis=0))


def line_bank(places, **options):
    return library_bank(peaks(places), [["line"]], {"line": [1.0]}, **options)


def statistic(bank, *laws):
    return BySimulation().completed(bank, laws).statistic


EQUAL = np.arange(-4, 5) * 0.1


def test_orientations_in_equal_steps_take_the_score_where_the_law_knows_the_turn():
    assert statistic(turned(EQUAL), Latent()) == "score"
    assert statistic(turned(EQUAL), Mean()) == "ratio"  # log ratios in closed form: nothing to share
    assert statistic(turned(EQUAL), Latent(), Mean()) == "score"


@pytest.mark.parametrize(
    "bank",
    [
        turned(EQUAL, supports=((0,), (1,))),  # between supports nothing is smooth
        turned(EQUAL**3),  # unequal steps share no draws
        turned(np.random.default_rng(0).permutation(EQUAL)),  # not in their order
        turned(np.arange(12) * np.pi / 6),  # all the way round: neighbours do not show the way to the rest
        turned([0.0, 0.1]),  # too few to be a line
        turned([0.0, 0.1, 0.2]),  # one orientation between two: whether others are like it cannot be seen
        array_bank(np.eye(5).T[:, :, None], [(0,)], calibration=GRID),  # turns of each other, but none is a step
        line_bank(np.linspace(0.3, 0.5, 9), calibration=GRID),  # one coordinate of a library
    ],
    ids=["supports", "steps", "order", "circle", "two", "three", "basis", "library"],
)
def test_everything_else_takes_the_ratio(bank):
    assert statistic(bank, Latent()) == "ratio"


class Unfinished:
    """A law that knows of a turn once it is completed with a bank, as others know their noise only then."""

    def completed(self, bank):
        return Latent().completed(bank)

    def symmetries(self, bank, keys):
        raise AssertionError("be completed with a bank")


def test_a_law_is_asked_for_its_symmetries_when_it_is_complete():
    assert statistic(turned(EQUAL), Unfinished()) == "score"


def test_a_bank_is_a_line_where_every_step_goes_the_same_way():
    assert turned(EQUAL).is_line
    assert line_bank(np.linspace(0.3, 0.4, 9)).is_line
    assert not line_bank(np.linspace(0.0, 1.0, 9)).is_line  # it turns aside: places at the ends have nothing in common
    assert not line_bank(np.array([0.3, 0.32, 0.32, 0.34])).is_line
    assert not line_bank(np.array([0.3, 0.34, 0.32, 0.36])).is_line
    two = library_bank(peaks(np.linspace(0.3, 0.4, 9)), [["line"]], {"line": [1.0]}, counts={"line": 2})
    assert not two.is_line


def test_what_is_named_stays_and_what_is_not_is_fixed_in_the_frozen_protocol():
    bank = turned(EQUAL)
    assert BySimulation("ratio").completed(bank, [Latent()]) == BySimulation("ratio")
    distances = np.abs(np.subtract.outer(EQUAL, EQUAL))
    question = Resolution.of_states(bank, distances, np.zeros(9), delta_fine=0.1, delta_group=0.3)
    plans = {"calibration": StreamPlan("latent", 0.5)}
    protocol = AnalysisProtocol(question, EndpointPolicy(), 0.1, 1.0, bank, plans, judge=BySimulation(draws=39))
    named = replace(protocol, judge=BySimulation("score", draws=39))
    rows = Latent().completed(bank).sample(bank, 16, np.random.default_rng(1), 60)
    seal = protocol.read(calibration=rows)
    assert seal.content["judge"]["statistic"] == "score"
    assert seal.digest == named.read(calibration=rows).digest
    report = analyse(protocol, {"calibration": rows}).report
    assert report.document["protocol"]["judge"]["statistic"] == "score"
    assert verify(report.json(), {"calibration": rows}).is_verified


def test_a_judge_named_by_a_word_has_its_statistic_from_the_bank():
    bank = line_bank(np.linspace(0.3, 0.7, 9), deployment=product_grid(noise=[0.3]))
    model = PhysicalSupport(bank, {"line": 0.1}, calibration=None, deployment="mean", judge="simulation").fit()
    rows = Mean().completed(bank).sample(bank, 4, np.random.default_rng(2), 30)
    assert model.report(rows).document["protocol"]["judge"]["statistic"] == "ratio"


def kept(bank, law, rows, name, run):
    stream = SealedStream(law.part, ArrayRows(rows), law, law.keys(bank), lambda: None)
    judge = BySimulation(name, draws=59).open(Sealed(bank, 0.1, (stream,), run))
    return np.flatnonzero(judge.verdicts(np.arange(bank.size)).codes != Verdict.REJECTED)


@pytest.mark.slow
def test_along_the_one_coordinate_of_a_library_the_ratio_keeps_less():
    """The reason for the rule: means over 100 data sets of any place, four rows each; five standard errors."""
    bank = line_bank(np.linspace(0.0, 1.0, 13), deployment=product_grid(noise=[0.5]))
    law, rng = Mean().completed(bank), np.random.default_rng(3)
    sizes = []
    for run in range(100):
        rows = law.sample(bank, int(rng.integers(bank.size)), rng, 4)
        sizes.append([len(kept(bank, law, rows, name, run)) for name in ("score", "ratio")])
    more = np.diff(sizes, axis=1)
    assert more.mean() < -5.0 * more.std() / 10.0


def test_the_same_tuples_are_found_in_blocks_as_at_once():
    bank = turned(EQUAL)
    law = Latent().completed(bank)
    keys = np.random.default_rng(5).integers(0, bank.size, (300, 3))
    numbers = law.symmetries(bank, keys)
    _, first, label = np.unique(np.round(numbers, 9) + 0.0, axis=0, return_index=True, return_inverse=True)
    assert first_alike(bank, law, keys).tolist() == first[label.reshape(-1)].tolist()
    assert first_alike(
        bank, Mean().completed(line_bank(EQUAL, deployment=product_grid(noise=[1.0]))), keys
    ).tolist() == [[*map(tuple, keys.tolist())].index(row) for row in map(tuple, keys.tolist())]
