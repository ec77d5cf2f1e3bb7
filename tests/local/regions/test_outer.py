import numpy as np
import pytest

from physupport._checks import Interval
from physupport._errors import MisuseError
from physupport.banks import projective_distances
from physupport.laws import BernoulliGaussian
from physupport.local.regions import (
    CalibrationParameter,
    median_of_means_region,
    outer_bracket,
    profile_losses,
    targets,
)
from physupport.local.regions._inner import block_distance, separated_distance
from physupport.local.regions._reading import target_diameter


def sample(shell, n, seed):
    rng = np.random.default_rng(seed)
    return [CalibrationParameter(BernoulliGaussian(0.2), shell.sample(rng), 0.4) for _ in range(n)]


def centers(n, seed, mean):
    """Centres inside, near and far outside of what the shell can reach."""
    rng = np.random.default_rng(seed)
    spread = 10.0 ** rng.uniform(-2.0, 0.7, (n, 1))
    return mean + spread * rng.standard_normal((n, len(mean)))


def test_distances_are_below_the_losses_of_every_dictionary_of_the_shell(make_class, make_correspondence, truth):
    shell = make_class().shell
    block = np.stack([p.dictionary.block.atoms for p in sample(shell, 2000, 1)])  # (K, q, q)
    separated = np.stack([p.dictionary.separated[:, None] for p in sample(shell, 2000, 2)])
    away = 0
    for center in centers(40, 3, truth.dictionary.block.atoms[:, :2] @ [1.0, 0.8]):
        correspondence = make_correspondence(center=center)
        ranges = correspondence.amplitudes
        for pair in ([0, 1], [2, 3]):
            losses = profile_losses(center, block[:, :, pair], ranges.block)[0]
            assert block_distance(correspondence) <= losses.min()
        losses = profile_losses(center, separated, ranges.separated)[0]
        assert separated_distance(correspondence) <= losses.min()
        away += block_distance(correspondence) > 0.0 and separated_distance(correspondence) > 0.0
    assert away > 10


def test_the_separated_distance_is_attained(make_class, make_correspondence):
    """Turn the reference towards the centre by the largest allowed angle, and clip the amplitude by hand."""
    shell = make_class().shell
    for center in centers(30, 5, 1.5 * shell.reference):
        correspondence = make_correspondence(center=center)
        across = center - (shell.reference @ center) * shell.reference
        sine = shell.separated_radius * shell.scale / np.sqrt(2.0)
        atom = np.sqrt(1.0 - sine**2) * shell.reference + sine * across / np.linalg.norm(across)
        if np.arctan2(np.linalg.norm(across), shell.reference @ center) < np.arcsin(sine):
            atom = center / np.linalg.norm(center)
        gamma = np.clip(atom @ center, 0.3, 3.0)
        # The bound is lowered by a few units of rounding of the lengths, which are below ten.
        assert separated_distance(correspondence) == pytest.approx(
            np.linalg.norm(center - gamma * atom), rel=1e-12, abs=1e-12
        )


def test_the_block_distance_is_attained_on_the_axis_and_beyond_its_ends(make_class, make_correspondence):
    shell = make_class().shell
    axis, reach = shell.frame.axis, shell.cap * shell.scale
    for height, expected in [(5.0, 5.0 - 3.0), (2.0, 0.0), (0.4, np.sqrt(1.0 - reach**2) - 0.4)]:
        found = block_distance(make_correspondence(center=height * axis))
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("radius", [0.05, 0.3, 2.0])
def test_no_retained_pair_exceeds_the_outer_diameter(make_class, make_correspondence, truth, radius):
    parameters = sample(make_class().shell, 100, 7)
    survivors = 0
    for center in centers(6, 8, truth.dictionary.block.atoms[:, :2] @ [1.0, 0.8]):
        correspondence = make_correspondence(radius=radius, center=center)
        retained, outer = correspondence.retain(parameters), outer_bracket(correspondence)
        assert outer.block_possible or not retained.kept[:, :-1].any()
        assert outer.separated_possible or not retained.kept[:, -1].any()
        survivors += retained.kept.sum()
        if not retained.is_empty:
            assert target_diameter(targets(retained)) <= outer.diameter
    assert survivors > 50


@pytest.mark.parametrize("angle", [0.3, 1.2, 1.5, 2.0, 3.0])
def test_atoms_of_the_shell_are_within_the_outer_diameter(make_class, make_correspondence, angle):
    shell = make_class(angle=angle).shell
    wide = make_correspondence(median_of_means_region(np.ones((2, 4)), make_class(angle=angle), 0.05), radius=10.0)
    drawn = [p.dictionary for p in sample(shell, 500, 4)]
    block = np.hstack([d.block.atoms for d in drawn])
    separated = np.column_stack([d.separated for d in drawn])
    everything = np.hstack([block, separated])
    assert projective_distances(everything, everything).max() <= outer_bracket(wide).diameter


def test_the_diameter_is_that_of_the_cone_when_only_the_block_is_possible(make_correspondence):
    outer = outer_bracket(make_correspondence(radius=0.02))
    assert (outer.block_possible, outer.separated_possible) == (True, False)
    assert outer.diameter == pytest.approx(np.sin(2.0 * np.arcsin(1.3 * 0.15)), rel=1e-13)


def test_only_the_separated_atom_is_left_near_its_reference(make_class, make_correspondence):
    shell = make_class().shell
    outer = outer_bracket(make_correspondence(radius=0.02, center=2.0 * shell.reference))
    assert (outer.block_possible, outer.separated_possible) == (False, True)
    assert outer.diameter == pytest.approx(np.sin(2.0 * np.arcsin(0.5 * 0.15 / np.sqrt(2.0))), rel=1e-13)


def test_a_ball_that_holds_no_mean_of_the_shell_leaves_nothing(make_correspondence):
    outer = outer_bracket(make_correspondence(radius=0.1, center=[0.0, 0.0, 0.0, -3.0]))
    assert outer == type(outer)(None, False, False)


def test_rounding_never_excludes_an_explanation_that_touches_the_ball(make_class, make_correspondence):
    """Means on the edge of the reachable set: the exact distance is zero, so no radius excludes them."""
    shell = make_class().shell
    box = Interval(0.3, 3.0)
    drawn = np.random.default_rng(0).standard_normal((200, 4))
    for w in drawn - np.outer(drawn @ shell.reference, shell.reference):
        sine = shell.separated_radius * shell.scale / np.sqrt(2.0)
        atom = np.sqrt(1.0 - sine**2) * shell.reference + sine * w / np.linalg.norm(w)
        touching = make_correspondence(radius=1e-300, center=3.0 * atom, separated=box)
        assert outer_bracket(touching).separated_possible


def test_a_region_of_another_dimension_is_refused(make_class, make_correspondence):
    region = median_of_means_region(np.ones((2, 5)), make_class(5), 0.05)
    with pytest.raises(MisuseError, match="region must have dimension 4, that of the deployment ball, not 5"):
        make_correspondence(region)
