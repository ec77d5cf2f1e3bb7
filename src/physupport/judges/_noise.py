"""The exact test of a stated noise, which several judges share: its part of a specification, and its facts."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

import numpy as np

from .._checks import check_number, check_open
from .._errors import MisuseError
from .._typing import IntArray
from ..banks import Bank
from ..laws import Law, agreement
from ._specs import FIXED, JudgeSpec, Sealed

# Share of the level at which a stated noise is refuted; the gate of rotations has the same.
NOISE_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class NoiseTestingSpec(JudgeSpec):
    """The specification of a judge that tests a stated noise beside its verdicts.

    noise: share of the level at which a stated noise is tested (`noise_facts`); unless it is given, a protocol sets it
    where a law states a noise that rows can refute, and leaves it out where none does.
    """

    noise: float | None = field(default=None, metadata=FIXED, kw_only=True)

    def __post_init__(self) -> None:
        if self.noise is not None:
            check_open("noise", check_number("noise", self.noise), 0.0, 1.0)

    @property
    def trusts_noise(self) -> bool:
        """True if the noise is not tested."""
        return self.noise is None

    @property
    def noise_share(self) -> float | None:
        """The share at which the noise is tested."""
        return self.noise

    def completed(self, bank: Bank, laws: Sequence[Law]) -> Self:
        """The judge with the test of the noise, where rows can refute a noise that a law states.

        A covariance that was estimated is refused: likelihoods would take its errors for signals.
        """
        if any(law.covariance_freedom is not None for law in laws):
            rule = "be 'rotation' where the covariance of the noise is estimated from rows"
            remedy = 'Write judge = "rotation", or give a covariance that is known.'
            raise MisuseError("judge", rule, repr(self.kind), remedy)
        is_stated = any(law.noise_test(bank) is not None for law in laws)
        return replace(self, noise=(self.noise or NOISE_SHARE) if is_stated else None)


def noise_facts(
    share: float | None, sealed: Sealed | None, possible: IntArray, error: float | None = None
) -> dict[str, object] | None:
    r"""Test the noise that the explanations left state, in every stream; all that is stated if none is left.

    Labels are withheld if the rows refute the noise of every explanation left.  If the truth is among these, this
    happens with probability at most the share of the level, divided among the tested streams: the p-value of its noise
    setting is uniform, and the largest p-value is no smaller.  A report without labels states nothing false, so the
    test costs no part of the level of the judge.

    error: of the responses, that of the laws unless given.  Beside a response with an error nothing is noise alone.
    """
    if share is None or sealed is None:
        return None
    asked = possible if len(possible) else np.arange(sealed.size)
    findings: list[dict[str, Any]] = []
    for stream in sealed.streams:
        law: Law = stream.law
        if error is not None and law.error_words:
            law = replace(cast("Any", law), error=error or None)
        test = law.noise_test(sealed.bank)
        seen = None if test is None else test(stream.rows)
        if seen is None:
            continue
        settings = np.unique(stream.keys_of(asked) % len(seen.p)).tolist()
        # The setting that the rows refute least.
        best = max((agreement(seen.p[setting], seen.ratio[setting]), -setting) for setting in settings)
        setting = -best[1]
        findings.append({"part": "noise", "place": seen.place, "p": seen.p[setting], "ratio": seen.ratio[setting]})
    level = share * sealed.level / max(len(findings), 1)
    is_refuted = any(finding["p"] <= level for finding in findings)
    return {
        "is_best_rejected": is_refuted,
        "is_withheld": is_refuted and len(possible) > 0,
        "level": level,
        "findings": findings,
    }
