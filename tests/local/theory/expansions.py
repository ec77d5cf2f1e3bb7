"""Laws near the collapsed block, degree by degree: projectors, Gaussian densities, moments, and their derivatives."""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from math import comb, factorial

import numpy as np
from scipy.linalg import polar, solve_triangular
from tests.local.theory.invariants import power_sums
from tests.local.theory.moments import symmetric_basis, tensor_coordinates

from physupport._checks import check_count
from physupport._errors import MisuseError
from physupport._typing import Array
from physupport.laws import CodeLaw
from physupport.local.regions import inclusion_probabilities, power_coordinates
from physupport.local.regions._moments import matrix_coordinates
from physupport.local.shell import Block, Frame, LocalDictionary, default_separated_atom, offset_basis, separated_offset

# The envelope is stated up to this order; beyond it the sums over permutations and partitions grow fast.
_HIGHEST_ORDER = 5


def projector_increment(frame: Frame, z: Array) -> Array:
    r""":math:`H(z) = d(z)d(z)^\top - uu^\top` for one atom (eq:sm-tech-s1-1).

    :math:`H = c\,(uz^\top + zu^\top) + zz^\top - \|z\|^2uu^\top` with :math:`c = \sqrt{1-\|z\|^2}`, which subtracts no
    nearly equal numbers.  z: (q - 1,), shorter than 1.  Returns (q, q).
    """
    first, second, _ = projector_terms(frame, z)
    increment: Array = np.sqrt(1.0 - z @ z) * first + second
    return increment


def projector_terms(frame: Frame, z: Array) -> tuple[Array, Array, Array]:
    r"""Terms of degree one to three of the projector increment (eq:sm-tech-s1-2, eq:sm-tech-s1-3, eq:sm-tech-s1-4).

    :math:`A_1 = uz^\top + zu^\top,\quad A_2 = zz^\top - \|z\|^2uu^\top,\quad A_3 = -\tfrac12\|z\|^2A_1`.
    """
    squared = z @ z
    across = frame.basis @ z
    half = np.outer(frame.axis, across)
    first = half + half.T
    return first, np.outer(across, across) - squared * np.outer(frame.axis, frame.axis), -0.5 * squared * first


def projector_remainder(frame: Frame, z: Array) -> Array:
    r"""The remainder after the three terms, in closed form: :math:`R_4 = -\frac{\|z\|^4}{2(1+c)^2}(uz^\top + zu^\top)`.

    From :math:`c - 1 + \tfrac12\|z\|^2 = -\tfrac12(1-c)^2`; the term of degree four vanishes, so it is of degree five.
    """
    squared = z @ z
    factor = squared**2 / (2.0 * (1.0 + np.sqrt(1.0 - squared)) ** 2)
    remainder: Array = -factor * projector_terms(frame, z)[0]
    return remainder


def remainder_constants(radius: float) -> tuple[float, float]:
    r"""The least constants of (eq:sm-tech-s1-5) on the cap of radius R below 1: of R_4 and of its derivative.

    With c the axial part at the rim, :math:`\|R_4\|_F \le \frac{R}{\sqrt2(1+c)^2}\|z\|^4` and
    :math:`\|DR_4\| \le \sqrt2R\{\frac{1}{c(1+c)} + \frac{1}{2(1+c)^2}\}\|z\|^3`, both attained at the rim.

    Proof. :math:`\|uz^\top + zu^\top\|_F = \sqrt2\|z\|` gives the first from the closed form. With
    :math:`g = \tfrac12(1-c)^2` the derivative along w is
    :math:`-\tfrac{1-c}{c}(z^\top w)(uz^\top + zu^\top) - g\,(uw^\top + wu^\top)`, longest for w along z. Insert
    :math:`1-c = \|z\|^2/(1+c)`; the factors decrease in c, and one power of the norm is at most R.
    """
    c = np.sqrt((1.0 - radius) * (1.0 + radius))
    derivative = np.sqrt(2.0) * radius * (1.0 / (c * (1.0 + c)) + 0.5 / (1.0 + c) ** 2)
    return float(radius / (np.sqrt(2.0) * (1.0 + c) ** 2)), float(derivative)


