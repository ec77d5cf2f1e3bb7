"""Rows scored under opponents off the bank: one density given by its numbers, or a mixture of several."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from flint import arb, ctx

from ..._typing import Array, IntArray
from ...banks import array_bank, array_states
from ...io import RowSource
from .._autoregressive import filtered
from .._codes import BernoulliGaussian
from .._stream import MappedRows, Scores, Stream
from ._covariance import CovarianceStream, covariance_stream
from ._latent import LatentStream, latent_stream
from ._white_noise import DictionaryResiduals, WhiteNoiseStream, known_code_stream, measured_and_codes, point_stream

_EPS = float(np.finfo(np.float64).eps)


def density_stream(kind: str, numbers: Mapping[str, Any], rows: RowSource, checkpoints: IntArray) -> Stream:
    """The rows scored under one density, the only key; kind and numbers: those of a `Point`."""
    streams = {
        "mean_point": point_stream,
        "correlated_point": _correlated_stream,
        "covariance_point": _covariance_stream,
        "dictionary_point": _dictionary_stream,
        "point": _latent_stream,
    }
    return streams[kind](rows, checkpoints=checkpoints, **numbers)  # type: ignore[operator, no-any-return]


def _covariance_stream(
    rows: RowSource, checkpoints: IntArray, atoms: Array, strengths: Array, noise: float, is_complex: bool
) -> CovarianceStream:
    count = len(strengths)
    columns = atoms if count else np.eye(len(atoms))[:, :1]
    bank = array_bank(columns[None], [tuple(range(count))], strengths=strengths if count else 1.0)
    return covariance_stream(bank, rows, [noise], checkpoints, is_complex=is_complex)


def _correlated_stream(
    rows: RowSource, checkpoints: IntArray, mean: Array, noise: float, correlation: float
) -> "ScaledStream":
    """The innovations of the rows about those of the mean; the first is shorter, by the determinant."""
    innovations = MappedRows(rows, rows.width, lambda block: filtered(block, correlation))
    return ScaledStream(
        point_stream(innovations, filtered(mean[None], correlation)[0], noise, checkpoints), correlation
    )


def _dictionary_stream(
    rows: RowSource, checkpoints: IntArray, atoms: Array, noise: float, is_complex: bool
) -> WhiteNoiseStream[DictionaryResiduals]:
    """The rows with unit atoms, and codes that have the norms instead."""
    q = len(atoms)
    norms = np.linalg.norm(atoms, axis=0)
    unit = np.where(norms > 0.0, atoms / np.where(norms > 0.0, norms, 1.0), np.eye(q)[:, :1])
    factors = np.repeat(norms, 2) if is_complex else norms
    return known_code_stream(
        *measured_and_codes(rows, q, factors), array_states(unit[None]), [noise], checkpoints, is_complex=is_complex
    )


def _latent_stream(rows: RowSource, checkpoints: IntArray, atoms: Array, p: float, noise: float) -> LatentStream:
    return latent_stream(rows, array_states(atoms[None]), [BernoulliGaussian(p)], [noise], checkpoints)


@final
@dataclass(frozen=True, slots=True, eq=False)
class SumStream:
    r"""Independent parts of every row with a law each: key k has :math:`\sum_bx_b` of the k-th key of every part."""

    parts: tuple[Stream, ...]
    checkpoints: IntArray

    @property
    def is_density(self) -> bool:
        """True if all parts are densities."""
        return all(part.is_density for part in self.parts)

    @property
    def n_keys(self) -> int:
        """As many as every part has."""
        return self.parts[0].n_keys

    def log_likelihood(self, keys: IntArray) -> Scores:
        """(k, c) the sum; errors add up, and with them the rounding of every addition."""
        scored = [part.log_likelihood(keys) for part in self.parts]
        values = np.stack([scores.values for scores in scored])
        errors = np.stack([scores.errors for scores in scored])
        rounding = len(scored) * _EPS * (np.abs(values).sum(axis=0) + 1.0)
        return Scores(values.sum(axis=0), (1.0 + len(scored) * _EPS) * errors.sum(axis=0) + rounding)

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """The same in balls."""
        balls = [part.enclosure(key, bits) for part in self.parts]
        with ctx.workprec(bits):
            return [sum(column, arb(0)) for column in zip(*balls, strict=True)]


@final
@dataclass(frozen=True, slots=True, eq=False)
class ScaledStream:
    r"""One key: the density of innovations times :math:`\sqrt{1-\rho^2}` for every row."""

    is_density: ClassVar[bool] = True
    n_keys: ClassVar[int] = 1

    innovations: Stream
    correlation: float

    @property
    def checkpoints(self) -> IntArray:
        """Those of the innovations."""
        return self.innovations.checkpoints

    def log_likelihood(self, keys: IntArray) -> Scores:
        """(k, c), of the only key there is."""
        scores = self.innovations.log_likelihood(keys)
        more = 0.5 * np.log1p(-(self.correlation**2)) * self.checkpoints
        return Scores(scores.values + more, scores.errors + 16.0 * _EPS * (np.abs(more) + np.abs(scores.values)))

    def enclosure(self, key: int, bits: int) -> list[arb]:
        """The same in balls."""
        balls = self.innovations.enclosure(key, bits)
        with ctx.workprec(bits):
            each = (1 - arb(self.correlation) ** 2).log() / 2
            return [ball + count * each for ball, count in zip(balls, self.checkpoints.tolist(), strict=True)]


@final
@dataclass(frozen=True, slots=True, eq=False)
class MixtureStream:
    r"""One key: :math:`\log\sum_iw_ie^{x_i}`, within the largest error of the :math:`x_i`, and rounding."""

    is_density: ClassVar[bool] = True
    n_keys: ClassVar[int] = 1

    members: tuple[tuple[Stream, int], ...]
    weights: tuple[float, ...]
    checkpoints: IntArray

    def log_likelihood(self, keys: IntArray) -> Scores:
        """(k, c), of the only key there is."""
        scored = [stream.log_likelihood(np.array([key])) for stream, key in self.members]
        values = np.stack([scores.values[0] for scores in scored]) + np.log(self.weights)[:, None]  # (n, c)
        largest = values.max(axis=0)
        total = largest + np.log(np.exp(values - largest).sum(axis=0))
        sizes = np.abs(values).max(axis=0) + len(values) + 8.0
        errors: Array = np.stack([scores.errors[0] for scores in scored]).max(axis=0) + 16.0 * _EPS * sizes
        is_known = np.isfinite(total) & np.isfinite(errors)
        total = np.where(is_known, total, 0.0)
        errors = np.where(is_known, errors, np.inf)
        return Scores(np.tile(total, (len(keys), 1)), np.tile(errors, (len(keys), 1)))

    def enclosure(self, key: int, bits: int) -> list[arb]:  # noqa: ARG002
        """The same in balls; terms far below the largest are exponents that a ball holds."""
        balls = [stream.enclosure(member, bits) for stream, member in self.members]
        with ctx.workprec(bits):
            weights = [arb(weight) for weight in self.weights]
            return [
                sum((w * (x - column[0]).exp() for w, x in zip(weights, column, strict=True)), arb(0)).log() + column[0]
                for column in zip(*balls, strict=True)
            ]
