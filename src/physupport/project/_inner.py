"""Retained pairs that are far apart: a lower bound of the physical diameter over the continuous shell."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import final

import numpy as np
from scipy.linalg import expm, null_space
from scipy.optimize import least_squares, minimize

from .._checks import Interval, check_count
from .._typing import Array
from ..geometry import Block, LocalDictionary, projective_distances, separated_atom, separated_offset
from ..models import BernoulliGaussian
from ..retain import CalibrationClass, CalibrationParameter, Correspondence, Support
from ._targets import PhysicalTarget, physical_target

# The optimiser ends on the boundary of the retained set; this relative slack lets the exact test confirm its answer.
_SAFETY = 1e-7


@final
@dataclass(frozen=True, slots=True, eq=False)
class RetainedPair:
    """Two explanations that passed the membership test, and the distance of their targets."""

    first: tuple[CalibrationParameter, Support]
    second: tuple[CalibrationParameter, Support]
    distance: float


def inner_bracket(
    correspondence: Correspondence, calibration: CalibrationClass, rng: np.random.Generator, starts: int = 4
) -> RetainedPair | None:
    """The farthest pair found by constrained optimisation from many starts, or None when no retained point was found.

    Both explanations of a returned pair pass ``correspondence.membership``, so its distance never exceeds the true
    diameter. Supports are taken up to relabelling: a dictionary ranges over the whole shell, so the first r atoms
    stand for any r atoms.
    """
    starts = check_count("starts", starts)
    kinds: tuple[Support, ...] = (tuple(range(correspondence.support_size)), None)
    across = null_space(calibration.shell.reference[None, :])
    searches = [_Search(correspondence, calibration, kind, across) for kind in kinds]
    found = [(search, start) for search in searches if (start := search.feasible(rng, starts)) is not None]
    pairs = [
        pair
        for (first, at), (second, start) in combinations_with_replacement(found, 2)
        for pair in _pairs(first, at, second, start, rng, starts)
    ]
    return max(pairs, key=lambda pair: pair.distance, default=None)


def _pairs(
    first: "_Search", at: Array, second: "_Search", start: Array, rng: np.random.Generator, starts: int
) -> Iterator[RetainedPair]:
    """Move the second away from the first, then the first away from where the second went."""
    for k in range(starts):
        moved = second.away(start, second.goal(start, rng, k), first.target(at), k)
        back = first.away(at, at, second.target(moved), k)
        distance = first.target(back).distance(second.target(moved))
        yield RetainedPair((first.parameter(back), first.support), (second.parameter(moved), second.support), distance)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """Optimisation over the explanations of one support, in one vector of order one: (p), nu, b/s, L/s, w/s, x.

    The coefficients x are part of the vector, because the profiled residual is not smooth where it vanishes.
    """

    correspondence: Correspondence
    calibration: CalibrationClass
    support: Support
    across_reference: Array  # (q, q - 1), orthonormal

    @property
    def n_active(self) -> int:
        return 1 if self.support is None else len(self.support)

    @property
    def box(self) -> Interval:
        ranges = self.correspondence.amplitudes
        return ranges.separated if self.support is None else ranges.block

    def vector(self, parameter: CalibrationParameter, coefficients: Array) -> Array:
        shell, block = self.calibration.shell, parameter.dictionary.block
        offset = separated_offset(shell.reference, parameter.dictionary.separated)
        scaled = np.concatenate([block.center, block.shape.ravel(), self.across_reference.T @ offset]) / shell.scale
        activity = [parameter.law.p] if isinstance(parameter.law, BernoulliGaussian) else []
        return np.concatenate([activity, [parameter.noise], scaled, coefficients])

    def parameter(self, vector: Array) -> CalibrationParameter:
        """The parameter at a vector. Line searches step outside the class, so every part is kept where it exists."""
        shell, law = self.calibration.shell, self.calibration.activity
        across = shell.q - 1
        if isinstance(law, Interval):
            law, vector = BernoulliGaussian(float(np.clip(vector[0], 1e-6, 0.5 - 1e-6))), vector[1:]
        parts = np.split(vector[1:] * shell.scale, np.cumsum([across, across**2, across]))
        center, shape, offset = parts[0], parts[1].reshape(across, across), parts[2]
        shrink = min(1.0, 0.999 / np.linalg.norm(center[:, None] + shape @ shell.frame.template, axis=0).max())
        block = Block(shell.frame, shrink * center, shrink * shape)
        separated = separated_atom(shell.reference, self.across_reference @ offset)
        return CalibrationParameter(law, LocalDictionary(block, separated), float(max(vector[0], 1e-9)))

    def target(self, vector: Array) -> PhysicalTarget:
        return physical_target(self.parameter(vector).dictionary, self.support)

    def constraints(self, vector: Array) -> tuple[Array, Array]:
        """Relative slack of every inequality but the ball's, and the deployment residual in units of its radius."""
        parameter, x, ball = self.parameter(vector), vector[-self.n_active :], self.correspondence.ball
        conditions = self.correspondence.region.membership(parameter).conditions
        calibrated = [c.slack / max(abs(c.bound), abs(c.value), 1e-12) for c in conditions]
        missed = ball.center - physical_target(parameter.dictionary, self.support).atoms @ x
        return np.array([*calibrated, *(x / self.box.lower - 1.0), *(1.0 - x / self.box.upper)]), missed / ball.radius

    def slacks(self, vector: Array) -> Array:
        """Slack of every inequality in (parameter, x); positive is inside."""
        slacks, missed = self.constraints(vector)
        return np.append(slacks, 1.0 - missed @ missed)

    def is_retained(self, vector: Array) -> bool:
        return self.correspondence.membership(self.parameter(vector), self.support).inside

    def random(self, rng: np.random.Generator) -> Array:
        shell, law = self.calibration.shell, self.calibration.activity
        drawn = BernoulliGaussian(rng.uniform(law.lower, law.upper)) if isinstance(law, Interval) else law
        noise = rng.uniform(shell.noise.lower, shell.noise.upper)
        x = rng.uniform(self.box.lower, self.box.upper, self.n_active)
        return self.vector(CalibrationParameter(drawn, shell.sample(rng), noise), x)

    def feasible(self, rng: np.random.Generator, starts: int) -> Array | None:
        """A retained point from random members of the class."""
        found = (self.restored(self.random(rng), 1e-2) for _ in range(starts))
        return next((vector for vector in found if self.is_retained(vector)), None)

    def restored(self, vector: Array, slack: float) -> Array:
        """A nearby vector with every inequality met by the given slack and the mean at the centre of the ball."""

        def violation(v: Array) -> Array:
            slacks, missed = self.constraints(v)
            return np.concatenate([np.minimum(slacks - slack, 0.0), missed])

        if self.slacks(vector).min() >= slack:
            return vector
        return np.asarray(least_squares(violation, vector, max_nfev=25, ftol=1e-6, xtol=1e-9).x)

    def goal(self, start: Array, rng: np.random.Generator, k: int) -> Array:
        """Where a search sets out from: alternately the block turned, and a random member of the class."""
        if k % 2:
            return self.random(rng)
        parameter, across = self.parameter(start), self.calibration.shell.q - 1
        turn = rng.standard_normal((across, across))
        block, separated = parameter.dictionary.block, parameter.dictionary.separated
        turned = Block(block.frame, block.center, block.shape @ expm(0.3 * (turn - turn.T)))
        moved = CalibrationParameter(parameter.law, LocalDictionary(turned, separated), parameter.noise)
        return self.vector(moved, start[-self.n_active :])

    def away(self, retained: Array, goal: Array, target: PhysicalTarget, label: int) -> Array:
        """Maximise the distance of one atom from a target, within the retained set.

        Returns a retained vector in every case: the one it was given, when nothing better passes the exact test.
        """
        fixed = target.atoms[:, [label % target.atoms.shape[1]]]

        def closeness(vector: Array) -> float:
            atoms = self.target(vector).atoms
            distance = projective_distances(fixed, atoms[:, [label % atoms.shape[1]]])[0, 0]
            return -float(distance) / self.calibration.shell.scale

        inside = {"type": "ineq", "fun": lambda v: self.slacks(v) - 2.0 * _SAFETY}
        options = {"maxiter": 50, "ftol": 1e-5}
        start = self.restored(goal, 1e-3)
        found = self.restored(
            minimize(closeness, start, method="SLSQP", constraints=[inside], options=options).x, _SAFETY
        )
        candidates = [vector for vector in (found, start) if self.is_retained(vector)]
        return max([retained, *candidates], key=lambda v: self.target(v).distance(target))
