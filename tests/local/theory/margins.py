"""Least distances of atoms and of competing deployment means, over every dictionary of a shell."""

import numpy as np

from physupport._checks import Interval, check_nonnegative, check_open, check_support_size
from physupport._errors import MisuseError
from physupport.local.shell import Amplitudes, Shell


def lower_singular_constant(shell: Shell) -> float:
    r"""The constant c_D of the shell (eq:lower-singular-margin, eq:sm-tech-s12-3).

    :math:`\|\sum_j h_j d_j\| \ge c_D s\|h\|` for every h and every block, with
    :math:`c_D = \tfrac1s\sigma_{\min}(M)`, where, with :math:`\lambda_V = \kappa_-\sqrt{q/(q-1)}`,
    :math:`\eta = \tfrac12\sqrt q\,(1-c_u)` and B the largest norm of a centre,

    .. math:: M = \begin{pmatrix}\sqrt q\,c_u & -\eta\\ -\sqrt q\,B & \lambda_V s\end{pmatrix}.

    Proof. Put :math:`A = \sum_j h_j,\ h_0 = h - \tfrac Aq\mathbf 1,\ \alpha = |A|/\sqrt q,\ \beta = \|h_0\|`, so
    :math:`\|h\|^2 = \alpha^2 + \beta^2`. Along the axis,
    :math:`\sum_j h_j c_j = \tfrac Aq\sum_j c_j + \sum_j h_{0j}(c_j - m)` for any m, as h_0 sums to zero; all c_j lie in
    [c_u, 1], so with m in the middle this is in absolute value at least :math:`\sqrt q\,c_u\alpha - \eta\beta`.
    Across it, :math:`\|Ab + LVh_0\| \ge \lambda_V s\beta - \sqrt q\,B\alpha`, as
    :math:`\|Vh_0\| = \sqrt{q/(q-1)}\,\beta`. The two norms (x, y) are thus entrywise at least
    :math:`M(\alpha,\beta)`. When det M > 0 the inverse of M has no negative entry, so
    :math:`(\alpha,\beta) \le M^{-1}(x,y)` entrywise, hence :math:`\|h\| \le \|M^{-1}\|\,\|(x,y)\|`.

    The condition det M > 0 fails only when the scale is too large for the shell; that is a misuse.
    """
    q = shell.q
    s = shell.scale
    floor = shell.axial_floor
    spread = shell.stretch.lower * np.sqrt(q / (q - 1)) * s
    # 1 - c_u without cancellation.
    eta = 0.5 * np.sqrt(q) * (shell.cap * s) ** 2 / (1.0 + floor)
    matrix = np.array([[np.sqrt(q) * floor, -eta], [-np.sqrt(q) * center_radius(shell), spread]])
    determinant = np.sqrt(q) * (floor * spread - eta * center_radius(shell))
    if determinant <= 0.0:
        rule = "be small enough for the atoms of every block to stay linearly independent"
        raise MisuseError("scale", rule, repr(s), "Shrink the scale or the cap of the shell.")
    # The smaller singular value through the determinant: the direct one is drowned by the larger when s is tiny.
    return float(determinant / np.linalg.norm(matrix, 2) / s)


def support_margin(shell: Shell, amplitudes: Amplitudes, r: int, rho: float) -> float:
    r"""Least distance of the means of two different supports, :math:`m_S(\rho)` (eq:support-margin, eq:sm-tech-s12-13).

    :math:`m_S(\rho) = [\sqrt2\,c_D\beta_- s - C_S r\beta_+\rho]_+` with :math:`C_S = 1/c_u`, for any two
    dictionaries of the shell within quotient distance rho and any two supports of size r that differ after the
    matching.

    Proof. In one dictionary the coefficient vectors of two supports differ by at least beta_- in at least two
    entries (eq:sm-tech-s12-10). The atom chart is 1/c_u-Lipschitz on the cap, so moving the r atoms of one support to
    their partners moves the mean by at most r beta_+ rho / c_u.
    """
    check_support_size(r, shell.q)
    unmoved = np.sqrt(2.0) * lower_singular_constant(shell) * amplitudes.block.lower * shell.scale
    return max(0.0, float(unmoved - r * amplitudes.block.upper * check_nonnegative("rho", rho) / shell.axial_floor))


