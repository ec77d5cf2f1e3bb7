r"""The judge of evidence: an explanation is rejected where an opponent predicts the rows far better.

Rows are divided once, and evidence is looked at along the rows that judge; or it is averaged over several splits.  Each
split gives a part that proposes and an independent one that judges.  Rows are divided at random, or each row z is
fissioned: with g of the noise's own law, z + g and z - g are independent and have twice its covariance.  With q a
density that the first part fixed, :math:`E(e) = q(\text{second}) / \sup_{\theta,\sigma} p_e(\text{second})` has mean at
most 1 under e, and so has the mean over splits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar, Self, cast, final

import numpy as np
from flint import arb, ctx

from .._checks import check_count, check_indices, check_open
from .._errors import Clause, MisuseError
from .._typing import Array, Field, IntArray
from ..banks import Bank
from ..io import ArrayRows, as_pairs
from ..laws import Design, Law, Opponent, streams
from ._amounts import (
    Amounts,
    Asked,
    Interval,
    active_of,
    amounts_reason,
    gathered,
    listed_columns,
    log_average,
    sublevel,
)
from ._cells import parameter_facts
from ._coded_cells import CodedRows, check_coded
from ._decide import compared, decided, verdicts
from ._evidence import Bounds, Evidence, Factor, final_bounds, log_mean, sum_down, sum_up, threshold_bounds
from ._judge import Judge, Verdict, Verdicts, block_around
from ._linear_cells import LinearCells, ask_all, cell_opponent
from ._noise import NoiseTestingSpec, noise_facts
from ._specs import FIXED, MOST_SPLITS, JudgeSpec, Sealed, register
from .rotation._table import Draws

SPLITS = ("rows", "fission")
# The purpose of the draws: no other judge shares these bits.
_PURPOSE = 4
_ALONG_ROWS = "streams are independent, and so are the rows of each, with the law of the explanation"
_OF_SPLITS = (
    "rows are independent, linear in open coefficients, in white Gaussian noise, after whitening where a covariance is "
    "given, of the level given where they are fissioned"
)


@register
@final
@dataclass(frozen=True, slots=True)
class ByEvidence(NoiseTestingSpec):
    """Have the streams of a protocol judged by their evidence, at the level of the protocol.

    split: None has the protocol divide the rows, and looks at the evidence along those that judge.  `rows` averages
    evidence of a linear law over random divisions, of which a share proposes; `fission` over noise that is added, also
    to a single row, where the noise is known.  Splits come from `Sealed.draws_seed`: the parts of a fissioned row are
    independent only if its draws are its own.  An average is that of all judging rows, not its peak along them, as only
    the final value may be averaged; that of other streams at their end is multiplied with it.
    cells: elements lie anywhere in cells (`search`), which a protocol sets; splits then are averaged over.
    """

    kind: ClassVar[str] = "evidence"
    has_common_numerator: ClassVar[bool] = True
    fact_names: ClassVar[tuple[str, ...]] = ("is_best_rejected", "level", "findings")

    rule: ClassVar[str] = "average over splits where one stream has rows that are linear in free coefficients"
    remedy: ClassVar[str] = ", or leave split and splits out"

    split: str | None = None
    n_splits: int = 8
    proposal: float = 0.5
    cells: bool = field(default=False, metadata=FIXED)

    def __post_init__(self) -> None:
        if self.split is not None and self.split not in SPLITS:
            raise MisuseError("split", f"be {' or '.join(map(repr, SPLITS))}", repr(self.split))
        check_count("splits", self.n_splits, 1, MOST_SPLITS)
        check_open("proposal", self.proposal, 0.0, 1.0)
        NoiseTestingSpec.__post_init__(self)

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> "ByEvidence":
        """Evidence along the rows of the protocol's own split, unless another or several are asked for."""
        split = options.get("split")
        if split == "fission" and "proposal" in options:
            raise MisuseError(
                "proposal", "be left out with split = 'fission'", options["proposal"], "All of a row proposes."
            )
        if split in (None, "rows") and options.get("n_splits", 1) == 1:
            return cls(**{name: value for name, value in options.items() if name != "split"})
        return cls(**{"split": "rows", **options})

    @property
    def are_e_values(self) -> bool:
        """True for an average; along the rows the largest value counts."""
        return self.split is not None

    @property
    def has_facts(self) -> bool:
        """True if the noise is tested, or cells are searched."""
        return self.noise_share is not None or self.cells

    @property
    def fissions(self) -> int:
        """The number of times that added noise splits a single row; 0 where rows are divided instead."""
        return self.n_splits if self.split == "fission" else 0

    def completed(self, bank: Bank, laws: Sequence[Law]) -> Self:
        """The judge with the test of the noise, and with splits where cells are searched."""
        cells = any(law.has_cells for law in laws)
        split = self.split or ("rows" if cells else None)
        if cells:
            check_coded(bank, [*laws])
        return replace(NoiseTestingSpec.completed(self, bank, laws), cells=cells, split=split)

    def encode(self) -> dict[str, object]:
        """The options fixed before held-out rows are read; checkpoints and numerators are listed with the streams."""
        content: dict[str, object] = {"judge": self.kind, "assumes": _OF_SPLITS if self.split else _ALONG_ROWS}
        if self.split is not None:
            content |= {"split": self.split, "n_splits": self.n_splits, "proposal": float(self.proposal)}
        if self.cells:
            content["cells"] = True
        return content if self.noise is None else content | {"noise": float(self.noise)}

    def check_laws(self, laws: Sequence[Law]) -> None:
        """Accept any laws; an average over splits checks them when it is opened."""

    def splits(self, law: Law) -> bool:
        """True if proposal rows choose the numerator; an average divides the rows of a linear law itself."""
        return self.split is None or law.is_counted or not law.is_linear

    def check_rows(self, law: Law, n_rows: int) -> None:
        """Raise for a single row that is to be divided; other laws refuse it where shares are checked."""
        if self.split != "fission" and law.is_linear and n_rows < 2:
            remedy = (
                'Take split = "fission" where the noise is known, or judge = "rotation" or "invariant" where responses '
                "are exact."
            )
            raise MisuseError("split", "not be 'rows' for a single row", Clause(f"there is {n_rows} row"), remedy)

    def open(self, sealed: Sealed) -> Judge:
        """The judge along the rows, or of the average, which reads the rows and scores all explanations."""
        if self.split is None:
            return EvidenceJudge(sealed.evidence, sealed.level, self, sealed)
        return _average(self, sealed)


