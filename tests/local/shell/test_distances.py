import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.local.theory.distances import atom_chords, coherence_gaps, marked_distance
from tests.local.theory.margins import coherence_bounds

from physupport._errors import MisuseError
from physupport.banks import hausdorff_distance, physical_diameter, projective_distances


def unit(rng, q, m):
    columns = rng.standard_normal((q, m))
    return columns / np.linalg.norm(columns, axis=0)


@given(st.floats(-15.0, 0.1), st.sampled_from([-1.0, 1.0]))
def test_the_projective_distance_is_the_sine_of_the_angle_to_full_relative_accuracy(exponent, sign):
    angle = 10.0**exponent
    turned = sign * np.array([[np.cos(angle)], [np.sin(angle)]])
    (distance,) = projective_distances(np.eye(2)[:, :1], turned).ravel()
    # sqrt(1 - c^2) would be off by 100 % below 1e-8; a few roundings of the norms remain.
    assert distance == pytest.approx(np.sin(angle), rel=4e-15)


def test_distances_of_many_atoms_agree_with_the_formula_and_forget_signs():
    rng = np.random.default_rng(0)
    a, b = unit(rng, 6, 40), unit(rng, 6, 30)
    direct = np.sqrt(1.0 - (a.T @ b) ** 2)
    # The direct formula loses digits as the angle shrinks; the smallest here is about 0.1, losing two of sixteen.
    assert np.abs(projective_distances(a, b) - direct).max() < 1e-14
    flipped = projective_distances(a * rng.choice([-1.0, 1.0], 40), b)
    assert np.array_equal(flipped, projective_distances(a, b))


def test_atoms_given_with_nine_digits_have_distance_zero_to_their_exact_direction():
    atom = np.full((4, 1), 0.5)
    assert projective_distances(atom, atom * (1.0 + 5e-9)).item() < 1e-15


