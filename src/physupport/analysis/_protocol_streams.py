"""How held-out rows of one kind are to be scored, decided before any of them is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_array, check_count, check_open
from .._codec import array_json
from .._errors import MisuseError
from .._frozen import read_only, read_only_of
from .._typing import Array, IntArray
from ..banks import ArrayStates, Bank, Nuisances
from ..io import ArrayRows, as_pairs
from ..judges import check_checkpoints, doubling_checkpoints
from ..laws import (
    BernoulliGaussian,
    CodeLaw,
    ExchangeableGaussian,
    LatentPoint,
    ProfiledMeanStream,
    Stream,
    covariance_stream,
    known_code_stream,
    latent_stream,
    mean_stream,
    profiled_mean_stream,
)
from ..laws import point_stream as mean_point_stream

Kind = Literal["latent", "known codes", "covariance", "mean", "profiled mean"]
KINDS: tuple[Kind, ...] = ("latent", "known codes", "covariance", "mean", "profiled mean")
_CALIBRATION = ("latent", "known codes")


@final
@dataclass(frozen=True, slots=True, eq=False)
class StreamPlan:
    """Rows of one kind: their law, the share that proposes, and the checkpoints of the rest.

    kind: latent and known codes are calibration laws, the others deployment laws; see `physupport.laws`.
    Rows with known codes hold the measurement first and the codes after it.
    noises: one for each nuisance setting of the bank; None takes the bank's nuisance `noise`.
    laws: of latent codes, likewise; None is Bernoulli-Gaussian with the bank's nuisance `p`.
    checkpoints: prefix lengths; None doubles from `first` on.
    propose: proposal rows to a latent law off the bank, as numerator; None takes the best of the bank.
    box: of a profiled mean, the lower and the upper end of every atom's coefficient, (n,) each; complex ends leave
    the phase open.  An explanation is as likely as its best coefficients in there make it; the numerator, which has to
    be a density, is the best explanation of the proposal rows with the coefficients that fit these.
    """

    kind: Kind
    fraction: float
    noises: Sequence[float] | Array | None = None
    laws: Sequence[CodeLaw] | None = None
    is_complex: bool = False
    first: int = 128
    checkpoints: Sequence[int] | IntArray | None = None
    propose: Callable[[Array], LatentPoint] | None = None
    box: tuple[ArrayLike, ArrayLike] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise MisuseError("kind", f"be one of {KINDS}", repr(self.kind))
        check_open("fraction", self.fraction, 0.0, 1.0)
        check_count("first", self.first)
        if self.propose is not None and self.kind != "latent":
            raise MisuseError("propose", "be given for latent codes only", self.kind)
        if (self.box is not None) != (self.kind == "profiled mean"):
            given = "none" if self.box is None else f"one for {self.kind!r}"
            raise MisuseError("box", "be given for a profiled mean, and for nothing else", given)
        self._freeze()

    def _freeze(self) -> None:
        """Copies: a plan must stay what it was when a protocol was frozen."""
        for name in ("noises", "checkpoints"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only_of(getattr(self, name)))
        if self.laws is not None:
            object.__setattr__(self, "laws", tuple(_frozen_law(law) for law in self.laws))
        if self.box is not None:
            lower, upper = self.box
            object.__setattr__(self, "box", (read_only_of(lower), read_only_of(upper)))

    @property
    def is_calibration(self) -> bool:
        """Whether the keys are the bank's calibration keys; else they are its deployment keys."""
        return self.kind in _CALIBRATION

    def law(self, bank: Bank) -> "StreamLaw":
        """What the bank and this plan say together."""
        nuisances = bank.calibration if self.is_calibration else bank.deployment
        noises = self._column(nuisances, "noise") if self.noises is None else np.asarray(self.noises, dtype=np.float64)
        laws: tuple[CodeLaw, ...] = ()
        if self.kind == "latent":
            given = (
                [BernoulliGaussian(float(p)) for p in self._column(nuisances, "p")] if self.laws is None else self.laws
            )
            laws = tuple(given)
        box = None if self.box is None else (np.asarray(self.box[0]), np.asarray(self.box[1]))
        noises = read_only(check_array("noises", noises, (len(nuisances),)))
        return StreamLaw(self.kind, noises, laws, self.is_complex, box)

    def _column(self, nuisances: Nuisances, name: str) -> Array:
        """What a law takes from the bank."""
        if name in nuisances.names:
            return nuisances.column(name)
        part = "calibration" if self.is_calibration else "deployment"
        own, example = ("noises", "noises=[0.5]") if name == "noise" else ("laws", "laws=[BernoulliGaussian(0.2)]")
        remedy = (
            f"Give {own} to the plan, as in StreamPlan({self.kind!r}, 0.5, {example}), or make the bank with "
            f"{part}=product_grid({name}=[{0.5 if name == 'noise' else 0.2}], ...)."
        )
        raise MisuseError(f"{part} plan", f"be given what the bank's nuisances {nuisances.names} lack", name, remedy)

    def stops(self, n_held_out: int) -> IntArray:
        """(c,) checkpoints for this many held-out rows."""
        if self.checkpoints is None:
            return doubling_checkpoints(n_held_out, self.first)
        return check_checkpoints(np.asarray(self.checkpoints), n_held_out)