@final
@dataclass(frozen=True, eq=False)
class EvidenceJudge(Judge):
    """Certified verdicts of an e-process at one level."""

    evidence: Evidence
    level: float
    spec: ByEvidence = field(default_factory=ByEvidence)
    sealed: Sealed | None = field(default=None, repr=False)  # data of the test of the noise

    def __post_init__(self) -> None:
        check_open("level", self.level, 0.0, 1.0)

    @property
    def size(self) -> int:
        """The size of the bank."""
        return self.evidence.size

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """Score the keys of these explanations, unless earlier ones shared them."""
        return verdicts(self.evidence, explanations, self.level)

    def ahead(self, e: int, count: int) -> tuple[IntArray, Verdicts]:
        """The block of explanations around e, as far as float64 decides it; balls are for what is asked alone."""
        near, bounds = self.evidence.along(e, block_around(e, count, self.size))
        near_verdicts = compared(bounds, self.level)
        is_decided = near_verdicts.codes != Verdict.INDETERMINATE
        near = near[is_decided]
        near_verdicts = near_verdicts.rows(is_decided)
        if e in near:
            return near, near_verdicts
        single = np.array([e])
        return np.append(near, single), Verdicts.joined([near_verdicts, self.verdicts(single)])

    def amounts(self, possible: IntArray) -> Amounts:
        """Those of rows of one mean, where no other stream is judged along with them."""
        if self.sealed is None:
            return Amounts(reason="judge")
        if len(self.sealed.streams) > 1:
            return Amounts(reason="streams")
        (stream,) = self.sealed.streams
        design = stream.law.design(self.sealed.bank)
        (factor,) = self.evidence.factors
        return linear_amounts(design, [(factor,)], stream.keys_of(possible), np.zeros(len(possible)), self.level)

    @property
    def error(self) -> float | None:
        """The error of the responses if the only stream is that of the deployment rows; None otherwise."""
        design = self._design
        return None if design is None or design.error_size is None else design.error

    @property
    def error_scale(self) -> str:
        """The unit of the error, as in `Design.error_scale`."""
        return "" if self._design is None else self._design.error_scale

    @cached_property
    def _design(self) -> Design | None:
        if self.sealed is None or len(self.sealed.streams) > 1:
            return None
        (stream,) = self.sealed.streams
        return stream.law.design(self.sealed.bank)

    def refutes(self, possible: IntArray, error: float) -> bool:
        """True if the rows refute the noise of all these explanations, where it is tested."""
        facts = noise_facts(self.spec.noise, self.sealed, possible, error)
        return facts is not None and bool(facts["is_withheld"])

    def verdicts_at(self, error: float, explanations: IntArray) -> Verdicts:
        """The same with responses that are right to within an error."""
        factors = [factor.widened(error) for factor in self.evidence.factors]
        return verdicts(Evidence(self.size, factors), explanations, self.level)

    def facts(self, possible: IntArray) -> dict[str, object] | None:
        """The test of the noise, where there is one."""
        return noise_facts(self.spec.noise, self.sealed, possible)


