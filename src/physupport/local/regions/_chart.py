"""Explanations of one kind as vectors of order one; the inequalities of the shell and the ball as smooth functions.

For searching only: what a search finds is judged by the correspondence itself.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from ..._checks import Interval
from ..._typing import Array
from ..shell import Block, LocalDictionary, Shell, separated_atom, separated_offset
from ..shell._block import offset_basis
from ._calibration import CalibrationClass, CalibrationParameter
from ._correspondence import Correspondence, Support


@final
@dataclass(frozen=True, eq=False)
class Chart:
    r"""Coordinates (p), nu, z, w, x of an explanation in units that make them of order one; p only where it is unknown.

    The coefficients x are coordinates and not profiled, because the profiled residual is not smooth where it vanishes.
    Block supports are taken up to relabelling: dictionaries range over the whole shell, so the first r atoms stand for
    any r atoms.
    """

    correspondence: Correspondence
    is_block: bool

    @property
    def calibration(self) -> CalibrationClass:
        """The class that the region refines."""
        return self.correspondence.region.calibration_class

    @property
    def shell(self) -> Shell:
        """The shell of the class."""
        return self.calibration.shell

    @property
    def support(self) -> Support:
        """The first r atoms, or the separated alternative."""
        return tuple(range(self.n_active)) if self.is_block else None

    @property
    def n_active(self) -> int:
        """Number of active atoms, r or 1."""
        return self.correspondence.support_size if self.is_block else 1

    @cached_property
    def across(self) -> Array:
        """Orthonormal basis (q, q - 1) across the separated reference."""
        return offset_basis(self.shell.reference)

    @cached_property
    def offset_bound(self) -> float:
        r"""Largest :math:`\|w\|`: the tangent of the largest angle to the reference, of sine C_a s / sqrt(2)."""
        sine = min(0.999, self.shell.separated_radius * self.shell.scale / np.sqrt(2.0))
        return float(sine / np.sqrt(1.0 - sine**2))

    @property
    def box(self) -> Interval:
        """Range of the coefficients."""
        ranges = self.correspondence.amplitudes
        return ranges.block if self.is_block else ranges.separated

    @cached_property
    def bounds(self) -> Array:
        """Least and largest value of every coordinate, (2, d)."""
        lower, upper = self._ranges[:, 1:].T / self.units
        # A range may be a single value, which optimisers refuse; `parameter` returns to it.
        return np.array([lower - 1e-9, upper + 1e-9])

    @cached_property
    def units(self) -> Array:
        """Size of every coordinate, (d,)."""
        return np.asarray(self._ranges[:, 0])

    @cached_property
    def _ranges(self) -> Array:
        """Size, least and largest value of every coordinate, (d, 3), in its own unit."""
        shell, q = self.shell, self.shell.q
        reach, offset = shell.cap * shell.scale, self.offset_bound
        ranges = [
            *((part.upper, part.lower, part.upper) for part in (*self.calibration.unknown, shell.noise)),
            *[(shell.scale, -reach, reach)] * (q * (q - 1)),
            *[(offset, -offset, offset)] * (q - 1),
            *[(self.box.upper, self.box.lower, self.box.upper)] * self.n_active,
        ]
        return np.array(ranges)

    @cached_property
    def class_conditions(self) -> frozenset[str]:
        """Names of the inequalities of the class; those of a region beyond them are known by their values only."""
        anywhere = self.parameter(self.bounds.mean(axis=0))
        return frozenset(condition.name for condition in self.calibration.membership(anywhere).conditions)

    def parts(self, vector: Array) -> tuple[float, Array, Array, Array]:
        """Noise, z (q - 1, q), w (q - 1,) and x (r,) of a vector."""
        q, values = self.shell.q, vector * self.units
        start = len(self.calibration.unknown)
        noise, z, w, x = np.split(values[start:], np.cumsum([1, q * (q - 1), q - 1]))
        return float(noise[0]), z.reshape(q - 1, q), w, x

    def vector(self, parameter: CalibrationParameter, coefficients: Array) -> Array:
        """The coordinates of an explanation."""
        offset = self.across.T @ separated_offset(self.shell.reference, parameter.dictionary.separated)
        codes = self.calibration.unknown_values(parameter.law)
        z = parameter.dictionary.block.coordinates.ravel()
        return np.asarray(np.concatenate([codes, [parameter.noise], z, offset, coefficients]) / self.units)

    def parameter(self, vector: Array) -> CalibrationParameter:
        """The calibration parameter at a vector within the bounds."""
        noise, z, w, _ = self.parts(vector)
        allowed = self.calibration.unknown
        noise = min(max(noise, self.shell.noise.lower), self.shell.noise.upper)
        # The corners of the bounds may lie outside the unit ball, where no atom is.
        z = z * np.minimum(1.0, 0.999 / np.maximum(np.linalg.norm(z, axis=0), 1e-300))
        values = (vector * self.units).tolist()
        law = self.calibration.law(
            [min(max(x, part.lower), part.upper) for x, part in zip(values, allowed, strict=False)]
        )
        separated = separated_atom(self.shell.reference, self.across @ w)
        block = Block.from_coordinates(self.shell.frame, z)
        return CalibrationParameter(law, LocalDictionary(block, separated), noise)

    def random(self, rng: np.random.Generator) -> Array:
        """A random member of the class with random coefficients."""
        parameter = self.calibration.sample(rng)
        coefficients = rng.uniform(self.box.lower, self.box.upper, self.n_active)
        return np.asarray(np.clip(self.vector(parameter, coefficients), *self.bounds))

    def active_atoms(self, vector: Array) -> tuple[Array, Array]:
        """Active atoms (r, q) and their derivative (r, q, d)."""
        _, z, w, _ = self.parts(vector)
        frame, q = self.shell.frame, self.shell.q
        slopes = np.zeros((self.n_active, q, len(vector)))
        first = len(vector) - self.n_active - (q - 1)  # of w
        if not self.is_block:
            moved = self.shell.reference + self.across @ w
            length = np.linalg.norm(moved)
            atom = moved / length
            slopes[0, :, first : first + q - 1] = (self.across - np.outer(atom, atom @ self.across)) / length
            return atom[None, :], slopes * self.units
        chosen = z[:, : self.n_active]
        height = np.sqrt(np.maximum(1.0 - np.sum(chosen**2, axis=0), 1e-3))
        for j in range(self.n_active):
            columns = first - q * (q - 1) + j + q * np.arange(q - 1)
            slopes[j][:, columns] = frame.basis - np.outer(frame.axis, chosen[:, j] / height[j])
        return np.outer(height, frame.axis) + chosen.T @ frame.basis.T, slopes * self.units

    def missed(self, vector: Array) -> tuple[Array, Array]:
        """Centre of the ball minus the mean, in radii, (q,), and its derivative (q, d)."""
        atoms, slopes = self.active_atoms(vector)
        x, ball, r = self.parts(vector)[3], self.correspondence.ball, self.n_active
        moved = np.tensordot(x, slopes, 1)
        moved[:, -r:] += atoms.T * self.units[-r:]
        return (ball.center - x @ atoms) / ball.radius, -moved / ball.radius

    def shell_slacks(self, vector: Array) -> tuple[Array, Array]:
        """Relative slacks of the shell (3 q - 1,), with derivatives (3 q - 1, d): reach, stretches, separated atom.

        Every stretch has a slack of either kind: the least and the largest alone have kinks where two stretches meet,
        and optima lie there.
        """
        _, z, w, _ = self.parts(vector)
        shell, q = self.shell, self.shell.q
        slopes, first = np.zeros((3 * q - 1, len(vector))), len(vector) - self.n_active - (q - 1)
        of_z = slopes[:, first - q * (q - 1) : first].reshape(3 * q - 1, q - 1, q)
        reach = (shell.cap * shell.scale) ** 2
        of_z[np.arange(q), :, np.arange(q)] = -2.0 * z.T / reach
        left, stretches, right = np.linalg.svd((q - 1) / q * z @ shell.frame.template.T)
        low, high = shell.stretch.lower * shell.scale, shell.stretch.upper * shell.scale
        # A singular value moves by u' dL v, and dL = (q - 1)/q dz V'.
        moved = np.einsum("ai,ij->iaj", left, (q - 1) / q * right @ shell.frame.template)  # (q - 1, q - 1, q)
        of_z[q : 2 * q - 1], of_z[2 * q - 1 : 3 * q - 2] = moved / low, -moved / high
        slopes[-1, first : first + q - 1] = -2.0 * w / self.offset_bound**2
        spread = 1.0 - np.sum(z**2, axis=0) / reach
        side = [1.0 - w @ w / self.offset_bound**2]
        return np.concatenate([spread, stretches / low - 1.0, 1.0 - stretches / high, side]), slopes * self.units

    def is_retained(self, vector: Array) -> bool:
        """The exact test."""
        return self.correspondence.membership(self.parameter(vector), self.support).inside
