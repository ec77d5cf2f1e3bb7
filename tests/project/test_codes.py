"""Known codes in a file of their own: brought together with the rows, and held out with them."""

import numpy as np
import pytest

from physupport import MisuseError
from physupport.io import split_streams
from physupport.project import assemble, forecast, load_project, run_project

LAW = ('law = "latent"\nactivity = 0.3', 'law = "known codes"\ncodes = "codes.npy"')


def test_known_codes_may_stand_in_a_file_of_their_own(write, small):
    rng, atoms = np.random.default_rng(5), small.columns([0.2, 0.7])
    codes = rng.normal(size=(300, 2))
    rows = codes @ atoms.T + 0.1 * rng.normal(size=(300, 8))
    apart = assemble(load_project(write(LAW, more=small.calibration, calibration=rows, codes=codes)))
    together = assemble(
        load_project(
            write(
                ('law = "latent"\nactivity = 0.3', 'law = "known codes"'),
                more=small.calibration,
                calibration=np.hstack([rows, codes]),
            )
        )
    )
    np.testing.assert_array_equal(apart.tables["calibration"].values, together.tables["calibration"].values)


@pytest.fixture
def made(small):
    rng = np.random.default_rng(5)
    codes = rng.normal(size=(300, 2))
    rows = codes @ small.columns([0.2, 0.7]).T + 0.1 * rng.normal(size=(300, 8))
    return {"calibration": rows, "codes": codes}


def test_held_out_codes_are_not_looked_at_before_they_are_used(write, small, made):
    held_out = split_streams([300, 400], [0.4, 0.4], 3)[0].held_out
    made["codes"][held_out] = np.nan
    path = write(LAW, more=small.calibration, **made)
    assert forecast(load_project(path)).explanations == 8
    with pytest.raises(
        MisuseError, match=r"calibration \(calibration.npy with codes codes.npy\) must be finite"
    ) as error:
        run_project(load_project(path))
    assert f"nan in row {held_out.min()}, column code 0" in str(error.value)


def test_shape_and_names_are_those_of_rows_and_codes_together(write, small, made):
    table = assemble(load_project(write(LAW, more=small.calibration, **made))).tables["calibration"]
    assert table.source.path == "calibration.npy with codes codes.npy"
    assert table.source.shape == table.values.shape == (300, 10)
    assert table.channels[-3:] == ("7", "code 0", "code 1")


def test_they_must_fit_rows_and_atoms(write, refused, small, made):
    rule = "data.calibration.codes must have a row for each of the 300 rows of calibration.npy, with 2 codes, not "
    for codes in (made["codes"][:299], made["codes"][:, :1], made["codes"][:, 0]):
        path = write(LAW, more=small.calibration, calibration=made["calibration"], codes=codes)
        assert f"{rule}shape {codes.shape}." in refused(path)
    # A channel too many does not pass for a code too few.
    wide = np.hstack([made["calibration"], made["codes"][:, :1]])
    path = write(LAW, more=small.calibration, calibration=wide, codes=made["codes"][:, 1:])
    assert "data.calibration.file must have 8 channels, as the responses have, but calibration.npy has 9" in refused(
        path
    )
    path = write(LAW, more=small.calibration, calibration=made["calibration"], codes=made["codes"] * 1j)
    assert "data.calibration.codes must be real as the rows of calibration.npy are" in refused(path)
