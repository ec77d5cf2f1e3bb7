"""States under settings of calibration parameters, against the same dictionaries written out as arrays."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from physupport import MisuseError
from physupport.banks import Bank, Library, array_states, library_bank, library_states, product_grid
from physupport.io import ArrayRows
from physupport.judges import bank_evidence, verdicts
from physupport.laws import BernoulliGaussian, Covariance, Mean, known_code_stream, latent_stream
from physupport.responses import Parameter, Peak, Settings, settings_grid

NOISES, POINTS = np.array([0.5, 2.0]), np.array([4, 20, 60])


@st.composite
def families(draw):
    """Axes for columns, each element and setting its own, so that columns are equal only where elements are."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    n_settings, n_shared, total = draw(st.integers(1, 3)), draw(st.integers(0, 2)), sum(sizes)
    labels = [f"R{j}" for j, size in enumerate(sizes) for _ in range(size)]
    regions = [labels[i] for i in np.random.default_rng(total).permutation(total)]
    axes = np.eye((n_settings + 1) * total + n_shared)
    library = Library([f"e{i}" for i in range(total)], regions, np.zeros((total, 1)), axes[:, :total])
    order, shared = tuple(f"R{j}" for j in range(len(sizes))), axes[:, len(axes) - n_shared :]
    responses = np.stack([axes[:, total * (k + 1) : total * (k + 2)] for k in range(n_settings)])
    values = np.arange(2.0 * n_settings).reshape(n_settings, 2)
    settings = Settings(("gain", "width"), values, responses, is_complex=False)
    return library_states(library, order, shared, settings=settings)


def written_out(states):
    """(n_states, q, n) by nested loops over settings, regions and nothing else."""
    members = [np.flatnonzero([name == r for name in states.library.regions]) for r in states.regions]
    return np.stack(
        [
            np.column_stack([responses[:, list(chosen)], states.extra])
            for responses in states.responses
            for chosen in product(*members)
        ]
    )


@given(families())
def test_the_dictionaries_are_those_of_nested_loops_with_the_setting_slowest(states):
    every = np.arange(states.n_states)
    found = states.elements[:, states.element_index(every)].transpose(1, 0, 2)
    assert np.array_equal(found, written_out(states))
    for state in every:
        k = state // (states.n_states // len(states.grid))
        assert states.setting(state) == {"gain": 2.0 * k, "width": 2.0 * k + 1.0}


@given(families(), st.data())
def test_keys_are_shared_exactly_by_equal_active_columns(states, data):
    positions = tuple(sorted(data.draw(st.sets(st.integers(0, states.n_atoms - 1)))))
    every = np.arange(states.n_states)
    keys, columns = states.active_keys(every, positions), written_out(states)[:, :, list(positions)]
    same = (columns[:, None] == columns).all(axis=(2, 3))
    assert np.array_equal(keys[:, None] == keys, same)
    assert set(keys.tolist()) == set(range(states.n_active(positions)))
    told = states.elements[:, states.active_elements(keys, positions)].transpose(1, 0, 2)
    assert np.array_equal(told, columns)


@given(families())
def test_an_element_is_the_same_physical_thing_in_every_setting(states):
    every = np.arange(states.elements.shape[1])
    count, shared = len(states.library.ids), states.n_atoms - len(states.regions)
    expected = [*states.library.ids] * len(states.grid) + [f"shared {j}" for j in range(shared)]
    assert states.names(every) == tuple(expected)
    assert states.library_index.tolist() == [*range(count)] * len(states.grid) + [-1] * shared


def peaks():
    """Two and three places on a line, seen by eight channels through a peak of three widths and two gains."""
    places = np.array([[0.15], [0.3], [0.6], [0.7], [0.8]])
    parameters = [Parameter("width", [0.8, 1.0, 1.25]), Parameter("gain", [0.0, 0.4])]
    grid = settings_grid(Peak(np.linspace(0, 1, 8), 0.1), places, parameters)
    return Library(["l1", "l2", "r1", "r2", "r3"], list("LLRRR"), places, grid.responses[2]), grid


def setting_bank(library, settings, extra=None):
    return library_bank(
        library, ["L", "LR", ""], {"L": 1.0, "R": [0.5, 1.5]}, extra=extra, settings=settings,
        calibration=product_grid(noise=NOISES), deployment=product_grid(noise=NOISES),
    )  # fmt: skip


def as_arrays(bank):
    return Bank(array_states(written_out(bank.states)), bank.strengths, bank.calibration, bank.deployment)


def complex_peaks():
    rng = np.random.default_rng(3)
    nominal = rng.standard_normal((4, 5)) + 1j * rng.standard_normal((4, 5))
    grid = settings_grid(nominal, np.arange(5.0)[:, None], [Parameter("phase", [0.0, 0.3, 0.9])])
    return Library([f"e{i}" for i in range(5)], list("LLRRR"), np.arange(5.0)[:, None], grid.responses[0]), grid


# Latent codes are real.
KINDS = [("latent", False), *product(["known codes", "covariance", "mean"], [False, True])]