@final
@dataclass(frozen=True, slots=True, eq=False)
class StreamLaw:
    """A law for every key of a bank in one stream."""

    kind: Kind
    noises: Array
    laws: tuple[CodeLaw, ...]
    is_complex: bool
    box: tuple[NDArray[np.generic], NDArray[np.generic]] | None = None

    def stream(self, bank: Bank, table: NDArray[np.generic], order: IntArray, checkpoints: ArrayLike) -> Stream:
        """The stream of these rows of a table."""
        rows, states = ArrayRows(table, order), bank.states
        if self.box is not None:
            return profiled_mean_stream(rows, bank, self.noises, *self.box, checkpoints, is_complex=self.is_complex)
        match self.kind:
            case "latent":
                return latent_stream(rows, states, self.laws, self.noises, checkpoints)
            case "known codes":
                q = len(states.elements)
                rows, codes = ArrayRows(table[:, :q], order), ArrayRows(table[:, q:], order)
                return known_code_stream(rows, codes, states, self.noises, checkpoints, is_complex=self.is_complex)
            case "covariance":
                return covariance_stream(rows, bank, self.noises, checkpoints, is_complex=self.is_complex)
            case _:
                return mean_stream(rows, bank, self.noises, checkpoints, is_complex=self.is_complex)

    def describe(self) -> dict[str, object]:
        """All that defines it."""
        described: dict[str, object] = {
            "kind": self.kind,
            "noises": self.noises.tolist(),
            "laws": [law_json(law) for law in self.laws],
            "is_complex": self.is_complex,
        }
        return described if self.box is None else described | {"box": _box_json(*self.box)}


def _frozen_law(law: CodeLaw) -> CodeLaw:
    if isinstance(law, ExchangeableGaussian):
        return ExchangeableGaussian(read_only(law.size_probabilities), read_only(law.variances))
    return law


def law_json(law: CodeLaw) -> dict[str, object]:
    """A coefficient law by name and parameters."""
    if isinstance(law, BernoulliGaussian):
        return {"law": "bernoulli gaussian", "p": law.p}
    if isinstance(law, ExchangeableGaussian):
        sizes, variances = law.size_probabilities.tolist(), law.variances.tolist()
        return {"law": "exchangeable gaussian", "size_probabilities": sizes, "variances": variances}
    remedy = "Write it as an ExchangeableGaussian."
    raise MisuseError("laws", "be Bernoulli-Gaussian or exchangeable", type(law).__name__, remedy)


def _box_json(lower: NDArray[np.generic], upper: NDArray[np.generic]) -> dict[str, object]:
    """(2, n, 1) ends of real coefficients, or (2, n, 2) of complex ones as pairs (Re, Im)."""
    both = np.stack([lower, upper])[:, :, None]
    return array_json(as_pairs(both) if both.dtype.kind == "c" else both.astype(np.float64))


@final
@dataclass(frozen=True, slots=True, eq=False)
class MeanPoint:
    """Rows scattered about one mean: a law off the bank, against explanations whose coefficients are profiled."""

    mean: Array  # (q,)
    noise: float  # variance of a real entry


def frozen_point(point: LatentPoint) -> LatentPoint:
    """A proposed law that nothing can change any more."""
    return LatentPoint(read_only(np.asarray(point.atoms, dtype=np.float64)), float(point.p), float(point.noise))


def fitted_point(stream: Stream, key: int) -> MeanPoint | None:
    """The law of a key at the coefficients that fit the stream's rows best; None if it has no coefficients to fit."""
    return MeanPoint(*stream.best_point(key)) if isinstance(stream, ProfiledMeanStream) else None


def numerator_json(key: int, point: LatentPoint | MeanPoint | None) -> dict[str, object]:
    """A numerator: a key of the bank, or a law off it."""
    if point is None:
        return {"key": key}
    if isinstance(point, MeanPoint):
        return {"mean_point": {"mean": array_json(point.mean), "noise": float(point.noise)}}
    return {"point": {"atoms": array_json(point.atoms), "p": float(point.p), "noise": float(point.noise)}}


def point_stream(
    point: LatentPoint | MeanPoint, table: NDArray[np.generic], order: IntArray, checkpoints: ArrayLike
) -> tuple[Stream, int]:
    """The numerator that a law off the bank gives."""
    if isinstance(point, MeanPoint):
        return mean_point_stream(ArrayRows(table, order), point.mean, point.noise, checkpoints), 0
    states = ArrayStates(point.atoms[None])
    laws, noises = [BernoulliGaussian(point.p)], [point.noise]
    return latent_stream(ArrayRows(table, order), states, laws, noises, checkpoints), 0
