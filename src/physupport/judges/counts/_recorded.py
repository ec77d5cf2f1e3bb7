r"""Responses that were themselves counted: a denominator of the evidence that knows their counting noise.

Element j was recorded with counts :math:`N_{ij}\sim\mathrm{Poisson}(a_{ij})`, with rates a that nobody knows; the live
time belongs to the unit of a.  The signal :math:`y_i\sim\mathrm{Poisson}\bigl(\sum_jx_ja_{ij} + (Bb)_i\bigr)` is
independent.  Evidence needs an upper bound D of the likelihood that depends on N, not on a.  It suffices that
:math:`E_N[1/D] \le 1/p` for all a: with a density q that was fixed without N, :math:`E[q(y)/D] \le \sum_yq(y) = 1`.

For one element and k counts take :math:`D = \binom{N+k}{k}x^k/(1+x)^{N+k}`, since

.. math:: E_N\frac{1}{D} = \frac{k!}{(xa)^k}e^{-a}\sum_N\frac{(a(1+x))^{N+k}}{(N+k)!} \le \frac{k!\,e^{xa}}{(xa)^k}.

Of several elements the counts are a sum, and D is the sum over all ways to divide y, :math:`D=\sum_kD_k`: with
:math:`p=\sum_kp_k` the inequality of Cauchy and Schwarz gives :math:`1/D\le\sum_k(p_k/p)^2/D_k`, of which the
expectation is at most :math:`\sum_kp_k/p^2=1/p`.  The channels multiply.

D is a mixture of Poisson laws, up to a factor, with the generating function
:math:`\prod_j(1+x_j)(1+x_j(1-s))^{-N_j-1}`.  Any mixture g of Poisson laws has
:math:`g(y) \le (y^ye^{-y}/y!)\,s^{-y}E[s^Y]` for every s > 0, as each of them has.  With :math:`x_j\le X_j`, chords of
convex functions and :math:`\log(1+x)\le x`, log D is at most the concave function of
`physupport.judges.counts._bands` with :math:`a = N_{ij}+1` and the spread :math:`S = X_j`; each channel with counts
adds :math:`x_j`, each other one :math:`-N_{ij}(x_j/X_j)\log(1+X_j)`.

Where :math:`x_j > X_j`, one s < 1 for all channels shows that D is below what the best fit attains: `spreads` chooses X
for that.  A response that is right to within a share e has rates :math:`a\theta` with :math:`|\theta-1|\le e`, so
that x is replaced by :math:`x\theta`, and the supremum is over all :math:`\theta`.
"""

from typing import NamedTuple

import numpy as np

from ..._typing import Array, BoolArray, IntArray

# The s at which large amounts are excluded; the one that excludes most is taken.
_TURNS = np.array([0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99])
# Beyond e to this power a library has too few counts to bound its amounts, and nothing is rejected.
_MOST = 30.0
# Far more than all rounding of the sums that decide X, which may be too large.
_ROUNDING = 1e-9


class Spreads(NamedTuple):
    """The spreads of the columns (M, r) of explanations, below and above s = 1; 0 for columns that are bands."""

    values: Array  # (M, r, 2)
    rests: Array  # (M, r) of recorded responses, 0 for others
    is_open: BoolArray  # (M,) a library has too few counts to bound its amounts, and nothing is known of the best fit


def spreads(recorded: Array, shares: Array, counts: Array, members: IntArray, least: Array) -> Spreads:
    r"""Choose X and sum up the channels without counts.

    recorded: (C, q) counts of the first columns.  shares: (C, 2) least and largest :math:`\theta`.  counts: (q,) of the
    signal.  members: (M, r).  least: (M,) log likelihoods that are attained, up to :math:`\sum\log y!`.
    """
    seen = counts > 0.0
    is_recorded = (members >= 0) & (members < len(recorded))
    owners = np.where(is_recorded, members, 0)
    total = counts.sum()
    own = np.where(seen, counts, 1.0)
    short = (own * np.log(own)).sum() - total - least  # (M,) the log likelihood that the fit lacks
    n_added = is_recorded.sum(axis=1) * seen.sum()
    needed = short[:, None] - total * np.log(_TURNS) - n_added[:, None] * np.log1p(-_TURNS)  # (M, turns)
    needed = needed * (1.0 + _ROUNDING) + _ROUNDING * total + 1.0
    # Without any counts, or with a rate that may be 0, amounts have no bound.
    is_bounded = (shares[:, 0] > 0.0) & recorded.any(axis=1)
    sizes = np.where(is_bounded, recorded.sum(axis=1), 1.0)
    powers = needed[:, None] / sizes[owners][..., None]  # (M, r, turns)
    limits = (np.expm1(np.minimum(powers, _MOST)) / (1.0 - _TURNS)).min(axis=-1)
    limits /= np.where(is_bounded, shares[:, 0], 1.0)[owners]
    values = np.where(is_recorded, limits, 0.0)[..., None] * shares[owners]
    rests = recorded[:, ~seen].sum(axis=1)[owners] * np.log1p(values[..., 0]) / limits * (1.0 - 2.0**-40)
    rests -= (1.0 + 2.0**-40) * seen.sum() * shares[owners, 1]
    is_open = (((powers.min(axis=-1) > _MOST) | ~is_bounded[owners]) & is_recorded).any(axis=1)
    return Spreads(values, np.where(is_recorded, rests, 0.0), is_open | ~np.isfinite(least))