def separated_gap(shell: Shell, amplitudes: Amplitudes, r: int) -> float:
    r"""Gap :math:`g_G^0` between a coherent-block and a separated mean; it may be negative (eq:sm-tech-s12-16).

    :math:`g_G^0 = r\{\beta_- c_u\sin\omega - \beta_+ C_0 s|\cos\omega|\} - \gamma_+ C_a s`, with omega the angle
    from the axis to a_0.

    Proof. :math:`h_a = (u - \cos\omega\,a_0)/\sin\omega` is a unit vector orthogonal to a_0, and equals
    :math:`\sin\omega\,u - \cos\omega\,e` for a unit e across the axis. So
    :math:`h_a^\top d_j \ge c_u\sin\omega - C_0 s|\cos\omega|`, with the two parts weighted by beta_- and beta_+ at
    worst, while :math:`|h_a^\top a| \le \sin\angle(a, a_0) = \|P_a - P_{a_0}\|_F/\sqrt2 \le C_a s`.

    Block and separated atom enter through separate shell conditions, so when positive this is a margin between a
    block mean of any dictionary of the shell and a separated mean of any other: no transport between them is needed.
    """
    check_support_size(r, shell.q)
    block = amplitudes.block
    reach = shell.cap * shell.scale
    along = block.lower * shell.axial_floor * shell.axial_sine
    coherent = r * (along - block.upper * reach * abs(shell.axial_cosine))
    return coherent - amplitudes.separated.upper * shell.separated_radius * shell.scale


def separated_margin(shell: Shell, amplitudes: Amplitudes, r: int, rho: float) -> float:
    r"""Least distance of a block mean from a separated mean, :math:`m_G(\rho)` (eq:parent-margin, eq:sm-tech-s12-17).

    :math:`m_G(\rho) = [g_G^0 - C_G(r\beta_+ + \gamma_+)\rho]_+` with :math:`C_G = 1/c_u`, the paper's form. It
    decreases in rho although its value at rho = 0 already holds for all pairs of the shell, see `separated_gap`.
    """
    reach = check_nonnegative("rho", rho) / shell.axial_floor
    transport = (r * amplitudes.block.upper + amplitudes.separated.upper) * reach
    return max(0.0, separated_gap(shell, amplitudes, r) - transport)


def matching_is_unique(shell: Shell, rho: float) -> bool:
    r"""True if quotient distance rho leaves one matching only, :math:`\rho < \tfrac12\kappa_- s\sqrt{2q/(q-1)}`.

    Two partners of one atom, both within rho, would be within 2 rho of each other, yet atoms of one block are at
    least :math:`\kappa_- s\sqrt{2q/(q-1)}` apart. A positive support margin implies this: the inverse of M in
    `lower_singular_constant` has the entry :math:`\sqrt q\,c_u/\det M`, so
    :math:`c_D \le \kappa_-\sqrt{q/(q-1)}`, and a positive margin means
    :math:`\rho < \sqrt2\,c_D s\,c_u\beta_-/(r\beta_+)` with r at least 2.
    """
    return check_nonnegative("rho", rho) < 0.5 * vertex_separation(shell)


