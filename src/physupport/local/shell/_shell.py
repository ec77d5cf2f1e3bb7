"""A coherent block in its frame, and the shell of blocks at coherence scale s."""

from dataclasses import dataclass
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space

from ..._checks import Interval, check_array, check_count, check_instance, check_positive, check_unit_columns
from ..._errors import Clause, MisuseError
from ..._typing import Array


@final
@dataclass(frozen=True, slots=True)
class Condition:
    """One inequality ``value <= bound`` and by how much it is met (positive slack) or missed (negative slack)."""

    name: str
    value: float
    bound: float

    @property
    def slack(self) -> float:
        """Bound minus value."""
        return self.bound - self.value

    @property
    def holds(self) -> bool:
        """True if the inequality is met; equality counts, the shell is closed."""
        return self.value <= self.bound


@final
@dataclass(frozen=True, slots=True)
class Membership:
    """The inequalities of a set, each with the value that a parameter has there."""

    conditions: tuple[Condition, ...]

    @property
    def inside(self) -> bool:
        """True if every inequality is met."""
        return all(condition.holds for condition in self.conditions)

    @property
    def violated(self) -> tuple[str, ...]:
        """Names of the inequalities that are missed."""
        return tuple(condition.name for condition in self.conditions if not condition.holds)


# Products of unit vectors in float64 stay far within this; what is typed with nine digits does not fail either.
TYPED_DIGITS = 1e-8


def regular_simplex(q: int) -> Array:
    r"""Vertices of a centred regular simplex with unit circumradius (eq:simplex-reference).

    :math:`\sum_j v_j = 0,\quad v_i^\top v_j = -\tfrac1{q-1}\ (i \ne j),\quad
    \sum_j v_j v_j^\top = \tfrac{q}{q-1} I`.

    Returns (q - 1, q), one vertex a column.

    >>> V = regular_simplex(3)
    >>> bool(abs(V.sum(axis=1)).max() < 1e-15)
    True
    """
    q = check_count("q", q, 3)
    vertices = np.zeros((q - 1, q))
    # Column j + 1 onwards share row j; each row is what is left of a unit vector at equal angles to the earlier ones.
    for j in range(q - 1):
        left = q - j
        height = np.sqrt((left - 1) * q / (left * (q - 1)))
        vertices[j, j] = height
        vertices[j, j + 1 :] = -height / (left - 1)
    return vertices