def subset_moments(values: Array, h: int) -> tuple[Array, Array, Array]:
    r"""Mean, over uniform h-subsets C, of :math:`X_C, X_C^{\odot2}, X_C^{\odot3}` with :math:`X_C = \sum_{j\in C}H_j`.

    With :math:`Q_m = \sum_j H_j^{\odot m}` (eq:sm-proof-5-4, eq:sm-proof-5-5, eq:sm-proof-5-6):
    :math:`\pi_1Q_1,\quad (\pi_1-\pi_2)Q_2 + \pi_2Q_1^{\odot2},\quad
    (\pi_1-3\pi_2+2\pi_3)Q_3 + 3(\pi_2-\pi_3)Q_1\odot Q_2 + \pi_3Q_1^{\odot3}`.

    A symmetric tensor is its polynomial, and the symmetric product is the product of polynomials: values holds each
    H_j evaluated at any number of test vectors, (q, ...), and so do the results, (...).
    """
    one, two, three = inclusion_probabilities(len(values), 3)[:, check_count("h", h, 0, len(values))]
    first, second, third = ((values**m).sum(axis=0) for m in (1, 2, 3))
    return (
        one * first,
        (one - two) * second + two * first**2,
        (one - 3 * two + 2 * three) * third + 3 * (two - three) * first * second + three * first**3,
    )


def gaussian_covariance_derivative(rows: Array, covariance: Array, directions: Sequence[Array]) -> Array:
    r"""Mixed derivative :math:`D^m\gamma_A[H_1, \ldots, H_m](y)` of the N(0, A) density, for 0 <= m <= 5; (n,).

    With :math:`A = LL^\top,\ z = L^{-1}y,\ M_i = L^{-1}H_iL^{-\top}`, the logarithm of the density has the derivatives

    :math:`\kappa_B = \frac{(-1)^m}2 \sum_{\pi} \{\tfrac1m \operatorname{tr}(M_{\pi(1)} \cdots M_{\pi(m)})
    - z^\top M_{\pi(1)} \cdots M_{\pi(m)} z\}` over the orders of a set B of m directions,

    and :math:`D^m\gamma_A/\gamma_A` is the sum over all partitions of the directions of the products of the
    :math:`\kappa_B`; m = 1 is the example in the proof of lem:supp-gaussian-envelope.

    rows: (n, q).  covariance: (q, q).  directions: m symmetric (q, q).
    """
    check_count("the number of directions", len(directions), 0, _HIGHEST_ORDER)
    q = len(covariance)
    factor = np.linalg.cholesky(covariance)
    inverse = solve_triangular(factor, np.eye(q), lower=True)
    whitened = inverse @ np.reshape(directions, (-1, q, q)) @ inverse.T  # (m, q, q)
    z = rows @ inverse.T  # (n, q)
    log_density = -0.5 * (np.sum(z**2, axis=1) + q * np.log(2.0 * np.pi)) - np.log(np.diagonal(factor)).sum()
    return np.asarray(np.exp(log_density) * _partition_sum(z, whitened, tuple(range(len(directions)))))


def _partition_sum(z: Array, matrices: Array, members: tuple[int, ...]) -> Array:
    """Sum over the partitions of the members of the products of their log-density derivatives, (n,)."""
    if not members:
        return np.ones(len(z))
    total = np.zeros(len(z))
    # Each partition is counted once, by the part that holds the first member.
    for size in range(len(members)):
        for mates in combinations(members[1:], size):
            left = tuple(member for member in members[1:] if member not in mates)
            total += _log_derivative(z, matrices[[members[0], *mates]]) * _partition_sum(z, matrices, left)
    return total