def balanced_amplitude_range(shell: Shell, amplitudes: Amplitudes, r: int, stretch: float) -> tuple[float, float]:
    r"""Exact range of the separated reference's part of balanced means (eq:anchor-amplitude-transversality).

    The range of :math:`a_0^\top\sum_{j\in S} x_j d_j` over all supports of size r, coefficients in the block range and
    rotations of :math:`L = \lambda_\star s R`. With :math:`w = \sum_{j\in S}x_j v_j` the rotations sweep
    :math:`\cos\omega\sqrt{1-\lambda_\star^2s^2}\sum_j x_j \pm \lambda_\star s\sin\omega\,\|w\|` and
    all between. The upper end is convex in x and the lower concave, so both are extreme at corners of the coefficient
    box; by symmetry only the number of coefficients at beta_+ matters.
    stretch: :math:`\lambda_\star`, strictly within the shell's stretches and below the cap.
    """
    check_open("stretch", stretch, shell.stretch.lower, min(shell.stretch.upper, shell.cap))
    low = amplitudes.block.lower
    high = amplitudes.block.upper
    n_high = np.arange(check_support_size(r, shell.q) + 1)
    totals = n_high * high + (r - n_high) * low
    squares = n_high * high**2 + (r - n_high) * low**2
    # ||w||^2 by the simplex inner products; q squares exceed totals^2 because r < q.
    lengths = np.sqrt((shell.q * squares - totals**2) / (shell.q - 1))
    reach = stretch * shell.scale
    along = shell.axial_cosine * np.sqrt((1.0 - reach) * (1.0 + reach)) * totals  # (r + 1,)
    across = reach * shell.axial_sine * lengths  # (r + 1,)
    return float((along - across).min()), float((along + across).max())


def amplitude_is_interior(shell: Shell, amplitudes: Amplitudes, r: int, stretch: float) -> bool:
    """True if that range lies strictly inside the separated amplitudes (eq:anchor-amplitude-transversality)."""
    lower, upper = balanced_amplitude_range(shell, amplitudes, r, stretch)
    return amplitudes.separated.lower < lower and upper < amplitudes.separated.upper


def coherence_bounds(shell: Shell) -> tuple[Interval, Interval]:
    r"""Ranges of the distance of two atoms and of their coherence gap, over all blocks of the shell (eq:s-coherence).

    :math:`\kappa_- s\sqrt{\tfrac{2q}{q-1}} \le \|z_i - z_j\| \le \|d_i - d_j\| \le
    \min\{\tfrac{1}{c_u}\kappa_+ s\sqrt{\tfrac{2q}{q-1}},\ 2C_0 s\}`, and half the squares of the ends for the gap.

    Proof. :math:`z_i - z_j = L(v_i - v_j)` and :math:`\|v_i - v_j\|^2 = 2 + 2/(q-1)`. Projection across the axis
    shortens, so the chord is at least that. The chart has the derivative :math:`w \mapsto w - (z^\top w/c)u`, of
    norm 1/c, and c is at least c_u on the ball of radius C_0 s, which is convex: the chord is at most 1/c_u times
    longer. Both atoms are within the angle arcsin(C_0 s) of the axis, hence the last bound.
    """
    lower = vertex_separation(shell)
    across = lower * shell.stretch.upper / shell.stretch.lower
    upper = min(across / shell.axial_floor, 2.0 * shell.cap * shell.scale)
    return Interval(lower, upper), Interval(0.5 * lower**2, 0.5 * upper**2)


def center_radius(shell: Shell) -> float:
    r"""Bound of the centre, :math:`\|b\| \le s\sqrt{C_0^2 - \kappa_-^2}`.

    From :math:`\|b\|^2 + \tfrac{1}{q-1}\|L\|_F^2 = \tfrac1q\sum_j\|z_j\|^2 \le C_0^2 s^2`.
    """
    smallest = shell.stretch.lower
    return shell.scale * float(np.sqrt((shell.cap - smallest) * (shell.cap + smallest)))


def vertex_separation(shell: Shell) -> float:
    r"""Least distance of two atoms across the axis, :math:`\kappa_- s\sqrt{2q/(q-1)} \le \|z_i - z_j\|`."""
    return shell.stretch.lower * shell.scale * float(np.sqrt(2.0 * shell.q / (shell.q - 1)))
