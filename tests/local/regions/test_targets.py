import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.local.regions import PhysicalTarget, physical_target, targets
from physupport.local.regions._reading import target_diameter


def test_a_block_target_is_the_set_of_its_active_atoms(truth):
    target = physical_target(truth.dictionary, (2, 0))
    assert target.is_block
    np.testing.assert_array_equal(target.atoms, truth.dictionary.block.atoms[:, [0, 2]])


def test_the_separated_target_is_its_atom_alone(truth):
    target = physical_target(truth.dictionary, None)
    assert not target.is_block
    np.testing.assert_array_equal(target.atoms[:, 0], truth.dictionary.separated)


def test_order_and_sign_of_atoms_carry_no_meaning(truth):
    target = physical_target(truth.dictionary, (0, 1, 3))
    turned = PhysicalTarget(True, -target.atoms[:, [2, 0, 1]])
    assert target.distance(turned) == 0.0


def test_distance_is_the_largest_sine_to_a_nearest_atom(truth):
    one, two = (physical_target(truth.dictionary, s) for s in ((0, 1), (1, 2)))
    # Atoms 0 and 2 are the ones without an equal partner; balanced atoms are all equally far apart.
    sine = np.sqrt(1.0 - (one.atoms[:, 0] @ one.atoms[:, 1]) ** 2)
    assert one.distance(two) == pytest.approx(sine, rel=1e-12)  # 1 - cos^2 loses four digits here


def test_projection_keeps_every_survivor_and_its_diameter(truth, make_correspondence):
    retained = make_correspondence(radius=0.3).retain([truth])
    projected = targets(retained)
    assert len(projected) == retained.n_kept > 1
    brute = max(a.distance(b) for a in projected for b in projected)
    assert target_diameter(projected) == pytest.approx(brute, rel=1e-14)


def test_nothing_projects_to_nothing_or_to_the_fallback(truth, make_correspondence):
    retained = make_correspondence(radius=1e-3, center=[0.0, 0.0, 0.0, -5.0]).retain([truth])
    assert retained.is_empty
    assert targets(retained) == ()
    assert target_diameter(()) == 0.0
    fallback = physical_target(truth.dictionary, None)
    assert targets(retained, fallback) == (fallback,)


def test_a_nonempty_set_ignores_the_fallback(truth, make_correspondence):
    retained = make_correspondence().retain([truth])
    assert len(targets(retained, physical_target(truth.dictionary, None))) == retained.kept.sum()


@pytest.mark.parametrize(
    ("support", "message"),
    [
        ((), "support must hold at least one atom"),
        ((0, 4), "support must hold indices from 0 to 3"),
        ((1, 1), "support must hold distinct atoms"),
    ],
)
def test_misuse_is_named(truth, support, message):
    with pytest.raises(MisuseError, match=message):
        physical_target(truth.dictionary, support)


def test_a_target_of_vectors_that_are_not_unit_is_refused():
    with pytest.raises(MisuseError, match="atoms must have columns of norm 1"):
        PhysicalTarget(True, np.ones((4, 2)))
    with pytest.raises(MisuseError, match="atoms must be finite"):
        PhysicalTarget(True, np.full((4, 2), np.nan))