def _log_derivative(z: Array, matrices: Array) -> Array:
    """Mixed derivative of the log density along whitened matrices (m, q, q) at whitened rows (n, q); (n,)."""
    m, q = matrices.shape[:2]
    product = np.zeros((q, q))
    for order in permutations(range(m)):
        chain = np.eye(q)
        for i in order:
            chain = chain @ matrices[i]
        product += chain
    quadratic = np.sum((z @ product) * z, axis=1)
    return np.asarray(0.5 * (-1.0) ** m * (np.trace(product) / m - quadratic))


def stratum_polynomial(rows: Array, base: Array, increments: Sequence[Array]) -> Array:
    r"""Terms :math:`\mathcal P_0, \ldots, \mathcal P_3` of degree 0 to 3 of one active set, (n, 4) (eq:sm-tech-s2-4).

    For the covariance :math:`C_0 + X_1 + X_2 + X_3 + O(s^4)` whose increment X_m has degree m in the atom coordinates:
    :math:`\mathcal P_1 = D[X_1],\ \mathcal P_2 = D[X_2] + \tfrac12 D^2[X_1, X_1],\
    \mathcal P_3 = D[X_3] + D^2[X_1, X_2] + \tfrac16 D^3[X_1, X_1, X_1]`, derivatives of the density at C_0.

    rows: (n, q).  base: (q, q), C_0.  increments: X_1, X_2, X_3, each (q, q).
    """
    x1, x2, x3 = increments

    def derivative(*directions: Array) -> Array:
        return gaussian_covariance_derivative(rows, base, directions)

    return np.column_stack(
        [
            derivative(),
            derivative(x1),
            derivative(x2) + derivative(x1, x1) / 2.0,
            derivative(x3) + derivative(x1, x2) + derivative(x1, x1, x1) / 6.0,
        ]
    )


def gaussian_envelope_constant(order: int, dimension: int, radius: float, smallest_eigenvalue: float) -> float:
    r"""An explicit constant of the derivative envelope (lem:supp-gaussian-envelope, eq:sm-proof-5-16).

    Whenever :math:`A \succeq a I` and :math:`\|A^{-1/2}(B - A)A^{-1/2}\|_{op} \le \rho < \tfrac12`,
    :math:`\int |D^m\gamma_A[H_1, \ldots, H_m]|^2/\gamma_B \le C_m \prod_i \|H_i\|_F^2` with

    :math:`C_m = a^{-2m} \Big(\frac{1-\rho}{\sqrt{1-2\rho}}\Big)^q 4^{-m} \sum_{k=0}^m
    \frac{((2m)!)^2}{(2m-2k)!\,(2^k k!)^2}
    \Big(\frac{1-\rho}{1-2\rho}\Big)^{2m-2k} \Big(\frac{q\rho^2}{(1-2\rho)^2}\Big)^k`.

    Proof. Whiten by A, so that A = I and B = I + E, and M_i is H_i whitened, of Frobenius norm at most
    :math:`\|H_i\|_F/a`. The heat equation gives :math:`D^m\gamma = 2^{-m}\gamma \langle T, He_{2m}\rangle` with T the
    symmetrised product of the M_i, of norm at most the product of theirs. The quotient :math:`\gamma_I^2/\gamma_B` is
    c times the N(0, S) density, :math:`S = (2I - B^{-1})^{-1}`: an eigenvalue e of E gives (1 + e)/(1 + 2e) for S and
    the factor :math:`(1 + e)/\sqrt{1 + 2e}` for c, both largest at e = -rho, and for S - I at most
    :math:`\rho/(1 - 2\rho)` in size. By :math:`e^{t'z - t't/2} = e^{t'z - t'St/2} e^{t'(S - I)t/2}`, the Hermite tensor
    is the sum over k of :math:`\frac{(2m)!}{(2m-2k)!\,2^k k!}` times the symmetrised product of the tensor of degree
    2m - 2k adapted to S and k copies of S - I. Under N(0, S) these are orthogonal for different k, a tensor T' of
    degree j contributes :math:`j!\langle T', S^{\otimes j}T'\rangle`, and each contraction of T with S - I costs at
    most its Frobenius norm.
    """
    if not 0.0 <= radius < 0.5:
        raise MisuseError("radius", "satisfy 0 <= radius < 1/2", repr(radius))
    m = order
    gap = 1.0 - 2.0 * radius
    stretch = (1.0 - radius) / gap
    shift = dimension * (radius / gap) ** 2
    terms = (
        factorial(2 * m) ** 2
        / (factorial(2 * m - 2 * k) * (2**k * factorial(k)) ** 2)
        * stretch ** (2 * m - 2 * k)
        * shift**k
        for k in range(m + 1)
    )
    return float(((1.0 - radius) / gap**0.5) ** dimension * sum(terms) / (4.0**m * smallest_eigenvalue ** (2 * m)))


