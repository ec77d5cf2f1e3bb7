"""The manner of scikit-learn, without importing it: fit to calibration rows, report on deployment rows."""

import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import check_count, check_instance, check_number, check_open
from .._errors import Clause, MisuseError
from ..aeb import Policy, Stop, budget_queries
from ..banks import Bank, Library, bank_regions, library_bank
from ..io import Table
from ..judges import JudgeSpec, RunningEvidence, make_judge
from ..laws import law_named, laws_of_files
from ..questions import Question, RegionalMap, RegionRule
from ..report import Report
from ..responses import Response
from ._analyse import Result, analyse, begin_running, located, running_result
from ._learnt import Box, LearnerLike, learnt_parts
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
        (by region; 1 unless given); or a function that makes one for the number of channels of the calibration rows.
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
        is known by its verdict; `label` stops with the labels, and leaves the rest not tested.
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
        bank: Bank | Library | Callable[[int], Bank | Library],
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

    @classmethod
    def from_learner(
        cls,
        learner: LearnerLike,
        *,
        library: Response | Library,
        calibration: ArrayLike,
        places: Box | None = None,
        tolerance: float = 0.0,
        alpha: float = 0.05,
        n_atoms: int | None = None,
        deployment: StreamPlan | None = None,
        unit: str = "",
        learnt_on: str = "",
        random_state: int = 0,
    ) -> Self:
        """A fitted estimator for signals of a dictionary that was learnt from calibration rows.

        Rows are sparse or dense mixtures of n atoms in white noise, with any codes, and every atom is a response of the
        library, anywhere in a box.  All calibration rows judge which places atoms may have (`judges.learnt`).  The
        learner says how many atoms there are and what each would be taken for; no answer depends on its atoms, so that
        it may have been trained on the same rows.  A report holds at alpha for calibration and signal together.

        learner: an estimator with `components_`, or one that is not fitted yet; a function (rows, n_atoms, seed) ->
            (q, n); or an array of atoms from elsewhere.
        library: a response, such as `responses.Formula`, with places: its box, {"x": (0.0, 1.0)}; or a `Library`, of
            which only the places listed are meant.
        tolerance: distance below which two places count as one.  unit: of the coordinates.
        learnt_on: the rows that the dictionary was learnt on, in words for the report.
        deployment: the plan of the signal; unless given, rows are linear in coefficients of their own.
        """
        parts = learnt_parts(
            learner, library, calibration,
            places=places, tolerance=tolerance, level=alpha, n_atoms=n_atoms, unit=unit, learnt_on=learnt_on,
            seed=random_state,
        )  # fmt: skip
        is_complex = np.iscomplexobj(calibration)
        plan = StreamPlan("gaussian", rows="free", is_complex=is_complex) if deployment is None else deployment
        return cls(
            parts.bank,
            parts.tolerances,
            alpha=alpha,
            random_state=random_state,
            calibration=None,
            deployment=plan,
            judge=parts.judge,
        ).fit()

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
            remedy = "Give fit the calibration rows, or set calibration=None."
            if self.calibration is None:
                remedy = "Call fit() without rows, or set calibration='latent'."
            raise MisuseError("calibration", f"{rule} in fit", type(calibration).__name__, remedy)
        if calibration is not None:
            _check_rows_of_fit(calibration)
        params = self.get_params()
        bank = chosen_bank(self.bank, self.supports, self.strengths, calibration)
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
        self._check_fitted("be fitted before it reports")
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

    def update(self, deployment: Rows | None = None, *, calibration: Rows | None = None) -> Report:
        """Report on all rows so far, of which these have just arrived in either stream or in both; `fit` begins anew.

        Every look is valid: what any of these reports, taken together, ever says of the truth is false with probability
        at most alpha, whatever decides when to look, which stream grows next and when to stop.  No row proposes, so
        that all of them judge, those of `fit` first; what was rejected once stays rejected.
        """
        self._check_fitted("be fitted before rows arrive")
        _, protocol, tables, _ = self._fitted
        if self._running is None:
            self._running = begin_running(protocol)
            for name, table in tables.items():
                self._running = self._read(self._running, name, table)
        given = {"calibration": calibration, "deployment": deployment}
        arrived = {name: rows for name, rows in given.items() if rows is not None}
        if not arrived:
            raise MisuseError("update", "come with rows of a stream", Clause("there are none"))
        for name, rows in arrived.items():
            if name not in protocol.streams:
                raise MisuseError(
                    name, f"be left out: the streams are {', '.join(protocol.streams)}", Clause("rows are given")
                )
            self._running = self._read(self._running, name, rows)
        self.report_ = running_result(protocol, self._running).report
        return self.report_

    def _read(self, running: RunningEvidence, name: str, rows: Rows) -> RunningEvidence:
        """The evidence with these rows of a stream."""
        params, protocol, _, _ = self._fitted
        table = table_of(name, rows, self.bank_, params["channels"])
        read = stream_rows(name, table, protocol.streams[name], self.bank_)
        with located({name: table}):
            return running.after(read, name)

    def predict(self, deployment: Rows | None) -> NDArray[np.str_]:
        """The label of every field of a report on these rows, (fields,) texts, in the order of the question."""
        return np.array([str(field.label) for field in self.report(deployment).fields])

    def predict_set(self, deployment: Rows | None) -> dict[str, frozenset[str | None]]:
        """The elements that these rows leave possible in each field; None means that nothing is there.

        With probability at least 1 - alpha every one of these sets holds what is true of its field, if the truth is in
        the bank.  An empty set means that nothing fits.
        """
        return {field.field: frozenset((*field.kept, *field.not_asked)) for field in self.report(deployment).fields}

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """(fields,) the names of the fields, in the order of `predict`."""
        self._check_fitted("be fitted before it names its fields")
        known = getattr(self, "report_", None)
        if known is not None:
            return np.array([field.field for field in known.fields], dtype=object)
        if not isinstance(self.question_, RegionalMap):
            raise MisuseError(
                "PhysicalSupport", "have a report before its fields have names", Clause("there is none yet")
            )
        return np.array([region.name for region in self.question_.asked_regions], dtype=object)

    def _check_fitted(self, rule: str) -> None:
        if not self.__sklearn_is_fitted__():
            raise _not_fitted()("PhysicalSupport", rule, "no fit", "Call fit first.")

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


