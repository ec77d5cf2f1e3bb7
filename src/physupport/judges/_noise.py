"""A judge of evidence beside a test of the noise that is stated: it rejects nothing, and may keep labels back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from .._checks import check_number, check_open
from .._typing import IntArray
from ..banks import Bank
from ..laws import Law, NoiseSeen, agreement
from ._judge import Judge, Verdicts
from ._specs import Sealed, SealedStream

# Of the level, at which a stated noise is refuted; that of the gate of rotations.
NOISE_SHARE = 0.2
# What is told of it in any case.
NOISE_FACTS = ("is_best_rejected", "level", "findings")


def check_share(share: float | None) -> None:
    """Refuse a share that is none of a level."""
    if share is not None:
        check_open("noise", check_number("noise", share), 0.0, 1.0)


class NoiseTester:
    """How a judge tests a stated noise, at a share of the level: it tells of it, and withholds where it is refuted."""

    __slots__ = ()

    noise: float | None

    @property
    def has_facts(self) -> bool:
        """Of the noise, where it is tested."""
        return self.noise is not None

    @property
    def withholds(self) -> bool:
        """Where the noise is refuted."""
        return self.noise is not None

    def share_for(self, bank: Bank, laws: Sequence[Law]) -> float | None:
        """That which is given or else the usual one, where rows can refute a noise that a law states."""
        return (self.noise or NOISE_SHARE) if any(law.states_noise(bank) for law in laws) else None


def decoded_share(content: Mapping[str, object]) -> float | None:
    """The share that a protocol has; None of one that does not test the noise."""
    return check_number("noise", content["noise"]) if "noise" in content else None


def with_noise_test(judge: Judge, sealed: Sealed, share: float | None) -> Judge:
    """The judge with the test at this share of the level; None leaves it as it is."""
    return judge if share is None else NoiseTested(judge, sealed, share)


@final
@dataclass(frozen=True, slots=True, eq=False)
class NoiseTested:
    r"""Verdicts of a judge, and labels that are withheld where every noise that is left is refuted by the rows.

    That the truth is in the bank and left, and this happens, has probability at most the share of the level, which
    streams that are tested divide: the p-value of its noise setting is uniform, and the largest of those that are left
    is no smaller.  Nothing is said then, so that what is said is false with probability at most the level of the judge,
    as without the test: none of it is spent.
    """

    judge: Judge
    sealed: Sealed
    share: float

    @property
    def size(self) -> int:
        """Of the judge."""
        return self.judge.size

    @property
    def level(self) -> float | None:
        """Of the judge."""
        return self.judge.level

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """Of the judge."""
        return self.judge.verdicts(explanations)

    def ahead(self, e: int, count: int) -> tuple[IntArray, Verdicts]:
        """Of the judge."""
        return self.judge.ahead(e, count)

    def encode(self) -> dict[str, object]:
        """The judge, and the share."""
        return {**self.judge.encode(), "noise": self.share}

    def facts(self, possible: IntArray) -> dict[str, object]:
        """What the rows of every stream say of the noise that is left; of all that is stated if nothing is."""
        looked = [(stream, stream.law.noise_seen(self.sealed.bank, stream.rows)) for stream in self.sealed.streams]
        findings = [self._finding(stream, seen, possible) for stream, seen in looked if seen is not None]
        level = self.share * self.sealed.level / max(len(findings), 1)
        is_refuted = any(finding[0] <= level for finding in findings)
        return {
            "is_best_rejected": is_refuted,
            "is_withheld": is_refuted and len(possible) > 0,
            "level": level,
            "findings": [said for _, said in findings],
        }

    def _finding(self, stream: SealedStream, seen: NoiseSeen, possible: IntArray) -> tuple[float, dict[str, object]]:
        """Of the setting that the rows refute least."""
        index = possible if len(possible) else np.arange(self.size)
        settings = np.unique(stream.keys_of(index) % len(seen.p)).tolist()
        best = max(settings, key=lambda setting: agreement(seen.p[setting], seen.ratio[setting]))
        said: dict[str, object] = {"part": "noise", "place": seen.place, "p": seen.p[best], "ratio": seen.ratio[best]}
        return seen.p[best], said
