"""Measured Raman spectra, one instrument left out at a time: materials are named, and strangers are not."""

import numpy as np
import pytest

from physupport.judges import Verdict
from physupport.judges.conformal import ByConformal, Replicates
from physupport.project._examples import stored_spectra

SPECTRA, NAMES, UNITS, _ = stored_spectra("raman.npz")
MATERIALS = [{"nCAL": "calcite", "sCAL": "calcite", "PST": "polystyrene"}.get(name, "silicon") for name in NAMES]
CUBICS = np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, SPECTRA.shape[1]), 3)


def named(signal, known):
    """Materials that are left of what is known."""
    groups = {NAMES[s]: MATERIALS[s] for s in known}
    names, units = (tuple(each[s] for s in known) for each in (NAMES, UNITS))
    judge = ByConformal(Replicates(SPECTRA[known], names, units, groups, CUBICS)).judge(SPECTRA[signal], 0.1)
    kept = np.flatnonzero(judge.verdicts(np.arange(judge.size)).codes != Verdict.REJECTED)
    return {groups[judge.spec.replicates.names[e]] for e in kept}


@pytest.mark.slow
def test_the_material_of_a_spectrum_from_another_instrument_is_named_and_never_a_wrong_one():
    right = empty = several = strangers = 0
    for signal in range(len(SPECTRA)):
        known = [s for s in range(len(SPECTRA)) if UNITS[s] != UNITS[signal]]
        left = named(signal, known)
        assert not left or MATERIALS[signal] in left
        right, empty, several = right + (len(left) == 1), empty + (not left), several + (len(left) > 1)
        strangers += not named(signal, [s for s in known if MATERIALS[s] != MATERIALS[signal]])
    # Those of which more than the material, or a stranger, is kept are hardly more than noise.
    assert (right, empty, several, strangers) == (66, 3, 1, 68)
