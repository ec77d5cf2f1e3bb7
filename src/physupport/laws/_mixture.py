"""Several opponents at once: a mixture of densities is a density, and hardly weaker than the best of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from .._stored import Refusal, check_form
from .._typing import Array, IntArray
from ..io import RowSource
from ._base import BankKey, Opponent, Scores, Stream

if TYPE_CHECKING:
    from flint import arb

_EPS = float(np.finfo(np.float64).eps)
# Of keys that oppose: how many, and how far below the best.
_MOST_MIXED, _LEAST_MIXED = 16, 6.0
# How the entry of an opponent is read back.
Kinds = Mapping[str, Callable[[object, str], Opponent]]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Opponents with weights that add up to at most 1, all of it fixed on proposal rows."""

    is_of_bank: ClassVar[bool] = True  # bank and proposal rows give it

    parts: tuple[Opponent, ...]
    weights: tuple[float, ...]

    def numerator(self, denominator: Stream, rows: RowSource) -> tuple[Stream, int]:
        """A stream of its own."""
        members = tuple(part.numerator(denominator, rows) for part in self.parts)
        return MixtureStream(members, self.weights, denominator.checkpoints), 0

    def encode(self) -> dict[str, object]:
        """Every part with its weight."""
        pairs = zip(self.weights, self.parts, strict=True)
        return {"mixture": [{"weight": float(weight), "law": part.encode()} for weight, part in pairs]}

    @classmethod
    def decode(cls, node: object, where: str, kinds: Kinds) -> Self:
        """What `encode` wrote under `mixture`; kinds: how parts are read that a law may mix."""
        entries = check_form(node, [{"weight": float, "law": dict}], f"{where}.mixture")
        parts, weights = [], [entry["weight"] for entry in entries]
        for law in (entry["law"] for entry in entries):
            kind = next(iter(law), "")
            if len(law) != 1 or kind not in kinds:
                raise Refusal(f"{where} mixes what is no law")
            parts.append(kinds[kind](law[kind], where))
        if not parts or min(weights) <= 0.0 or sum(weights) > 1.0 + 1e-12:
            raise Refusal(f"{where} is no law")
        return cls(tuple(parts), tuple(weights))

    def agrees(self, other: Opponent) -> bool:
        """Part by part; weights up to the rounding of another machine."""
        if not isinstance(other, Mixture) or len(other.parts) != len(self.parts):
            return False
        are_same = all(ours.agrees(theirs) for ours, theirs in zip(self.parts, other.parts, strict=True))
        return are_same and bool(np.allclose(self.weights, other.weights, rtol=1e-6, atol=1e-9))


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
        total, errors = np.where(is_known, total, 0.0), np.where(is_known, errors, np.inf)
        return Scores(np.tile(total, (len(keys), 1)), np.tile(errors, (len(keys), 1)))

    def enclosure(self, key: int, bits: int) -> "list[arb]":  # noqa: ARG002
        """The same in balls; terms far below the largest are exponents that a ball holds."""
        from flint import arb, ctx

        balls = [stream.enclosure(member, bits) for stream, member in self.members]
        with ctx.workprec(bits):
            weights = [arb(weight) for weight in self.weights]
            return [
                sum((w * (x - column[0]).exp() for w, x in zip(weights, column, strict=True)), arb(0)).log() + column[0]
                for column in zip(*balls, strict=True)
            ]


def kinds_with(*alone: str, **free: Callable[[object, str], Opponent]) -> Kinds:
    """Opponents of a law: these kinds alone, and in a mixture with the free ones."""
    kinds = {**({"key": BankKey.decode} if "key" in alone else {}), **free}
    return {**{name: kinds[name] for name in alone}, "mixture": partial(Mixture.decode, kinds=kinds)}


def likely_mixture(scores: Array, point: Callable[[int], Opponent], free: Opponent) -> Mixture:
    """Fits that these scores (k,) make about as likely, by their likelihood, and with half the weight the free one."""
    order = np.argsort(-scores, kind="stable")[:_MOST_MIXED]
    chosen = order[scores[order] > scores[order[0]] - _LEAST_MIXED]
    shares = np.exp(scores[chosen] - scores[chosen[0]])
    weights = [*(0.5 * shares / shares.sum()).tolist(), 0.5]
    return Mixture((*map(point, chosen.tolist()), free), tuple(weights))