def off_orthogonal(matrices: Array) -> Array:
    r"""Largest entry of :math:`RR^\top - I` in size for each of square matrices (..., d, d)."""
    products = matrices @ np.swapaxes(matrices, -1, -2)
    return np.asarray(np.abs(products - np.eye(matrices.shape[-1])).max(axis=(-1, -2)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    r"""The axis u, an orthonormal basis of :math:`U = u^\perp`, and a simplex template in that basis.

    Coordinates z across the axis are always given in the basis, so they have q - 1 entries.
    """

    axis: Array  # (q,)
    basis: Array  # (q, q - 1)
    template: Array  # (q - 1, q), columns v_j

    def __post_init__(self) -> None:
        q = check_count("q", len(self.axis), 3)
        check_array("axis", self.axis, (q,))
        check_array("basis", self.basis, (q, q - 1))
        error = float(off_orthogonal(np.column_stack([self.basis, self.axis]).T))
        if error > TYPED_DIGITS:
            raise MisuseError(
                "basis and axis", "be orthonormal", Clause(f"their products are off by up to {error:.3g}")
            )
        template = check_array("template", self.template, (q - 1, q))
        gram = template.T @ template
        if np.abs(gram - (q * np.eye(q) - 1.0) / (q - 1)).max() > TYPED_DIGITS:
            raise MisuseError("template", "be a centred regular simplex of unit vectors", f"Gram matrix\n{gram}")

    @classmethod
    def standard(cls, q: int, template: ArrayLike | None = None) -> Self:
        """Last coordinate axis as u, the others as the basis; the template is the regular simplex unless given."""
        q = check_count("q", q, 3)
        vertices = regular_simplex(q) if template is None else check_array("template", template, (q - 1, q))
        return cls(np.eye(q)[:, -1], np.eye(q)[:, :-1], vertices)

    @classmethod
    def around(cls, atoms: ArrayLike) -> Self:
        """The frame of a given block: its axis is the normalised sum of the atoms, their signs made to agree.

        atoms: (q, q) unit columns, none orthogonal to their principal direction.  The basis is the
        standard one, turned in the plane of the last coordinate axis and the axis of the block.
        """
        atoms = check_unit_columns("atoms", atoms)
        q = check_count("q", len(atoms), 3)
        check_array("atoms", atoms, (q, q))
        principal = np.linalg.svd(atoms)[0][:, 0]
        along = principal @ atoms  # (q,)
        if np.abs(along).min() < TYPED_DIGITS:
            rule = "lie on one side of a common axis up to sign"
            raise MisuseError("atoms", rule, Clause(f"column {int(np.abs(along).argmin())} is orthogonal to it"))
        total = atoms @ np.sign(along)
        # The side of the last coordinate, so that the answer does not depend on the sign of a singular vector.
        axis = total * (np.copysign(1.0, total[-1]) / np.linalg.norm(total))
        last = np.eye(q)[:, -1]
        basis = np.eye(q)[:, :-1] - np.outer(last + axis, axis[:-1]) / (1.0 + axis[-1])
        return cls(axis, basis, regular_simplex(q))

    @property
    def q(self) -> int:
        """Ambient dimension, which is also the number of atoms of a block."""
        return len(self.axis)

    def atoms(self, z: ArrayLike) -> Array:
        r"""Atom chart :math:`d(z) = \sqrt{1 - \|z\|^2}\, u + z` (eq:atom-chart), column by column.

        z: (q - 1, m) with columns shorter than 1.  Returns (q, m) unit columns.
        """
        z = check_array("z", z, (self.q - 1, None))
        squared = np.sum(z**2, axis=0)  # (m,)
        if squared.size and squared.max() >= 1.0:
            worst = int(squared.argmax())
            raise MisuseError("z", "have columns shorter than 1", f"norm {squared[worst] ** 0.5:.6g} in column {worst}")
        return np.outer(self.axis, np.sqrt(1.0 - squared)) + self.basis @ z

    def coordinates(self, atoms: ArrayLike) -> Array:
        """Inverse of the atom chart: the part of each atom across the axis.

        atoms: (q, m) unit columns on the positive side of the axis.  Returns (q - 1, m).
        """
        atoms = check_unit_columns("atoms", atoms, self.q)
        along = self.axis @ atoms  # (m,)
        if along.size and along.min() <= 0.0:
            worst = int(along.argmin())
            rule = "lie on the positive side of the axis"
            raise MisuseError("atoms", rule, f"component {along[worst]:.6g} in column {worst}", "Flip its sign first.")
        return self.basis.T @ atoms


@final
@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A coherent block: z_j = b + L v_j and d_j = d(z_j) for j = 1..q (eq:affine-simplex)."""

    frame: Frame
    center: Array  # (q - 1,), b
    shape: Array  # (q - 1, q - 1), L

    def __post_init__(self) -> None:
        across = self.frame.q - 1
        check_array("center", self.center, (across,))
        check_array("shape", self.shape, (across, across))
        self.frame.atoms(self.coordinates)

    @classmethod
    def balanced(cls, frame: Frame, radius: float, rotation: ArrayLike | None = None) -> Self:
        r"""Centred block with :math:`L = \lambda_\star s R` (eq:balanced-hard-core).

        radius: :math:`\lambda_\star s`.  rotation: R, (q - 1, q - 1) orthogonal; the identity unless given.
        """
        across = frame.q - 1
        turn = check_array("rotation", np.eye(across) if rotation is None else rotation, (across, across))
        error = float(off_orthogonal(turn))
        if error > TYPED_DIGITS:
            raise MisuseError("rotation", "be orthogonal", Clause(f"R R^T is off the identity by {error:.3g}"))
        return cls(frame, np.zeros(across), radius * turn)

    @classmethod
    def from_coordinates(cls, frame: Frame, coordinates: ArrayLike) -> Self:
        r"""The only (b, L) with the given z_j: :math:`b = \tfrac1q\sum_j z_j,\ L = \tfrac{q-1}{q}\sum_j z_j v_j^\top`.

        coordinates: (q - 1, q).  Exact for every input, because q points across q - 1 dimensions have as many
        entries as (b, L); L is invertible when the points are affinely independent.
        """
        q = frame.q
        z = check_array("coordinates", coordinates, (q - 1, q))
        return cls(frame, z.mean(axis=1), (q - 1) / q * z @ frame.template.T)

    @classmethod
    def from_atoms(cls, frame: Frame, atoms: ArrayLike) -> Self:
        """The block with exactly these unit atoms; atom signs must already point along the axis."""
        return cls.from_coordinates(frame, frame.coordinates(atoms))

    @classmethod
    def from_columns(cls, frame: Frame, columns: ArrayLike) -> Self:
        """The block nearest to estimated columns: each is scaled to norm one and turned to the side of the axis.

        columns: (q, q), of any norm but 0, since estimates seldom have norm one; `from_atoms` insists on it.
        """
        columns = check_array("columns", columns, (frame.q, frame.q))
        along = frame.axis @ columns
        if not along.all():
            raise MisuseError(
                "columns", "not be orthogonal to the axis", Clause(f"column {int(np.abs(along).argmin())} is")
            )
        return cls.from_atoms(frame, columns * (np.sign(along) / np.linalg.norm(columns, axis=0)))

    @property
    def coordinates(self) -> Array:
        """z_j as columns, (q - 1, q)."""
        return self.center[:, None] + self.shape @ self.frame.template

    @property
    def atoms(self) -> Array:
        """d_j as columns, (q, q)."""
        return self.frame.atoms(self.coordinates)


@final
@dataclass(frozen=True, slots=True, eq=False)
class LocalDictionary:
    """D = (d_1, ..., d_q, a): the coherent atoms of a block, then the separated atom."""

    block: Block
    separated: Array  # (q,), a

    def __post_init__(self) -> None:
        check_unit_columns("separated", np.reshape(self.separated, (-1, 1)), self.block.frame.q)

    @property
    def q(self) -> int:
        """Ambient dimension and number of coherent atoms."""
        return self.block.frame.q

    @property
    def atoms(self) -> Array:
        """All atoms as columns, (q, q + 1), the separated one last."""
        return np.column_stack([self.block.atoms, self.separated])


def default_separated_atom(frame: Frame) -> Array:
    r"""The atom :math:`a_0 = (u + e_1)/\sqrt2`, e_1 the first basis vector across the axis (eq:balanced-hard-core)."""
    between: Array = (frame.axis + frame.basis[:, 0]) / np.sqrt(2.0)
    return between


def balanced_dictionary(frame: Frame, radius: float, rotation: ArrayLike | None = None) -> LocalDictionary:
    r"""The balanced submodel (eq:balanced-hard-core): a centred block, and the separated atom at its reference.

    radius: :math:`\lambda_\star s`.  rotation: R, the identity unless given.
    """
    return LocalDictionary(Block.balanced(frame, radius, rotation), default_separated_atom(frame))


def separated_atom(reference: Array, offset: Array) -> Array:
    r"""Separated-atom chart :math:`a(w) = (a_0 + w)/\|a_0 + w\|`, with the offset w orthogonal to the reference a_0."""
    moved: Array = reference + offset
    return moved / np.linalg.norm(moved)


def separated_offset(reference: Array, atom: Array) -> Array:
    r"""Inverse of the separated-atom chart: :math:`w = a/(a_0^\top a) - a_0`, for either sign of the atom."""
    return atom / (reference @ atom) - reference


def offset_basis(reference: ArrayLike) -> Array:
    """Orthonormal basis (q, q - 1) across a unit vector: the directions of offsets."""
    unit = check_unit_columns("reference", np.reshape(reference, (-1, 1)))
    return np.asarray(null_space(unit.T))


@final
@dataclass(frozen=True, slots=True)
class Amplitudes:
    """Allowed deployment coefficients: of every active coherent atom, and of the separated atom."""

    block: Interval  # beta_-, beta_+
    separated: Interval  # gamma_-, gamma_+


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shell:
    r"""Dictionaries with a block of separation scale s and a nearby separated atom (eq:shell, eq:anchor-noise-shell).

    :math:`\max_j\|z_j\| \le C_0 s,\quad \kappa_- s \le \sigma_{\min}(L) \le \sigma_{\max}(L) \le \kappa_+ s,\quad
    \|P_a - P_{a_0}\|_F \le C_a s,\quad \nu_- \le \nu \le \nu_+`.

    Projectors do not see the sign of the separated atom, but the mean :math:`\gamma a` with positive amplitude does, so
    the sign is fixed as that of the coherent atoms is: :math:`a_0^\top a \ge 0`.
    """

    frame: Frame
    scale: float  # s
    cap: float  # C_0
    stretch: Interval  # kappa_-, kappa_+
    reference: Array  # (q,), a_0
    separated_radius: float  # C_a
    noise: Interval  # nu_-, nu_+

    def __post_init__(self) -> None:
        check_instance("frame", self.frame, Frame)
        check_instance("stretch", self.stretch, Interval)
        check_instance("noise", self.noise, Interval)
        check_positive("scale", self.scale)
        check_positive("cap", self.cap)
        check_positive("separated_radius", self.separated_radius)
        check_unit_columns("reference", np.reshape(self.reference, (-1, 1)), self.frame.q)
        if self.cap * self.scale >= 1.0:
            raise MisuseError("scale", f"satisfy cap * scale < 1 with cap = {self.cap:g}", repr(self.scale))
        # sum_j ||z_j||^2 / q = ||b||^2 + ||L||_F^2 / (q - 1), so some atom is at least kappa_- s across the axis.
        if self.cap < self.stretch.lower:
            rule = f"be at least the smallest stretch {self.stretch.lower:g}, or the shell is empty"
            raise MisuseError("cap", rule, repr(self.cap))
        if abs(self.axial_cosine) >= 1.0 - 1e-12:
            raise MisuseError(
                "reference", "be separated from the axis by a positive angle", Clause("it is parallel to it")
            )

    @property
    def q(self) -> int:
        """Ambient dimension and number of coherent atoms."""
        return self.frame.q

    @property
    def axial_cosine(self) -> float:
        """Cosine of the angle between the axis and the separated reference."""
        return float(self.frame.axis @ self.reference)

    @property
    def axial_sine(self) -> float:
        """Sine of that angle, by what the reference leaves of the axis."""
        return float(np.linalg.norm(self.frame.axis - self.axial_cosine * self.reference))

    @property
    def axial_floor(self) -> float:
        r"""Least component of a coherent atom along the axis, :math:`c_u = \sqrt{1 - C_0^2 s^2}`."""
        reach = self.cap * self.scale
        return float(np.sqrt((1.0 - reach) * (1.0 + reach)))

    def membership(self, dictionary: LocalDictionary, noise: float) -> Membership:
        """Every condition of the shell at one dictionary and noise variance."""
        s = self.scale
        block = dictionary.block
        singular = np.linalg.svd(block.shape, compute_uv=False)
        reach = float(np.linalg.norm(block.coordinates, axis=0).max())
        shift = projector_distance(dictionary.separated, self.reference)
        opposite = -float(self.reference @ dictionary.separated)
        return Membership(
            (
                Condition("atoms within C_0 s of the axis", reach, self.cap * s),
                Condition("kappa_- s at most the smallest stretch", self.stretch.lower * s, float(singular[-1])),
                Condition("largest stretch at most kappa_+ s", float(singular[0]), self.stretch.upper * s),
                Condition("separated atom within C_a s of its reference", shift, self.separated_radius * s),
                Condition("separated atom on the side of its reference", opposite, 0.0),
                Condition("nu_- at most the noise variance", self.noise.lower, noise),
                Condition("noise variance at most nu_+", noise, self.noise.upper),
            )
        )

    def sample(self, rng: np.random.Generator) -> LocalDictionary:
        """A dictionary inside the shell: random orientation, stretches, centre and separated atom; not uniform.

        When the shell allows a single stretch only, its conditions on it are met up to rounding.
        """
        across = self.q - 1
        s = self.scale
        left, right = (np.linalg.qr(rng.standard_normal((across, across)))[0] for _ in range(2))
        widest = min(self.stretch.upper, self.cap)
        shape = s * (left * rng.uniform(self.stretch.lower, widest, across)) @ right
        room = self.cap * s - np.linalg.norm(shape @ self.frame.template, axis=0).max()
        center = max(0.0, room) * rng.uniform() * _random_direction(rng, across)
        across_reference = _random_direction(rng, self.q)
        across_reference -= (across_reference @ self.reference) * self.reference
        across_reference /= np.linalg.norm(across_reference)
        # ||P_a - P_a0||_F = sqrt(2) sin(angle).
        sine = min(1.0, self.separated_radius * s / np.sqrt(2.0)) * rng.uniform()
        offset = across_reference * sine / np.sqrt(1.0 - sine**2)
        return LocalDictionary(Block(self.frame, center, shape), separated_atom(self.reference, offset))


def projector_distance(a: Array, b: Array) -> float:
    r"""Distance of the projectors of two unit vectors, :math:`\|aa^\top - bb^\top\|_F = \sqrt2\sin\angle(a,b)`."""
    # The rejection keeps full relative accuracy for close vectors, where 1 - (a.b)^2 has none.
    return float(np.sqrt(2.0) * np.linalg.norm(a - (a @ b) * b))


def _random_direction(rng: np.random.Generator, size: int) -> Array:
    vector = rng.standard_normal(size)
    return vector / np.linalg.norm(vector)