@final
@dataclass(frozen=True, slots=True, eq=False)
class AverageJudge(Judge):
    """The mean evidence of one stream over its splits, times that of the others at their end: an e-value again."""

    judges_blocks: ClassVar[bool] = True

    size: int
    level: float
    keys_of: Callable[[IntArray], IntArray]
    log_evidence: Bounds  # (n_keys,) each, of the log of the mean evidence against a key
    ball: Callable[[int, int], arb]  # encloses that of a key, with so many bits
    evidence: Evidence | None  # of the other streams
    spec: JudgeSpec
    give_facts: Callable[[IntArray], dict[str, object] | None] = field(repr=False)
    error: float | None = None
    error_scale: str = ""
    log_evidence_at: Callable[[float, IntArray], Bounds] | None = None  # of keys (k,), with a larger error
    refuted: Callable[[IntArray, float], bool] | None = None
    find_runs: Callable[[], list[tuple[int, int]]] | None = field(default=None, repr=False)
    # Of keys (k,) with the log evidence (k,) of the other streams against their explanations.
    find_amounts: Callable[[IntArray, Array], Amounts] | None = field(default=None, repr=False)

    def amounts(self, possible: IntArray) -> Amounts:
        """The intervals that the stream finds."""
        if self.find_amounts is None:
            return Amounts(reason="judge")
        beside = final_bounds(self.evidence, possible).lower
        return self.find_amounts(self.keys_of(possible), beside)

    def unlisted_runs(self) -> list[tuple[int, int]]:
        """The runs that the stream finds; none beside other streams."""
        return [] if self.find_runs is None else self.find_runs()

    def verdicts_at(self, error: float, explanations: IntArray) -> Verdicts:
        """The same with responses that are right to within an error; open where the bounds of a fit are too wide."""
        assert self.log_evidence_at is not None
        chosen = check_indices("explanations", explanations, self.size)
        keys, where = np.unique(self.keys_of(chosen), return_inverse=True)
        own = self.log_evidence_at(error, keys)
        beside = final_bounds(self.evidence, chosen)
        return compared(
            Bounds(sum_down(own.lower[where], beside.lower), sum_up(own.upper[where], beside.upper)), self.level
        )

    def refutes(self, possible: IntArray, error: float) -> bool:
        """True if the rows refute the noise of all these explanations, where it is tested."""
        return self.refuted is not None and self.refuted(possible, error)

    def verdicts(self, explanations: IntArray) -> Verdicts:
        """The margin is the log of the evidence of all streams over 1 / level."""
        chosen = check_indices("explanations", explanations, self.size)
        keys = self.keys_of(chosen)
        beside = final_bounds(self.evidence, chosen)
        own = self.log_evidence
        bounds = Bounds(sum_down(own.lower[keys], beside.lower), sum_up(own.upper[keys], beside.upper))

        def product(row: int, bits: int) -> arb:
            lower, upper = (arb(float(end[row])) for end in beside)
            return self.ball(int(keys[row]), bits) + lower.union(upper)

        return decided(bounds, self.level, product)

    def facts(self, possible: IntArray) -> dict[str, object] | None:
        """Return the facts of the stream that is split."""
        return self.give_facts(possible)


