"""The supplied local shell: which dictionaries and noise levels are allowed, and by how much."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import Interval, check_instance, check_positive, check_unit_columns
from ..._errors import MisuseError
from ..._membership import Condition, Membership
from ..._typing import Array
from ._block import Block, Frame, LocalDictionary, separated_atom


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
            raise MisuseError("reference", "be separated from the axis by a positive angle", "a parallel vector")

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

    @property
    def center_radius(self) -> float:
        r"""Largest possible norm of a block's centre, :math:`\|b\| \le s\sqrt{C_0^2 - \kappa_-^2}`.

        Sharper than C_0 s, by :math:`\|b\|^2 + \tfrac{1}{q-1}\|L\|_F^2 = \tfrac1q\sum_j\|z_j\|^2 \le C_0^2 s^2`.
        """
        smallest = self.stretch.lower
        return self.scale * float(np.sqrt((self.cap - smallest) * (self.cap + smallest)))

    @property
    def vertex_separation(self) -> float:
        r"""Least distance of two atoms across the axis, :math:`\kappa_- s\sqrt{2q/(q-1)} \le \|z_i - z_j\|`."""
        return self.stretch.lower * self.scale * float(np.sqrt(2.0 * self.q / (self.q - 1)))

    def membership(self, dictionary: LocalDictionary, noise: float) -> Membership:
        """Every condition of the shell at one dictionary and noise variance."""
        s, block = self.scale, dictionary.block
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
        across, s = self.q - 1, self.scale
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


def projector_distance(a: ArrayLike, b: ArrayLike) -> float:
    r"""Distance of the projectors of two unit vectors, :math:`\|aa^\top - bb^\top\|_F = \sqrt2\sin\angle(a,b)`."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    # The rejection keeps full relative accuracy for close vectors, where 1 - (a.b)^2 has none.
    return float(np.sqrt(2.0) * np.linalg.norm(a - (a @ b) * b))


def _random_direction(rng: np.random.Generator, size: int) -> Array:
    vector = rng.standard_normal(size)
    return vector / np.linalg.norm(vector)


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