def _not_fitted() -> type[MisuseError]:
    """The error of what is not fitted; if scikit-learn was imported, its own `NotFittedError` as well."""
    exceptions = sys.modules.get("sklearn.exceptions")
    if exceptions is None:
        return MisuseError
    return type("NotFittedError", (MisuseError, exceptions.NotFittedError), {})


def _check_rows_of_fit(rows: Any) -> None:  # noqa: ANN401
    """Refuse a sparse array, and one without entries, before a bank is made for its channels."""
    if hasattr(rows, "tocsr"):
        remedy = "Give rows.toarray()."
        raise MisuseError("calibration", "be a dense array: sparse input is not supported", type(rows).__name__, remedy)
    shape: tuple[int, ...] = np.shape(rows)
    if len(shape) == 2 and 0 in shape:
        what = "feature(s)" if shape[0] else "sample(s)"
        value = f"0 {what} (shape={shape}) while a minimum of 1 is required"
        raise MisuseError("calibration", "have rows and channels", value)


def _n_channels(protocol: AnalysisProtocol, bank: Bank) -> int:
    """Channels of the instrument; the elements of a complex one have two entries for each."""
    return len(bank.states.elements) // (2 if protocol.is_complex else 1)


def chosen_bank(
    bank: Bank | Library | Callable[[int], Bank | Library],
    supports: Sequence[Sequence[str]] | None,
    strengths: Mapping[str, float | Sequence[float]] | None,
    calibration: Rows | None = None,
) -> Bank:
    """The bank given, or the one that a library makes, or a function from the number of channels of these rows."""
    if callable(bank):
        shape: tuple[int, ...] = np.shape(calibration)  # type: ignore[arg-type]  # any rows
        if len(shape) != 2:
            remedy = "Give the bank itself."
            raise MisuseError("bank", "be no function without calibration rows in a table", f"shape {shape}", remedy)
        bank = bank(shape[1])
    check_instance("bank", bank, Bank, Library)
    if isinstance(bank, Bank):
        for name, value in {"supports": supports, "strengths": strengths}.items():
            if value is not None:
                raise MisuseError(name, "be None where a whole bank is given, which has its own", repr(value))
        return bank
    if supports is not None and not len(supports):
        raise MisuseError(
            "supports", "hold at least one list of regions that may be active together", Clause("it holds none")
        )
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
        raise MisuseError(
            "question", "be a function that returns a question, rules by region or None", Clause("it is something else")
        )
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
        laws = laws_of_files("calibration" if name == "calibration" else "deployment")
        remedy = f"Take one of such rows: {', '.join(laws)}."
        raise MisuseError(name, f"be the plan of a {name} stream", repr(plan.law.name), remedy)
    return plan


def chosen_protocol(params: Mapping[str, Any], bank: Bank, question: AnyQuestion, is_complex: bool) -> AnalysisProtocol:
    """The protocol of the estimator's parameters, with errors in its words; laws are made here to be refused early."""
    plans = {name: chosen_plan(name, params[name], is_complex) for name in ("calibration", "deployment")}
    streams = {name: plan for name, plan in plans.items() if plan is not None}
    policy: Policy | Callable[[Proposed], Policy] | PolicyName | None = params["policy"]
    if policy is None or isinstance(policy, str):
        policy = named_policy(policy, question, params["random_state"])
    if not streams:
        raise MisuseError("calibration and deployment", "not both be None", Clause("there are no rows at all"))
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