def _average(spec: ByEvidence, sealed: Sealed) -> AverageJudge:
    """The judge by the mean evidence, with all keys scored."""
    stream, design, evidence = sealed.divided(spec)
    spec.check_rows(stream.law, stream.rows.n_rows)
    rows = design.whitened_rows(stream.rows, stream.law.is_complex)
    trials = _trials(spec, design, rows, sealed.draws_seed)
    if design.ranges is not None:
        return _of_cells(spec, sealed, design, trials, stream.keys_of)
    bounds = np.empty((2, len(design.supports) * len(design.deviations)))
    for setting, splits in enumerate(trials):
        keys = np.arange(setting, bounds.shape[1], len(trials))
        bounds[:, keys] = _mean_ratio(splits, keys)

    def ball(key: int, bits: int) -> arb:
        splits = trials[key % len(trials)]
        with ctx.workprec(bits):
            total = sum((trial.ratio_balls(key, bits)[1].exp() for trial in splits), arb(0))
            return (total / len(splits)).log()

    def log_evidence_at(error: float, keys: IntArray) -> Bounds:
        wider = np.empty((2, len(keys)))
        for setting, splits in enumerate(trials):
            chosen = keys % len(trials) == setting
            wider[:, chosen] = _mean_ratio([trial.widened(error) for trial in splits], keys[chosen])
        return Bounds(*wider)

    facts = partial(noise_facts, spec.noise, sealed)

    def refutes(possible: IntArray, error: float) -> bool:
        found = facts(possible, error)
        return found is not None and bool(found["is_withheld"])

    # The laws of other streams have exact responses.
    has_errors = design.error_size is not None and evidence is None
    errors = (design.error, design.error_scale, log_evidence_at, refutes) if has_errors else ()
    average = (Bounds(*bounds), ball, evidence, spec, facts)

    def amounts(keys: IntArray, beside: Array) -> Amounts:
        return linear_amounts(design, trials, keys, beside, sealed.level)

    judge = AverageJudge(sealed.size, sealed.level, stream.keys_of, *average, *errors)
    return replace(judge, find_amounts=amounts)


