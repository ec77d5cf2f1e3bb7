"""The manner of scikit-learn, without importing it: fit to calibration rows, report on deployment rows."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_count, check_instance, check_number, check_open
from .._errors import MisuseError
from ..aeb import Policy, Stop, budget_queries
from ..banks import Bank, Library, bank_regions, library_bank
from ..io import Table
from ..judges import JudgeSpec, RunningEvidence, make_judge
from ..laws import law_named
from ..questions import Question, RegionalMap, RegionRule
from ..report import Report
from ._analyse import Result, analyse, begin_running, located, running_result
from ._plans import ProposedStream, StreamPlan, stream_rows, table_of
from ._protocol import AnalysisProtocol, PolicyName, Proposed, named_policy

AnyQuestion = Question | Callable[[Proposed], Question]

# The share of the rows that propose where only the kind of a stream is given.
HALF = 0.5

Rows = ArrayLike | Table
Rules = Question | Mapping[str, RegionRule | float] | None
# Parameters, protocol, tables and proposed streams of a fit.
_Fitted = tuple[dict[str, Any], AnalysisProtocol, dict[str, Table], dict[str, ProposedStream]]


class PhysicalSupport:
    """The finest physical statement that calibration and deployment rows allow.

    `fit` takes the calibration rows, `report` the deployment rows; both are rows by channels.  The guarantee holds for
    each report on its own: if the truth is in the bank, all that one report says of the truth holds with probability at
    least 1 - alpha.  Several reports after one fit share the calibration rows, and nothing is promised of all of them
    together; for k reports that shall hold jointly, give each the level alpha / k.

    Preprocessing that learns from all calibration rows, such as centring or scaling by their own moments, lets held-out
    rows choose what they are to judge and breaks the split: the promise is then void.  Transform row by row, or with
    constants from elsewhere.

    bank: a `Bank`, or a `Library` with `supports` (lists of regions; all regions together unless given) and `strengths`
        (by region; 1 unless given).
    question: a `Question`; {region: `RegionRule` or tolerance}; a function of what the proposal rows said, which
        returns one of these; None asks for the finest of every region.
    alpha: the probability with which the truth may be rejected.  budget: queries, or a share of the bank as a float.
    random_state: a whole number, the seed of the split.
    calibration, deployment: a `StreamPlan`, or only its kind: then half of the rows propose, noise variances and
        activities are the nuisances `noise` and `p` of the bank, and rows are complex if those given to `fit` are (to
        `report`, without calibration).  None: there is no such stream, and None takes the place of its rows.
    policy: which explanations to ask about first, by name (regional, fixed, random, farthest) if need be; None takes
        the usual one for the question.
    stop: `set` asks, once the labels are certified, about everything else that is still possible, so that what is kept
        is known by its verdict; `label` stops with the labels, and leaves the rest not asked about.
    judge: who may reject an explanation, by name (evidence, rotation) if need be; None takes the usual one of the
        deployment law, rotation for `gaussian` and evidence for the others.
    channels: which axis of the rows runs over channels, by number or, for labelled arrays, by name; plain arrays are
        rows by channels unless this says otherwise.

    Fitted: `bank_`, `question_`, `n_features_in_` (channels, complex ones counted once; without calibration rows and
    with a deployment given by its kind, only a report on complex rows can tell), `feature_names_in_` (if the rows name
    their channels); after a report also `result_` and `report_`.  Parameters that are set after a fit take effect with
    the next one.
    """

    def __init__(
        self,
        bank: Bank | Library,
        question: "Rules | Callable[[Proposed], Rules]" = None,
        *,
        alpha: float = 0.05,
        budget: int | float | Fraction = 1.0,
        random_state: int = 0,
        supports: Sequence[Sequence[str]] | None = None,
        strengths: Mapping[str, float | Sequence[float]] | None = None,
        calibration: str | StreamPlan | None = "latent",
        deployment: str | StreamPlan | None = "covariance",
        policy: Policy | Callable[[Proposed], Policy] | PolicyName | None = None,
        channels: int | str | None = None,
        stop: Stop = "set",
        judge: str | JudgeSpec | None = None,
    ) -> None:
        self.bank = bank
        self.question = question
        self.alpha = alpha
        self.budget = budget
        self.random_state = random_state
        self.supports = supports
        self.strengths = strengths
        self.calibration = calibration
        self.deployment = deployment
        self.policy = policy
        self.channels = channels
        self.stop = stop
        self.judge = judge

    def fit(self, calibration: Rows | None = None, y: object = None) -> Self:  # noqa: ARG002
        """Check the parameters, split the calibration rows and read those that propose; y is not used.

        Held-out rows are read by `report`, after everything is frozen: the rows are kept as they were given, not
        copied, and must not be changed before that.  Without calibration an array of no rows is as good as None, and
        earlier steps of a pipeline can take it.
        """
        if self.calibration is None and np.size(calibration) == 0:  # type: ignore[arg-type]  # any rows
            calibration = None
        if (calibration is None) != (self.calibration is None):
            rule = "be None" if self.calibration is None else "be rows"
            remedy = "The parameter of this name says whether there are calibration rows."
            raise MisuseError("calibration", f"{rule} in fit", type(calibration).__name__, remedy)
        params = self.get_params()
        bank = chosen_bank(self.bank, self.supports, self.strengths)
        question = chosen_question(self.question, bank)
        table = None if calibration is None else table_of("calibration", calibration, bank, self.channels)
        is_complex = table is not None and table.values.dtype.kind == "c"
        protocol = chosen_protocol(params, bank, question, is_complex)
        proposed: dict[str, ProposedStream] = {}
        if table is not None:
            rows = stream_rows("calibration", table, protocol.streams["calibration"], bank)
            with located({"calibration": table}):
                proposed["calibration"] = protocol.propose("calibration", rows)
        for name in ("feature_names_in_", "result_", "report_"):
            self.__dict__.pop(name, None)
        self.bank_ = bank
        self.question_ = question
        self._running: RunningEvidence | None = None
        # Parameters that are set from now on wait for the next fit.
        tables = {} if table is None else {"calibration": table}
        self._fitted: _Fitted = params, protocol, tables, proposed
        self.n_features_in_ = _n_channels(protocol, bank)
        names = None if table is None else table.names
        # Rows given as pairs (Re, Im) have two columns for a channel, and the names of these are not those of channels.
        if names is not None and is_complex == protocol.is_complex:
            self.feature_names_in_ = np.array(names[: self.n_features_in_], dtype=object)
        return self

    def report(self, deployment: Rows | None) -> Report:
        """Freeze, ask, and report on these deployment rows; the whole result stays in `result_`."""
        if not self.__sklearn_is_fitted__():
            raise MisuseError("PhysicalSupport", "be fitted before it reports", "no fit", "Call fit first.")
        params, protocol, fitted_tables, proposed = self._fitted
        tables = dict(fitted_tables)
        if (deployment is None) == ("deployment" in protocol.streams):
            rule = "be rows" if deployment is None else "be None"
            raise MisuseError("deployment", f"{rule} in report, as fitted", type(deployment).__name__)
        if deployment is not None:
            tables["deployment"] = table_of("deployment", deployment, self.bank_, params["channels"])
            if not proposed and tables["deployment"].values.dtype.kind == "c":
                # Without calibration these are the first rows seen, so only now a plan given by kind can know.
                protocol = chosen_protocol(params, self.bank_, self.question_, is_complex=True)
                self.n_features_in_ = _n_channels(protocol, self.bank_)
        self.result_: Result = analyse(protocol, tables, proposed=proposed)
        self.report_: Report = self.result_.report
        return self.report_

    def update(self, rows: Rows) -> Report:
        """Report on all deployment rows so far, of which these have just arrived; `fit` begins anew.

        Every look is valid: what any of these reports, taken together, ever says of the truth is false with probability
        at most alpha, whatever decides when to look and when to stop.  No row proposes, so that all of them judge, and
        what was rejected once stays rejected.  Calibration rows, if there are any, are read once, at the first look.
        """
        if not self.__sklearn_is_fitted__():
            raise MisuseError("PhysicalSupport", "be fitted before rows arrive", "no fit", "Call fit first.")
        params, protocol, _, proposed = self._fitted
        self._running = self._running or begin_running(protocol, proposed.get("calibration"))
        table = table_of("deployment", rows, self.bank_, params["channels"])
        read = stream_rows("deployment", table, protocol.streams["deployment"], self.bank_)
        with located({"deployment": table}):
            self._running = self._running.after(read)
        self.report_ = running_result(protocol, self._running).report
        return self.report_

    def predict(self, deployment: Rows | None) -> NDArray[np.str_]:
        """The label of every field of a report on these rows, (fields,) texts, in the order of the question."""
        return np.array([str(field.label) for field in self.report(deployment).fields])

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The parameters as they were given; none of them has parameters of its own."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self, **params: object) -> Self:
        """Replace parameters; they are checked by the next fit."""
        known = self.get_params()
        for name in params:
            if name not in known:
                raise MisuseError("parameter", f"be one of {', '.join(known)}", repr(name))
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __sklearn_clone__(self) -> Self:
        # Banks and questions cannot change, so a clone shares them instead of copying a million explanations.
        return type(self)(**self.get_params())

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def __sklearn_tags__(self) -> object:
        """The tags that scikit-learn reads; only scikit-learn calls this, so it can be imported."""
        from sklearn.utils import InputTags, Tags, TargetTags

        target = TargetTags(required=False)
        rows = InputTags(two_d_array=True, allow_nan=False)
        return Tags(estimator_type=None, target_tags=target, input_tags=rows, requires_fit=True)

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, parameter in signature(type(self)).parameters.items()
            if getattr(self, name) is not parameter.default and name != "bank"
        ]
        return f"{type(self).__name__}({', '.join([f'<{type(self.bank).__name__}>', *changed])})"


def _n_channels(protocol: AnalysisProtocol, bank: Bank) -> int:
    """Channels of the instrument; the elements of a complex one have two entries for each."""
    return len(bank.states.elements) // (2 if protocol.is_complex else 1)


def chosen_bank(
    bank: Bank | Library,
    supports: Sequence[Sequence[str]] | None,
    strengths: Mapping[str, float | Sequence[float]] | None,
) -> Bank:
    """The bank given, or the one that a library makes."""
    check_instance("bank", bank, Bank, Library)
    if isinstance(bank, Bank):
        for name, value in {"supports": supports, "strengths": strengths}.items():
            if value is not None:
                raise MisuseError(name, "be None where a whole bank is given, which has its own", repr(value))
        return bank
    if supports is not None and not len(supports):
        raise MisuseError("supports", "hold at least one list of regions that may be active together", "none")
    names = bank.region_names
    return library_bank(
        bank, [names] if supports is None else supports, dict.fromkeys(names, 1.0) if strengths is None else strengths
    )


def chosen_question(question: object, bank: Bank) -> AnyQuestion:
    """A question about the bank; functions are asked when there is something proposed."""
    match question:
        case None:
            return RegionalMap(bank_regions(bank))
        case Mapping():
            rules = {
                name: rule if isinstance(rule, RegionRule) else RegionRule(check_number(f"question[{name!r}]", rule))
                for name, rule in question.items()
            }
            return _answerable(RegionalMap(bank_regions(bank), rules))
        case Question():
            return _answerable(question)
    if callable(question):
        return partial(_later_question, question, bank)
    raise MisuseError("question", "be a question, rules by region, a function or None", repr(question))


def _later_question(function: Callable[[Proposed], object], bank: Bank, proposed: Proposed) -> Question:
    """The question that a function makes of what was proposed, given as the parameter itself may be."""
    made = chosen_question(function(proposed), bank)
    if callable(made):
        raise MisuseError("question", "be a function that returns a question, rules by region or None", "another")
    return made


def _answerable(question: Question) -> Question:
    for region, entry, rule, value in question.unanswerable():
        raise MisuseError(f"{entry} of question[{region!r}]", rule, value)
    return question


def chosen_plan(name: str, chosen: str | StreamPlan | None, is_complex: bool) -> StreamPlan | None:
    """The plan of a stream, by the name of its law if need be."""
    if chosen is None:
        return None
    check_instance(name, chosen, str, StreamPlan)
    # A law of real rows refuses complex ones when it meets them, and says why.
    plan = (
        StreamPlan(chosen, HALF, is_complex=is_complex and not law_named(chosen).why_real)
        if isinstance(chosen, str)
        else chosen
    )
    if plan.law.part != name:
        raise MisuseError(name, f"be the plan of a {name} stream", repr(plan.law.name))
    return plan


def chosen_protocol(params: Mapping[str, Any], bank: Bank, question: AnyQuestion, is_complex: bool) -> AnalysisProtocol:
    """The protocol of the estimator's parameters, with errors in its words; laws are made here to be refused early."""
    plans = {name: chosen_plan(name, params[name], is_complex) for name in ("calibration", "deployment")}
    streams = {name: plan for name, plan in plans.items() if plan is not None}
    policy: Policy | Callable[[Proposed], Policy] | PolicyName | None = params["policy"]
    if policy is None or isinstance(policy, str):
        policy = named_policy(policy, question, params["random_state"])
    if not streams:
        raise MisuseError("calibration and deployment", "not both be None", "no rows at all")
    level = check_open("alpha", params["alpha"], 0.0, 1.0)
    budget_queries(params["budget"], bank.size)
    for plan in streams.values():
        plan.law.completed(bank)
        usual = plan.law.own_judge  # that of the last stream, which is the deployment if there is one
    seed = check_count("random_state", params["random_state"], 0)
    judge: str | JudgeSpec = params["judge"] or usual
    return AnalysisProtocol(
        question,
        policy,
        level,
        params["budget"],
        bank,
        streams,
        seed,
        stop=params["stop"],
        judge=make_judge(judge, {}) if isinstance(judge, str) else judge,
    )
