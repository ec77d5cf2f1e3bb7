"""Learnt atoms in the words of a library."""

import numpy as np
import pytest
from scipy.spatial.distance import directed_hausdorff

from physupport import MisuseError
from physupport.banks import Library, all_supports, array_bank, nearest_regions, product_grid
from physupport.banks._learnt import nearest_elements

LIBRARY = Library(
    ["a1", "a2", "b1", "b2"], ["A", "A", "B", "B"], [[0.0, 0.0], [3.0, 4.0], [1.0, 0.0], [1.0, 2.0]], np.eye(6)[:, :4]
)


def near(*elements):
    """Atoms a little off the axes of these elements; axis 5 is no element."""
    atoms = np.eye(6)[:, list(elements)] + 0.05 * np.eye(6)[:, [4]]
    return atoms / np.linalg.norm(atoms, axis=0)


def make_bank(*states, supports=((0,), (0, 1), (0, 1, 2))):
    dictionaries = np.stack([near(*each) for each in states])
    return array_bank(dictionaries, supports, strengths=[1.0, 2.0, 4.0], deployment=product_grid(noise=[1.0, 2.0]))


def said(found, bank, index):
    """Names by region of one explanation."""
    slots = found.view.locate(index)[0]
    return {r: found.view.sets[r].names[i] for r, i in zip(found.view.regions, slots, strict=True) if i >= 0}


def test_the_nearest_element_is_that_of_the_largest_cosine_whatever_the_sign():
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((6, 9))
    atoms /= np.linalg.norm(atoms, axis=0)
    elements, distances = nearest_elements(atoms, LIBRARY)
    cosines = np.abs(LIBRARY.responses.T @ atoms)
    assert np.array_equal(elements, cosines.argmax(axis=0))
    np.testing.assert_allclose(distances, np.sqrt(1.0 - cosines.max(axis=0) ** 2), rtol=1e-12)
    assert np.array_equal(nearest_elements(-atoms, LIBRARY)[0], elements)


def test_every_explanation_says_what_its_active_atoms_are_nearest_to():
    bank = make_bank((0, 2, 5), (1, 2, 3))
    found = nearest_regions(bank, LIBRARY, within=0.2)
    assert found.view.n_explanations == bank.size
    expected = {
        (0, 0): {"A": "a1"},
        (0, 1): {"A": "a1", "B": "b1"},
        (0, 2): {"A": "a1", "B": "b1", "unmatched": "atom 2"},
        (1, 0): {"A": "a2"},
        (1, 1): {"A": "a2", "B": "b1"},
        (1, 2): {"A": "a2", "B": "b1 + b2"},
    }
    for (state, support), says in expected.items():
        for noise in (0, 1):
            assert said(found, bank, bank.index(state, support, 0, noise)) == says
    assert found.view.optional == ("B", "unmatched")
    assert found.view.strengths(bank.index(1, 2))[0].tolist() == [1.0, 2.0 + 4.0, 0.0]


def test_distances_are_those_of_the_sets_of_places():
    found = nearest_regions(make_bank((0, 2, 5), (1, 2, 3)), LIBRARY, within=0.2)
    assert found.distances["A"].tolist() == [[0.0, 5.0], [5.0, 0.0]]
    assert found.view.sets["B"].names == ("b1", "b1 + b2")
    places = [LIBRARY.coordinates[[2]], LIBRARY.coordinates[[2, 3]]]
    there_and_back = max(directed_hausdorff(*places)[0], directed_hausdorff(*places[::-1])[0])
    assert found.distances["B"].tolist() == [[0.0, there_and_back], [there_and_back, 0.0]]
    assert there_and_back == 2.0
    assert found.distances["unmatched"].tolist() == [[0.0]]
    assert found.view.sets["A"].coordinates.tolist() == [[0.0, 0.0], [3.0, 4.0]]
    assert found.view.sets["B"].coordinates is None


def test_two_atoms_of_one_element_are_one_element_with_both_strengths():
    bank = make_bank((0, 0, 2), supports=[(0, 1)])
    found = nearest_regions(bank, LIBRARY, within=0.2)
    assert said(found, bank, 0) == {"A": "a1"}
    assert found.view.strengths(0).tolist() == [[3.0]]


def test_how_near_is_near_decides_what_is_matched():
    bank = make_bank((0, 2, 3), supports=all_supports(3, up_to=1))
    off = float(nearest_elements(near(0), LIBRARY)[1][0])
    assert nearest_regions(bank, LIBRARY, within=1.01 * off).view.regions == ("A", "B")
    assert nearest_regions(bank, LIBRARY, within=0.99 * off).view.regions == ("unmatched",)


def test_misuse_is_refused_by_name():
    bank = make_bank((0, 2, 3))
    with pytest.raises(MisuseError, match="within must lie strictly between 0 and 1"):
        nearest_regions(bank, LIBRARY, within=1.0)
    with pytest.raises(MisuseError, match=r"atoms must have shape \(6, any\)"):
        nearest_elements(np.eye(3), LIBRARY)
    taken = Library(["a"], ["unmatched"], [[0.0]], np.eye(6)[:, :1])
    with pytest.raises(MisuseError, match="library must have no region called 'unmatched'"):
        nearest_regions(bank, taken, within=0.5)
    with pytest.raises(MisuseError, match="bank must have an active atom in some explanation"):
        nearest_regions(make_bank((0, 2, 3), supports=[()]), LIBRARY, within=0.5)
    doubled = Library(["a", "b", "a + b"], ["A"] * 3, np.zeros((3, 1)), np.eye(6)[:, :3])
    with pytest.raises(MisuseError, match="library must have ids that cannot be taken for several"):
        nearest_regions(make_bank((0, 1, 2), supports=[(0, 1), (2,)]), doubled, within=0.5)
