"""How alike responses are; shown to a reader, never used to leave anything out."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._checks import check_array
from ..._errors import MisuseError
from ..._typing import Array
from ...io._rows import as_complex


def coherence(responses: ArrayLike, *, is_complex: bool = False) -> Array:
    r""":math:`|\langle a_i, a_j\rangle| / (\|a_i\|\|a_j\|)` of every two columns, (E, E), exactly 1 on the diagonal.

    responses: (q, E) of any norm above 0.  If complex, columns hold pairs (Re, Im) and the inner product is the complex
    one, so that a common phase makes no difference; columns that are complex numbers are taken as they are.

    >>> coherence([[1.0, 0.0], [0.0, 1.0]], is_complex=True).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    columns: NDArray[np.float64] | NDArray[np.complex128]
    if np.iscomplexobj(responses):
        columns = np.asarray(responses, dtype=np.complex128)
    else:
        real = check_array("responses", responses, (None, None))
        if is_complex and len(real) % 2:
            raise MisuseError("responses", "have an even number of entries, pairs (Re, Im)", f"{len(real)} entries")
        columns = as_complex(real) if is_complex else real
    norms = np.linalg.norm(columns, axis=0)
    if columns.ndim != 2 or not np.isfinite(norms).all() or (norms == 0.0).any():
        raise MisuseError("responses", "be finite columns of norm above 0", f"shape {columns.shape}")
    unit = columns / norms
    # Rounding may carry a product of unit columns past 1.
    cosines = np.minimum(np.abs(unit.conj().T @ unit), 1.0)
    np.fill_diagonal(cosines, 1.0)
    return np.asarray((cosines + cosines.T) / 2.0)
