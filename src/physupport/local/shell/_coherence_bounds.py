"""How coherent the atoms of any block of a shell are."""

from dataclasses import dataclass
from typing import final

from ..._checks import Interval
from ._shell import Shell


@final
@dataclass(frozen=True, slots=True)
class CoherenceBounds:
    """Where the distances and the coherence shortfalls of two atoms of one block lie, for every block of a shell."""

    chord: Interval
    gap: Interval


def coherence_bounds(shell: Shell) -> CoherenceBounds:
    r"""Both constants of (eq:s-coherence), for any i != j and any block of the shell.

    :math:`\kappa_- s\sqrt{\tfrac{2q}{q-1}} \le \|z_i - z_j\| \le \|d_i - d_j\| \le
    \min\{\tfrac{1}{c_u}\kappa_+ s\sqrt{\tfrac{2q}{q-1}},\ 2C_0 s\}`, and half the squares of the ends for the gap.

    Proof. :math:`z_i - z_j = L(v_i - v_j)` and :math:`\|v_i - v_j\|^2 = 2 + 2/(q-1)`. Projection across the axis
    shortens, so the chord is at least that. The chart has the derivative :math:`w \mapsto w - (z^\top w/c)u`, of
    norm 1/c, and c is at least c_u on the ball of radius C_0 s, which is convex: the chord is at most 1/c_u times
    longer. Both atoms are within the angle arcsin(C_0 s) of the axis, hence the last bound.
    """
    lower = shell.vertex_separation
    across = lower * shell.stretch.upper / shell.stretch.lower
    upper = min(across / shell.axial_floor, 2.0 * shell.cap * shell.scale)
    return CoherenceBounds(Interval(lower, upper), Interval(0.5 * lower**2, 0.5 * upper**2))