def cubic_density_score(
    dictionary: LocalDictionary, law: CodeLaw, noise: float, generator: Array, rows: Array, *, scale: float
) -> tuple[Array, Array]:
    r"""Leading coefficient of the orientation derivative of the density (eq:cubic-density-score), and f_0.

    On the balanced submodel :math:`\partial_t f_{s,R e^{t\Omega}} = s^3 g_{R,\Omega} + O(s^4)`.  Write
    :math:`\dot B = \lambda_\star^3 R^{\otimes3}(\Omega\cdot T_q)`, which is traceless.  A covariance derivative of a
    Gaussian density is half a second derivative in y, so summing the cubic terms of every stratum (h coherent atoms
    active, separated atom on or off, common variance lambda) over its subsets leaves

    .. math::
        g = \sum_{\text{strata}} w\,\{\tfrac{\lambda^2}{2}(\pi_1-\pi_2)\,\partial_u
            + \tfrac{\lambda^3}{6}(\pi_1-3\pi_2+2\pi_3)\,\partial_u^3\}\,
            \dot B[\partial,\partial,\partial]\,\gamma_{C_0}, \qquad \pi_m = (h)_m/(q)_m.

    Only the first term reaches the fourth moments, with total weight
    :math:`E\lambda^2(\pi_1-\pi_2) = \Delta_{\mathcal L}`; so g vanishes only with Omega.  The density itself also
    carries the sixth-order term: g is not just a multiple of :math:`p(1-p)`.

    rows: (n, q), points y.  Returns g and f_0 there, each (n,).
    """
    block = dictionary.block
    frame = block.frame
    q = dictionary.q
    if np.abs(block.center).max() > 1e-12 * scale:
        raise MisuseError("dictionary", "be centred and balanced", f"centre {block.center}")
    cubic = cubic_velocity(block.shape @ generator @ frame.template, block.coordinates) / scale**3
    weights = law.subset_weights(q + 1)
    variances = law.active_variances(q + 1)
    included = inclusion_probabilities(q, 3)
    score = np.zeros(len(rows))
    collapsed = np.zeros(len(rows))
    for h in range(q + 1):
        one, two, three = included[:, h]
        for on in (0, 1):
            weight = comb(q, h) * weights[h + on]
            variance = variances[h + on]
            if weight == 0.0:
                continue
            atoms = h * np.outer(frame.axis, frame.axis) + on * np.outer(dictionary.separated, dictionary.separated)
            first, third, density = _hermite_terms(rows, noise * np.eye(q) + variance * atoms, frame, cubic)
            rate = variance**2 / 2.0 * (one - two) * first + variance**3 / 6.0 * (one - 3.0 * two + 2.0 * three) * third
            score += weight * density * rate
            collapsed += weight * density
    return score, collapsed