@given(st.integers(2, 5), st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_hausdorff_distance_is_a_metric_on_sets_of_lines(q, m, k, n, seed):
    rng = np.random.default_rng(seed)
    a, b, c = unit(rng, q, m), unit(rng, q, k), unit(rng, q, n)
    ab, bc, ac = hausdorff_distance(a, b), hausdorff_distance(b, c), hausdorff_distance(a, c)
    assert hausdorff_distance(b, a) == ab
    assert hausdorff_distance(a, -a[:, rng.permutation(m)]) == 0.0
    assert ac <= ab + bc + 1e-15  # rounding of three sines
    assert 0.0 <= ab <= 1.0 + 1e-15


def test_sets_of_a_thousand_atoms_agree_with_a_plain_double_loop():
    rng = np.random.default_rng(1)
    a, b = unit(rng, 4, 1000), unit(rng, 4, 1000)
    b[:, :990] = a[:, :990]  # so that only a few atoms decide, which the loop can then visit alone
    alone = max(_to_set(a[:, j], b) for j in range(990, 1000)), max(_to_set(b[:, j], a) for j in range(990, 1000))
    assert hausdorff_distance(a, b) == pytest.approx(max(alone), rel=1e-13)


def _to_set(atom, others):
    nearest = 1.0
    for other in others.T:
        nearest = min(nearest, np.sqrt(max(0.0, 1.0 - float(atom @ other) ** 2)))
    return nearest


def _diameter_by_loop(targets):
    return max(hausdorff_distance(a, b) for a in targets for b in targets)


def test_the_diameter_is_the_largest_distance_of_all_pairs():
    rng = np.random.default_rng(2)
    # Targets of different sizes in a cone, so that the extreme pair is one of many.
    targets = [unit(rng, 4, int(size)) for size in rng.integers(1, 5, 30)]
    targets = [(t + 3 * np.eye(4)[:, :1]) / np.linalg.norm(t + 3 * np.eye(4)[:, :1], axis=0) for t in targets]
    assert physical_diameter(targets) == _diameter_by_loop(targets)


def test_the_diameter_of_thousands_of_targets_finds_a_planted_extreme_pair():
    rng = np.random.default_rng(3)
    axis = np.eye(4)[:, :1]
    targets = [
        (axis + 0.01 * t) / np.linalg.norm(axis + 0.01 * t, axis=0) for t in (unit(rng, 4, 3) for _ in range(2000))
    ]
    near = physical_diameter(targets)
    assert near < 0.021  # within 0.01 of the axis on both sides
    angle = 0.5
    targets[1234] = np.array([[np.cos(angle)], [np.sin(angle)], [0.0], [0.0]])
    assert physical_diameter(targets) > np.sin(angle - 0.011)


def test_a_single_target_has_diameter_zero():
    assert physical_diameter([np.eye(3)]) == 0.0


def test_the_marked_distance_adds_one_when_the_explanations_differ():
    rng = np.random.default_rng(4)
    a, b = unit(rng, 4, 2), unit(rng, 4, 1)
    assert marked_distance(1, a, 1, b) == hausdorff_distance(a, b)
    assert marked_distance(1, a, 0, b) == 1.0 + hausdorff_distance(a, b)


def test_the_coherence_gap_is_accurate_where_the_inner_product_is_not():
    angle = 1e-9
    atoms = np.array([[1.0, np.cos(angle)], [0.0, np.sin(angle)]])
    gap = coherence_gaps(atoms)[0, 1]
    # 1 - cos is exactly 2 sin^2 of the half angle; in floating point 1 - d.d' is zero here.
    assert gap == pytest.approx(2.0 * np.sin(angle / 2) ** 2, rel=1e-14)
    rng = np.random.default_rng(5)
    far = unit(rng, 5, 7)
    assert np.abs(coherence_gaps(far) - (1.0 - far.T @ far)).max() < 1e-15 * 4


@pytest.mark.parametrize("q", [3, 4, 8])
@pytest.mark.parametrize("scale", [1e-6, 0.1, 0.6])
def test_chords_and_gaps_stay_within_the_two_sided_constants(make_shell, q, scale):
    rng = np.random.default_rng(q)
    shell = make_shell(q, scale=scale)
    chord, gap = coherence_bounds(shell)
    pairs = np.triu_indices(q, 1)
    for _ in range(300):
        block = shell.sample(rng).block
        chords, gaps = atom_chords(block.atoms)[pairs], coherence_gaps(block.atoms)[pairs]
        # Atoms of size one carry an absolute rounding of 1e-16, relative to the scale.
        assert chord.lower * (1 - 1e-15 / scale) <= chords.min()
        assert chords.max() <= chord.upper * (1 + 1e-15 / scale)
        assert gap.lower * (1 - 1e-15 / scale) <= gaps.min()
        assert gaps.max() <= gap.upper * (1 + 1e-15 / scale)


def test_the_constants_are_attained_by_a_balanced_block(make_shell):
    shell = make_shell(5, scale=0.01, cap=1.2, stretch=(1.0, 1.0))
    bounds = coherence_bounds(shell)[0]
    chord = atom_chords(shell.frame.atoms(0.01 * shell.frame.template))[0, 1]
    assert chord == pytest.approx(bounds.lower, rel=1e-12)
    assert chord == pytest.approx(bounds.upper, rel=1e-4)  # 1/c_u exceeds one by half of (C_0 s)^2


MISUSES = {
    "first must have columns of norm 1, but the norm is 2": lambda: projective_distances(2 * np.eye(3), np.eye(3)),
    r"second must have shape \(3, any\)": lambda: projective_distances(np.eye(3), np.eye(4)),
    "first must be finite, not nan": lambda: hausdorff_distance([[np.nan], [1.0]], np.eye(2)),
    "second must hold at least one atom": lambda: hausdorff_distance(np.eye(2), np.empty((2, 0))),
    "other_mark must be a whole number between 0 and 1": lambda: marked_distance(1, np.eye(2), 2, np.eye(2)),
    "targets must hold at least one target": lambda: physical_diameter([]),
    r"targets\[1\] must have shape \(2, any\)": lambda: physical_diameter([np.eye(2), np.eye(3)]),
    r"targets\[1\] must hold at least one atom": lambda: physical_diameter([np.eye(2), np.empty((2, 0))]),
}


@pytest.mark.parametrize("message", MISUSES)
def test_misuse_names_the_argument_and_the_rule(message):
    with pytest.raises(MisuseError, match=message):
        MISUSES[message]()
