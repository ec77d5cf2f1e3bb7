"""Spectra on another axis: what interpolation is exact for, and what width it admits."""

import numpy as np
import pytest

from physupport.io import Spectrum, read_spectra, resampled


@pytest.mark.parametrize("steps", [np.ones(12), np.linspace(0.5, 1.5, 12)])
def test_a_cubic_is_met_on_any_axis_and_a_quartic_is_not(steps):
    own = np.cumsum(steps)
    places = np.linspace(own[1], own[-2], 40)[1:-1]

    def error(power):
        made = resampled([Spectrum.of("a", own, (own - 4.0) ** power)], places, "")
        return np.abs(made.columns[:, 0] - (places - 4.0) ** power).max() / np.abs(made.widths).max()

    assert error(3) < 1e-12
    assert error(4) > 1e-3


def test_beyond_its_ends_a_spectrum_is_as_wide_as_its_slope_makes_it():
    own = np.arange(10.0)
    made = resampled([Spectrum.of("a", own, 5.0 + 2.0 * own)], np.array([-0.4, 3.0, 9.00001, 9.4]), "")
    np.testing.assert_allclose(made.columns[:, 0], [4.2, 11.0, 23.0, 23.8], rtol=1e-12)
    np.testing.assert_allclose(np.abs(made.widths[:, 0]), [0.8, 0.0, 0.0, 0.8], atol=1e-12)


@pytest.mark.parametrize(
    ("head", "separator", "unit"),
    [
        ("Wavelength (nm),Counts", ",", "nm"),
        ("Raman shift (cm-1);a.u.", ";", "cm-1"),
        ("Energy/keV\tIntensity", "\t", "keV"),
        ("# Raman shift (cm-1) counts", " ", "cm-1"),
        ("Wavenumber [cm-1] Absorbance [1]", " ", "cm-1"),
        ("nm value", " ", "nm"),
        ("time of a measurement", " ", ""),
        ("place value (counts)", " ", ""),
    ],
)
def test_the_unit_of_the_axis_stands_in_its_title(head, separator, unit, tmp_path):
    rows = [separator.join((f"{place}.5", f"{place % 3}.25")) for place in range(400, 406)]
    (tmp_path / "s.txt").write_text("\n".join([head, *rows]))
    (spectrum,) = read_spectra(tmp_path / "s.txt")
    assert spectrum.axis_unit == unit