def _hermite_terms(y: Array, covariance: Array, frame: Frame, cubic: Array) -> tuple[Array, Array, Array]:
    r""":math:`\partial_u\dot B\partial^3\gamma/\gamma`, :math:`\partial_u^3\dot B\partial^3\gamma/\gamma` and gamma.

    From :math:`\gamma(y + au + z)/\gamma(y) =
    \exp(-a\alpha - z^\top\xi - \tfrac{a^2}2\kappa - a z^\top\tau - \tfrac12 z^\top Mz)`: the cubic derivative in z at 0
    is :math:`c(a) = -\dot B[\eta^3] + 3\dot B[\eta, M]` with :math:`\eta = \xi + a\tau`, a polynomial in a.
    """
    inverse = np.linalg.inv(covariance)
    x = y @ inverse  # (n, q)
    alpha = x @ frame.axis  # (n,)
    xi = x @ frame.basis  # (n, q - 1)
    kappa = frame.axis @ inverse @ frame.axis
    tau = frame.basis.T @ inverse @ frame.axis
    traced = np.einsum("abc,bc->a", cubic, frame.basis.T @ inverse @ frame.basis)
    once = np.einsum("abc,na->nbc", cubic, xi)
    c0 = -np.einsum("nbc,nb,nc->n", once, xi, xi) + 3.0 * xi @ traced
    c1 = -3.0 * np.einsum("nbc,nb,c->n", once, xi, tau) + 3.0 * tau @ traced
    c2 = -3.0 * np.einsum("nbc,b,c->n", once, tau, tau)
    c3 = -np.einsum("abc,a,b,c->", cubic, tau, tau, tau)
    first = -alpha * c0 + c1
    third = (3.0 * alpha * kappa - alpha**3) * c0 + 3.0 * (alpha**2 - kappa) * c1 - 6.0 * alpha * c2 + 6.0 * c3
    log_density = -0.5 * (np.einsum("ni,ni->n", x, y) + np.linalg.slogdet(2.0 * np.pi * covariance)[1])
    return first, third, np.exp(log_density)


def cubic_velocity(moved: Array, still: Array) -> Array:
    r"""Derivative of :math:`\sum_j z_j^{\otimes3}` for velocities `moved` at points `still`, both (d, m); (d, d, d)."""
    first = np.einsum("aj,bj,cj->abc", moved, still, still)
    return np.asarray(first + first.transpose(1, 0, 2) + first.transpose(1, 2, 0))


def invariant_differentials(block: Block, symmetric: Array, skew: Array) -> tuple[Array, Array]:
    r"""Derivatives of :math:`G_2 = LL^\top` and :math:`G_3 = L^{\otimes3}T_q` along (S, Omega).

    :math:`DG_2 = sR(SG + GS)R^\top` (eq:sm-tech-s10-6): a turn leaves the second-order shape alone.
    :math:`DG_3 = \mathcal S_{R,G,s}[S] + L^{\otimes3}(\Omega\cdot T_q)` (eq:sm-tech-s10-8).
    symmetric, skew: (q - 1, q - 1).  Returns (q - 1, q - 1) and (q - 1, q - 1, q - 1).
    """
    velocity = polar(block.shape)[0] @ symmetric + block.shape @ skew
    second = velocity @ block.shape.T
    template = block.frame.template
    return second + second.T, cubic_velocity(velocity @ template, block.shape @ template)