def linear_amounts(
    design: Design | None, trials: Sequence[Sequence[Factor]], keys: IntArray, beside: Array, level: float
) -> Amounts:
    """The coefficients that evidence does not reject, in closed form for each part of the rows.

    trials: the splits of each noise setting, whose evidence is averaged, or one factor along the rows.
    """
    if design is None:
        return Amounts(reason="judge")
    most = threshold_bounds(level)[1]

    def interval(key: int, columns: tuple[int, ...], other: float) -> Interval | None:
        return _coefficient(design, trials[key % len(trials)], key, columns[0], most - other)

    asked = []
    for key, other in zip(keys.tolist(), beside.tolist(), strict=True):
        active = active_of(design.supports, key // len(design.deviations))
        reason = amounts_reason(design, [design.names[column] for column in active])
        if reason:
            return Amounts(reason=reason)
        asked.append(Asked(key, listed_columns(design, active), other))
    return gathered("coefficients", asked, interval, nests=False)


def _coefficient(design: Design, factors: Sequence[Factor], key: int, column: int, most: float) -> Interval | None:
    """The values of one coefficient, within its bounds, that the factors leave."""
    box = float(design.low[column]), float(design.high[column])
    profiles = []
    logs = []
    for factor in factors:
        stream = cast("streams.LinearStream", factor.stream)
        profile = stream.profile(key, column)
        if profile is None:
            return box
        profiles.append(profile)
        logs.append(factor.ratio(np.array([key])).lower[0, 1:])
    is_mean = len(factors) > 1

    def value(amount: float) -> float:
        parts = [log + profile.falls(amount) for log, profile in zip(logs, profiles, strict=True)]
        return log_average(np.concatenate(parts), is_mean=is_mean)

    centre = float(np.median([profile.centre[-1] for profile in profiles]))
    scale = float(profiles[0].scale)
    left = sublevel(value, most, centre, scale, -np.inf)
    if left is None or left[1] < box[0] or left[0] > box[1]:
        return None
    return max(left[0], box[0]), min(left[1], box[1])


def _of_cells(
    spec: ByEvidence,
    sealed: Sealed,
    design: Design,
    trials: Sequence[tuple[Factor, ...]],
    keys_of: Callable[[IntArray], IntArray],
) -> AverageJudge:
    """The judge by the least mean evidence over the cells of every key."""
    threshold = threshold_bounds(sealed.level)[1]
    coded = [stream for stream in sealed.streams if not stream.law.has_cells]
    beside = CodedRows.of(coded[0], len(sealed.bank.states.elements)) if coded else None
    settings = [  # one division of the rows serves all settings of the noise
        LinearCells(design, trials[setting % len(trials)], setting, threshold, beside)
        for setting in range(len(design.deviations))
    ]
    lower, upper = np.empty((2, len(design.supports) * len(design.deviations)))
    asked = 0
    for setting, cells in enumerate(settings):
        answers = ask_all(cells)
        lower[setting :: len(settings)], upper[setting :: len(settings)] = answers.log_evidence
        asked += answers.n_asked

    def ball(key: int, bits: int) -> arb:  # no more bits narrow what the search leaves open
        with ctx.workprec(bits):
            return arb(lower[key]).union(arb(upper[key]))

    def facts(possible: IntArray) -> dict[str, object]:
        nothing = {"is_best_rejected": False, "is_withheld": False, "level": sealed.level, "findings": []}
        own = noise_facts(spec.noise, sealed, possible) or nothing
        left = np.unique(keys_of(possible))
        kept = [
            (cells, (left[left % len(settings) == setting] // len(settings)).tolist())
            for setting, cells in enumerate(settings)
        ]
        return own | parameter_facts(kept, asked)

    return AverageJudge(sealed.size, sealed.level, keys_of, Bounds(lower, upper), ball, None, spec, facts)


def _mean_ratio(splits: Sequence[Factor], keys: IntArray) -> Bounds:
    """(k,) the log of the mean evidence of splits against keys."""
    ratios = [trial.ratio(keys) for trial in splits]
    return log_mean(Bounds(*(np.array([end[:, 1] for end in side]) for side in zip(*ratios, strict=True))))


def _trial(design: Design, proposing: Field, judging: Field) -> Factor:
    """The judging part of one split, under every key, and the density that the other part chose."""
    is_complex = np.iscomplexobj(design.columns)
    first, second = (ArrayRows(as_pairs(part) if is_complex else part) for part in (proposing, judging))
    proposal = streams.linear_stream(design, first, np.array([first.n_rows]), is_complex=is_complex, keeps_fits=True)
    stream = streams.linear_stream(design, second, np.array([second.n_rows]), is_complex=is_complex)
    if design.ranges is None:
        opponent: Opponent = proposal.opponent(np.arange(proposal.n_keys))
    else:
        opponent = cell_opponent(cast("streams.LinearStream", proposal))
    return Factor("the rows", stream, np.asarray, opponent.numerator(stream, second))


def _trials(spec: ByEvidence, design: Design, rows: Field, seed: int) -> tuple[tuple[Factor, ...], ...]:
    """The splits of each noise setting: fission depends on the noise; one division of the rows serves all."""
    draws = Draws(seed, _PURPOSE)
    if spec.split == "rows":
        count = min(max(int(Fraction(repr(spec.proposal)) * len(rows)), 1), len(rows) - 1)
        orders = np.argsort(draws.uniform((spec.n_splits, len(rows))), axis=1, kind="stable")
        return (tuple(_trial(design, rows[order[:count]], rows[order[count:]]) for order in orders),)
    if None in design.deviations:
        remedy = (
            'Give the noise, or take judge = "rotation" or "invariant", which do not need it, with exact responses.'
        )
        raise MisuseError("split", "be 'rows' where the noise is not known", "'fission'", remedy)
    is_complex = np.iscomplexobj(rows)
    normals = draws.field_normal((spec.n_splits, *rows.shape), is_complex) / np.sqrt(2.0 if is_complex else 1.0)
    return tuple(_fissioned(design, rows, normals, float(sigma)) for sigma in design.deviations if sigma is not None)


def _fissioned(design: Design, rows: Field, normals: Field, sigma: float) -> tuple[Factor, ...]:
    """Where sigma is true the parts are independent; opponents may have another noise, which is added to that of g."""
    known: Array = np.array(design.deviations, dtype=np.float64)
    # Both parts of a row have its coefficients: whatever these are, given them the parts are independent.
    wider = replace(design, deviations=tuple(np.hypot(known, sigma).tolist()), is_random=False)
    return tuple(_trial(wider, rows + sigma * drawn, rows - sigma * drawn) for drawn in normals)