@pytest.mark.parametrize(("kind", "is_complex"), KINDS)
def test_every_stream_scores_each_explanation_as_if_written_out(kind, is_complex):
    library, grid = complex_peaks() if is_complex else peaks()
    extra = np.eye(len(library.responses))[:, :1]
    bank = setting_bank(library, grid, extra)
    listed, rng = as_arrays(bank), np.random.default_rng(5)
    rows = ArrayRows(rng.standard_normal((60, len(extra))))
    codes = ArrayRows(rng.standard_normal((60, 6 if is_complex else 3)))

    def stream(chosen):
        match kind:
            case "latent":
                return latent_stream(rows, chosen.states, [BernoulliGaussian(0.3)] * 2, NOISES, POINTS)
            case "known codes":
                return known_code_stream(rows, codes, chosen.states, NOISES, POINTS, is_complex=is_complex)
            case "covariance":
                return Covariance(noises=NOISES, is_complex=is_complex).stream(chosen, rows, POINTS)
        return Mean(noises=NOISES, is_complex=is_complex).stream(chosen, rows, POINTS)

    every = np.arange(bank.size)
    is_calibration = kind in ("latent", "known codes")
    keys = [(b.calibration_keys if is_calibration else b.deployment_keys)(every) for b in (bank, listed)]
    found, expected = (stream(b).log_likelihood(k) for b, k in zip((bank, listed), keys, strict=True))
    # The same columns meet the same operations, whatever they are numbered.
    assert np.array_equal(found.values, expected.values)
    assert np.array_equal(found.errors, expected.errors)


def test_keys_are_as_many_as_distinct_laws_and_verdicts_are_those_of_the_list():
    library, grid = peaks()
    bank = setting_bank(library, grid)
    listed = as_arrays(bank)
    # L: 6 settings x 2 places; LR: x 3 places, twice for the strengths; nothing: 1; each with two noises.
    assert bank.n_deployment_keys == listed.n_deployment_keys == 2 * (6 * 2 + 2 * 6 * 2 * 3 + 1)
    truth = bank.explanation(int(bank.index(21, 2, 0, 0)[0]))
    assert (truth.settings, truth.ids) == ({"width": 1.0, "gain": 0.4}, ("l2", "r1"))
    rng = np.random.default_rng(8)
    calibration = (rng.random((60, 2)) < 0.3) * rng.standard_normal((60, 2)) @ truth.atoms.T
    sources = rng.standard_normal((60, 2)) * np.sqrt(truth.strengths) @ truth.atoms.T
    tables = [ArrayRows(part + np.sqrt(0.5) * rng.standard_normal((60, 8))) for part in (calibration, sources)]

    def codes(chosen):
        latent = latent_stream(tables[0], chosen.states, [BernoulliGaussian(0.3)] * 2, NOISES, POINTS)
        deployed = Covariance(noises=NOISES).stream(chosen, tables[1], POINTS)
        numerators = (int(chosen.calibration_keys(truth.index)[0]), int(chosen.deployment_keys(truth.index)[0]))
        evidence = bank_evidence(
            chosen, calibration=(latent, (latent, numerators[0])), deployment=(deployed, (deployed, numerators[1]))
        )
        return verdicts(evidence, np.arange(chosen.size), 0.2).codes

    found = codes(bank)
    assert np.array_equal(found, codes(listed))
    assert len(np.unique(found)) == 2  # some are kept and some are not


def changed(**changes):
    base = {"names": ("gain",), "values": np.array([[0.0], [0.5]]), "responses": np.eye(4)[None, :, :2].repeat(2, 0)}
    library = Library(["a", "b"], ["L", "R"], np.zeros((2, 1)), np.eye(4)[:, :2])
    return library_bank(library, ["L"], {"L": 1.0}, settings=Settings(**{**base, **changes}, is_complex=False))


def test_any_change_of_a_setting_changes_the_hash():
    swapped = np.stack([np.eye(4)[:, :2], np.eye(4)[:, 1::-1]])
    turned = swapped.copy()
    turned[1, :, 0] *= -1.0
    banks = [
        changed(),
        changed(names=("width",)),
        changed(values=[[0.0], [np.nextafter(0.5, 1.0)]]),
        changed(values=[[0.5], [0.0]]),
        changed(responses=swapped),
        changed(responses=swapped[::-1]),
        changed(responses=turned),
        library_bank(changed().states.library, ["L"], {"L": 1.0}),
    ]
    assert len({bank.digest for bank in banks}) == len(banks)
    assert changed().digest == changed(values=np.array([[-0.0], [0.5]], order="F")).digest


def test_settings_are_copied_and_cannot_be_written():
    responses = np.eye(4)[None, :, :2].repeat(2, 0)
    bank = changed(responses=responses)
    before = bank.digest
    responses[:] = 7.0
    assert bank.digest == before
    for array in (bank.states.responses, bank.states.grid.values, bank.states.elements):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_states_without_settings_have_none():
    library, _ = peaks()
    assert library_bank(library, ["L"], {"L": 1.0}).explanation(3).settings == {}
    assert array_states([np.eye(2)]).setting(0) == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("gain", "width")}, r"values must have shape \(any, 2\)"),
        ({"values": [[0.5], [0.5]]}, r"values must hold distinct settings, but \[0.5\] appears again in row 1"),
        ({"values": [[0.5]]}, r"responses must have shape \(1, 4, 2\), not shape \(2, 4, 2\)"),
        ({"responses": np.ones((2, 3, 2))}, r"responses must have shape \(2, 4, 2\), not shape \(2, 3, 2\)"),
        (
            {"responses": np.stack([np.eye(4)[:, :2], np.diag([1.0, 3.0, 1.0, 1.0])[:, :2]])},
            "responses must have columns of norm 1, but the norm is 3 in setting 1, element 1",
        ),
        ({"responses": np.full((2, 4, 2), np.nan)}, "responses must be finite"),
    ],
)
def test_wrong_settings_are_named(changes, message):
    with pytest.raises(MisuseError, match=message):
        changed(**changes)


def test_a_state_out_of_range_has_no_setting():
    nominal = library_states(changed().states.library, changed().states.regions)
    for states in (changed().states, nominal, array_states([np.eye(2)])):
        with pytest.raises(MisuseError, match="state must lie from 0 to"):
            states.setting(states.n_states)
