r"""Evidence averaged over several splits, of rows of a linear law or of a single row whose noise is known.

Each split gives a part that proposes and an independent one that judges.  Rows are divided at random, or each row z is
fissioned: with g of the noise's own law, z + g and z - g are independent and have twice its covariance.  With q a
density that the first part fixed, :math:`E(e) = q(\text{second}) / \sup_{\theta,\sigma} p_e(\text{second})` has mean at
most 1 under e, and so has the mean over splits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self, final

import numpy as np
from flint import arb, ctx

from .._arrays import check_indices
from .._checks import check_count, check_open
from .._errors import MisuseError
from .._stored import Maybe, check_form
from .._typing import Array, Field, IntArray
from ..banks import Bank
from ..io import ArrayRows, as_pairs
from ..laws import Design, Law, Stream
from ..laws.gaussian._linear_stream import LinearStream
from ._by_evidence import ByEvidence, decoded_evidence, product_verdicts
from ._evidence import Evidence, final_bounds
from ._judge import Judge, Verdicts, around
from ._noise import NOISE_FACTS, NoiseTester, check_share, decoded_share, with_noise_test
from ._scored import Bounds, log_mean, score_bounds, sum_down, sum_up
from ._specs import MOST_SPLITS, JudgeSpec, Sealed, SealedStream, register
from .rotation._draws import Draws

SPLITS = ("rows", "fission")
# The purpose of the draws: no other judge shares these bits.
_PURPOSE = 4
_FORM = {"judge": str, "assumes": str, "split": SPLITS, "n_splits": int, "proposal": float, "noise": Maybe(float)}


@final
@dataclass(frozen=True, slots=True)
class BySplits(NoiseTester):
    """Have rows that are linear in open coefficients judged by evidence, averaged over splits.

    split: `rows`, of which a share proposes, or `fission` where the noise is known, also of a single row.  Splits come
    from the hash of the protocol.  Evidence is that of all judging rows, not its peak along them, as only its final
    value may be averaged; that of other streams at their end is multiplied with it.
    """

    are_e_values: ClassVar[bool] = True
    has_common_numerator: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = NOISE_FACTS

    split: str = "rows"
    n_splits: int = 8
    proposal: float = 0.5
    noise: float | None = None  # as of `ByEvidence`

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise MisuseError("split", f"be {' or '.join(map(repr, SPLITS))}", repr(self.split))
        check_count("splits", self.n_splits, 1, MOST_SPLITS)
        check_open("proposal", self.proposal, 0.0, 1.0)
        check_share(self.noise)

    def completed(self, bank: Bank, laws: Sequence[Law]) -> Self:
        """With the test of the noise where a law states one."""
        return replace(self, noise=self.share_for(bank, laws))

    def encode(self) -> dict[str, object]:
        """All that is fixed beforehand."""
        return {
            "judge": "evidence of splits",
            "assumes": "rows are independent, linear in open coefficients, in white Gaussian noise, after whitening "
            "where a covariance is given, of the level given where they are fissioned",
            "split": self.split,
            "n_splits": self.n_splits,
            "proposal": float(self.proposal),
            **({} if self.noise is None else {"noise": float(self.noise)}),
        }

    @property
    def fissions(self) -> int:
        """How many times a single row is split by noise that is added to it; 0 where rows are divided instead."""
        return self.n_splits if self.split == "fission" else 0

    def splits(self, law: Law) -> bool:
        """Rows of a linear law are split here, not by the protocol."""
        return law.is_counted or not law.is_linear

    def check_rows(self, law: Law, n_rows: int) -> None:
        """A single row cannot be divided."""
        if self.split == "rows":
            ByEvidence().check_rows(law, n_rows)

    def open(self, sealed: Sealed) -> Judge:
        """Reads the rows, and scores all explanations."""
        rule = "average over splits where one stream has rows that are linear in free coefficients"
        parts = sealed.divided(lambda law: not self.splits(law), rule, ", or leave split and splits out")
        return with_noise_test(SplitJudge.of(self, sealed, *parts), sealed, self.noise)


@register("evidence of splits")
def _decoded(content: Mapping[str, object]) -> BySplits:
    spec = check_form(content, _FORM, "judge")
    return BySplits(spec["split"], spec["n_splits"], spec["proposal"], decoded_share(spec))


def by_evidence(split: str | None = None, n_splits: int | None = None, proposal: float | None = None) -> JudgeSpec:
    """Evidence as files name it: along the rows of the protocol's own split, unless another or several are asked for.

    proposal: the share of rows that propose; the protocol has it, too, for a split of its own.
    """
    if split == "fission" and proposal is not None:
        raise MisuseError("proposal", "be left out with split = 'fission'", proposal, "All of a row proposes.")
    if split in (None, "rows") and n_splits in (None, 1):
        return ByEvidence()
    options = {"split": split, "n_splits": n_splits, "proposal": proposal}
    return BySplits(**{name: value for name, value in options.items() if value is not None})  # type: ignore[arg-type]


# Here and not with the judge of one split, as what files call evidence is either.
register("evidence", make=by_evidence)(decoded_evidence)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """The judging part of one split, under every key, and the density that the other part chose."""

    stream: LinearStream
    numerator: tuple[Stream, int]

    @classmethod
    def of(cls, design: Design, parts: tuple[Field, Field]) -> "_Trial":
        is_complex = np.iscomplexobj(design.columns)
        first, second = (ArrayRows(as_pairs(part) if is_complex else part) for part in parts)
        proposing = LinearStream(design, first, np.array([first.n_rows]), is_complex, fits={})
        stream = LinearStream(design, second, np.array([second.n_rows]), is_complex)
        return cls(stream, proposing.opponent(np.arange(proposing.n_keys)).numerator(stream, second))

    def log_evidence(self, keys: IntArray) -> Bounds:
        """(k,) against these keys."""
        proposal, key = self.numerator
        above = score_bounds("the numerator", proposal.log_likelihood(np.array([key])))
        below = score_bounds("the rows", self.stream.log_likelihood(keys))
        return Bounds(sum_down(above.lower, -below.upper)[:, 0], sum_up(above.upper, -below.lower)[:, 0])

    def ball(self, key: int, bits: int) -> arb:
        """Encloses the evidence, not its log."""
        proposal, numerator_key = self.numerator
        return (proposal.enclosure(numerator_key, bits)[0] - self.stream.enclosure(key, bits)[0]).exp()


@final
@dataclass(frozen=True, slots=True, eq=False)
class SplitJudge:
    """The judge of one stream of a linear law, and the evidence of others."""

    size: int
    level: float
    stream: SealedStream
    trials: tuple[tuple[_Trial, ...], ...]  # of each split; of each noise setting where splits depend on it
    log_evidence: Bounds  # (n_keys,) each
    evidence: Evidence | None
    spec: BySplits

    @classmethod
    def of(
        cls, spec: BySplits, sealed: Sealed, stream: SealedStream, design: Design, evidence: Evidence | None
    ) -> "SplitJudge":
        """All keys are scored."""
        spec.check_rows(stream.law, stream.rows.n_rows)
        rows = design.whitened_rows(stream.rows, stream.law.is_complex)
        trials = _trials(spec, design, rows, int(sealed.digest, 16))
        bounds = np.empty((2, len(design.supports) * len(design.deviations)))
        for setting, splits in enumerate(trials):
            keys = np.arange(setting, bounds.shape[1], len(trials))
            scored = [trial.log_evidence(keys) for trial in splits]
            bounds[:, keys] = log_mean(Bounds(*(np.array(side) for side in zip(*scored, strict=True))))
        return cls(sealed.size, sealed.level, stream, trials, Bounds(*bounds), evidence, spec)

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """The margin is the log of the evidence of all streams over 1 / level."""
        chosen = check_indices("explanations", explanations, self.size)
        keys, beside = self.stream.keys_of(chosen), final_bounds(self.evidence, chosen)
        return product_verdicts(self.log_evidence, keys, self.ball, beside, self.level)

    def ball(self, key: int, bits: int) -> arb:
        """Encloses the log of the mean evidence against a key."""
        splits = self.trials[key % len(self.trials)]
        with ctx.workprec(bits):
            return (sum((trial.ball(key, bits) for trial in splits), arb(0)) / len(splits)).log()

    def ahead(self, e: int, count: int) -> tuple[IntArray, Verdicts]:
        """The block around e: all of it is scored."""
        return around(self, e, count)

    def encode(self) -> dict[str, object]:
        """As specified."""
        return self.spec.encode()


def _trials(spec: BySplits, design: Design, rows: Field, seed: int) -> tuple[tuple[_Trial, ...], ...]:
    """Of each noise setting: fission depends on the noise; a division of the rows does not, and serves all."""
    draws = Draws(seed, _PURPOSE)
    if spec.split == "rows":
        count = min(max(int(Fraction(repr(spec.proposal)) * len(rows)), 1), len(rows) - 1)
        orders = np.argsort(draws.uniform((spec.n_splits, len(rows))), axis=1, kind="stable")
        return (tuple(_Trial.of(design, (rows[order[:count]], rows[order[count:]])) for order in orders),)
    if None in design.deviations:
        remedy = 'Give the noise, or take judge = "rotation", which does not need it, where responses are exact.'
        raise MisuseError("split", "be 'rows' where the noise is not known", "'fission'", remedy)
    is_complex = np.iscomplexobj(rows)
    normals = draws.field_normal((spec.n_splits, *rows.shape), is_complex) / np.sqrt(2.0 if is_complex else 1.0)
    return tuple(_fissioned(design, rows, normals, float(sigma)) for sigma in design.deviations if sigma is not None)


def _fissioned(design: Design, rows: Field, normals: Field, sigma: float) -> tuple[_Trial, ...]:
    """Where sigma is true the parts are independent; opponents may have another noise, which is added to that of g."""
    known: Array = np.array(design.deviations, dtype=np.float64)
    # Both parts of a row have its coefficients: whatever these are, given them the parts are independent.
    wider = replace(design, deviations=tuple(np.hypot(known, sigma).tolist()), is_random=False)
    return tuple(_Trial.of(wider, (rows + sigma * drawn, rows - sigma * drawn)) for drawn in normals)
