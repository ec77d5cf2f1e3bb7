"""Lines from libraries: energies and ratios that are known otherwise, daughters in equilibrium, refused names."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.responses import gamma_lines, xray_lines

pytest.importorskip("actigamma")
pytest.importorskip("xraylib")


def strongest(emission, count=1):
    order = np.argsort(-emission.lines[:, 1])[:count]
    return emission.lines[order]


def test_iron_has_its_k_lines_and_lead_its_l_lines_where_they_are_excited():
    (iron,) = xray_lines(["Fe"], 20.0)
    energies = iron.lines[(iron.lines[:, 1] > 0.01 * iron.lines[:, 1].max()) & (iron.lines[:, 0] > 2.0), 0]
    np.testing.assert_allclose([energies.min(), energies.max()], [6.39, 7.06], atol=0.02)  # Bearden 1967
    alpha = iron.lines[np.abs(iron.lines[:, 0] - 6.4) < 0.1, 1].sum()
    beta = iron.lines[iron.lines[:, 0] > 7.0, 1].sum()
    assert beta / alpha == pytest.approx(0.12, abs=0.02)
    (lead,) = xray_lines(["Pb"], 20.0)
    assert strongest(lead)[0, 0] == pytest.approx(10.5515, abs=0.001)
    (more,) = xray_lines(["Pb"], 100.0)
    assert more.lines[:, 0].max() > 72.0 > 20.0 > lead.lines[:, 0].max()


def test_caesium_shines_by_its_daughter():
    (caesium,) = gamma_lines(["Cs-137"])
    assert caesium.daughters == ("Ba-137m",)
    energy, intensity = strongest(caesium)[0]
    assert energy == pytest.approx(661.657, abs=0.01)
    assert intensity == pytest.approx(0.851, abs=0.004)  # per decay of caesium (DDEP)


@pytest.mark.parametrize(
    ("parent", "energy", "intensity"),
    [("Th-228", 2614.5, 0.359), ("Th-228", 583.19, 0.306), ("Ra-226", 609.32, 0.455), ("Mo-99", 140.51, 0.90),
     ("Ba-140", 1596.2, 1.10), ("Eu-152", 344.28, 0.266), ("K-40", 1460.8, 0.107)],
)  # fmt: skip
def test_daughters_have_the_activities_of_equilibrium(parent, energy, intensity):
    (emission,) = gamma_lines([parent])
    near = np.abs(emission.lines[:, 0] - energy) < 0.3
    assert emission.lines[near, 1].sum() == pytest.approx(intensity, rel=0.05)


def test_a_daughter_that_lives_long_is_a_nuclide_of_its_own():
    thorium, radium = gamma_lines(["Th-232", "Ra-226"])
    assert thorium.daughters == ()
    assert "Pb-210" not in radium.daughters


@pytest.mark.parametrize("name", ["137Cs", "Cs137", "Cs-137", " Cs-137 "])
def test_a_nuclide_may_be_written_as_people_write_it(name):
    assert gamma_lines([name])[0].name == "Cs-137"


@pytest.mark.parametrize("name", ["Caesium", "Cs-999", ""])
def test_what_is_no_nuclide_is_refused_with_how_to_write_one(name):
    with pytest.raises(MisuseError, match="Write nuclides as in Cs-137"):
        gamma_lines([name])


def test_an_element_without_a_line_is_to_be_left_out():
    with pytest.raises(MisuseError, match="Leave H out"):
        xray_lines(["H"], 20.0)
    with pytest.raises(MisuseError, match="Leave H-3 out"):
        gamma_lines(["H-3"])
    with pytest.raises(MisuseError, match="Write symbols as in Fe"):
        xray_lines(["Iron"], 20.0)