def collapsed_operator(frame: Frame, reference: Array | None = None) -> Array:
    r"""Derivative :math:`\mathscr A_q` of the moment map at the collapsed block (eq:sm-tech-s8-5).

    With :math:`X = tu + x` and :math:`h_0 = (a_0^\top X)^2`, up to terms of total degree four in the coordinates,

    .. math::
        \Sigma_2[X,X] &:\ 2t\dot B_1[x] + \dot B_2[x,x] - t^2\operatorname{tr}\dot B_2 - t\dot B_3[x,I]
            + H(\dot w)[X,X],\\
        \Sigma_4[X^4] &:\ 4t^3\dot B_1[x] + 6t^2\dot B_2[x,x] - 2t^4\operatorname{tr}\dot B_2
            + 4t\dot B_3[x,x,x] - 6t^3\dot B_3[x,I] + 2h_0H(\dot w)[X,X].

    Columns of the matrix: B_1, B_2, B_3 (symmetric tensors across the axis), w (across the reference), nu.  Rows: nu,
    the quadratic form, the quartic form.  All in isometric coordinates, so singular values are those of the map
    between Frobenius norms; the smallest is :math:`\sigma_q` (eq:sm-tech-s8-10).

    The B are free symmetric tensors; the trace of B_2 is free too.  reference: a_0, by default the one of
    eq:balanced-hard-core.  The map is injective at that reference (lem:supp-collapsed-operator). At other angles this
    is known numerically only: the smallest singular value is positive wherever it was computed, and vanishes as a_0
    turns parallel or orthogonal to the axis, where the map is not injective. In the orthogonal case its kernel holds
    :math:`(\dot B_1, \dot B_3, \dot w) = (\tfrac34 a_0, \tfrac12 a_0^{\otimes3}, -\tfrac12 u)`.
    """
    unit = default_separated_atom(frame) if reference is None else reference
    local = np.column_stack([frame.basis, frame.axis]).T  # coordinates (x, t)
    a = local @ unit  # (q,)
    moved = (
        (2.0 * np.outer(a, w), 4.0 * np.multiply.outer(np.outer(a, a), np.outer(a, w)))
        for w in (local @ offset_basis(unit)).T
    )
    forms = (*_block_columns(frame.q - 1), *moved)
    columns = np.column_stack([np.concatenate([tensor_coordinates(form) for form in pair]) for pair in forms])
    matrix = np.zeros((columns.shape[0] + 1, columns.shape[1] + 1))
    matrix[1:, :-1] = columns
    matrix[0, -1] = 1.0
    return matrix


def _block_columns(across: int) -> Iterator[tuple[Array, Array]]:
    """Tensors, not yet symmetrised, of the quadratic and the quartic form for every basis element of B_1, B_2, B_3."""

    def placed(tensor: Array, times: int) -> Array:
        """The tensor, extended by zeros to the axis, times the axis in further slots."""
        larger = np.zeros((across + 1,) * (tensor.ndim + times))
        larger[(slice(0, across),) * tensor.ndim + (across,) * times] = tensor
        return larger

    for element in symmetric_basis(across, 1):
        yield placed(2.0 * element, 1), placed(4.0 * element, 3)
    for element in symmetric_basis(across, 2):
        trace = np.array(np.trace(element))
        yield placed(element, 0) + placed(-trace, 2), placed(6.0 * element, 2) + placed(-2.0 * trace, 4)
    for element in symmetric_basis(across, 3):
        traced = np.einsum("ijj->i", element)
        yield placed(-traced, 1), placed(4.0 * element, 1) + placed(-6.0 * traced, 3)


def collapsed_inputs(reference: Array, dictionary: LocalDictionary, noise: float) -> Array:
    r""":math:`\Xi = (B_1, B_2, B_3, w, \nu)` of a dictionary, in the coordinates of the columns of the operator."""
    tensors = [tensor_coordinates(part) for part in power_sums(dictionary.block.coordinates)]
    offset = offset_basis(reference).T @ separated_offset(reference, dictionary.separated)
    return np.concatenate([*tensors, offset, [noise]])


def moment_map(frame: Frame, dictionary: LocalDictionary, noise: float) -> Array:
    r"""The exact moments :math:`\mathcal R = (\nu, \Sigma_2, \Sigma_4)`, in the coordinates of the operator's rows."""
    turned = np.column_stack([frame.basis, frame.axis]).T @ dictionary.atoms  # (q, q + 1)
    return np.concatenate([[noise], matrix_coordinates(turned @ turned.T), power_coordinates(turned.T, 4).sum(axis=0)])


def collapsed_remainder(
    frame: Frame, first: tuple[LocalDictionary, float], second: tuple[LocalDictionary, float]
) -> Array:
    r""":math:`\mathrm{Rem} = \Delta\mathcal R - \mathscr A_q\Delta\Xi` (eq:sm-tech-s8-12), at the default reference.

    Smaller than :math:`\Delta\Xi` by a factor of order s (eq:sm-tech-s8-13).  first, second: (dictionary, noise).
    """
    reference = default_separated_atom(frame)
    change = collapsed_inputs(reference, *first) - collapsed_inputs(reference, *second)
    return np.asarray(moment_map(frame, *first) - moment_map(frame, *second) - collapsed_operator(frame) @ change)
