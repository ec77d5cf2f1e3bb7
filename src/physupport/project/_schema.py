"""The project file: every key that it may have, its type and its rule."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from .._errors import Clause, shown
from ..aeb import Stop
from ..analysis import PolicyName
from ..banks import UNLISTED
from ..judges import JUDGES
from ..laws import LAWS, law_named
from ._element_sections import Above, Background, CoverSpec, Elements, Parameter, Unlisted, named_kinds
from ._generated import with_kind
from ._region_sections import COEFFICIENTS, EVERY, AskedResolution, ClaimSpec, Region, Supports
from ._sections import (
    FileName,
    FileSpec,
    Options,
    Section,
    Text,
    broken,
    known_name,
    needed,
    table_in,
    told_as,
)
from ._streams import UNKNOWN, Data, Share, check_of_law, may_propose, with_recording


class OutsiderSpec(Section):
    """The scan for something that is not in the bank."""

    elements: Literal["rest", "none"] = "rest"
    """text: look along all other elements (`rest`), or `none`"""
    share: Share = 0.2
    """number between 0 and 1: share of the level"""


class NextSpec(Section):
    """A measurement that could be made next: what it costs, and what it gives."""

    name: Text
    """text: name of the measurement"""
    seconds: Above
    """number above 0: cost"""
    stream: Literal["calibration", "deployment"] = "deployment"
    """text: the stream that it adds to; `calibration` adds more of the same rows"""
    rows: Above = 1.0
    """number above 0: number of new rows; for counts, in units of the live time so far"""
    responses: FileSpec | None = None
    """file: responses of another detector, range, sensor or position, in the unit of those of `[elements]`; a row for
    each channel, a column for each element
    """
    noise: Above | None = None
    """number above 0: variance of the noise, if it differs from that of the project"""

    @model_validator(mode="after")
    def _of_its_own(self) -> "NextSpec":
        if self.responses is not None and self.stream == "calibration":
            raise broken("be left out with stream = 'calibration'", Clause("a file is given"), key="responses")
        if self.noise is not None and self.responses is None:
            raise needed("responses")
        return self


def _distinct_next(offered: list[NextSpec]) -> list[NextSpec]:
    """Refuse two measurements of one name."""
    names = [each.name for each in offered]
    if len({*names}) < len(names):
        raise broken("have a name of its own in each table", shown(names))
    return offered


class Output(Section):
    """The folders of the report and of the map of many signals."""

    folder: FileName = "report"
    """text: folder of the report. It is new, or holds an earlier report, which is replaced. The project's folder itself
    is refused
    """
    map: FileName = "map"
    """text: folder of the [map](maps.md) of many signals. It is new or empty, or holds the same map, which is continued
    """


def _seed(value: int) -> int:
    """A seed is written into every report, as a number that any program reads."""
    if value >= 2**128:
        raise broken("be below 2^128", shown(value))
    return value


# Keys of a file, its deployment rows and its elements that evidence alone takes.
_OF_EVIDENCE = frozenset({"cover", "unlisted", "parameters"})
_OF_EVIDENCE_ROWS = frozenset({"proposal", "split", "splits", "opponent", "first_checkpoint"})
_OF_EVIDENCE_ELEMENTS = frozenset({"error", "counted"})


def _wants_evidence(file: dict[str, Any], rows: dict[str, Any]) -> bool:
    """True if a file with open strengths has a key that only evidence takes."""
    noise = rows.get("noise")
    is_family = isinstance(noise, dict) and "kind" in noise
    elements = table_in(file, "elements")
    found = (
        _OF_EVIDENCE & file.keys(),
        _OF_EVIDENCE_ROWS & rows.keys(),
        _OF_EVIDENCE_ELEMENTS & elements.keys(),
        table_in(file, "supports").get("leave_one_out"),
    )
    return is_family or elements.get("exact") is False or any(found)


class ProjectFile(Section):
    """The whole file."""

    title: str = ""
    """text: title of the report; by default the name of the folder"""
    level: Share
    """number between 0 and 1: the largest probability of rejecting the truth (alpha)"""
    # 1 is one query, 1.0 is all of them.
    budget: Annotated[
        Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0.0, le=1.0)],
        told_as("be a whole number of queries, or a share between 0.0 and 1.0"),
    ] = 1.0
    """number: largest number of queries (`1` is one query), or share of the bank (`1.0` is all)"""
    seed: Annotated[int, Field(ge=0), AfterValidator(_seed)] = 0
    """whole number: seed of the split into proposal and judging rows, and of the [draws](guarantees.md#draws)"""
    judge: Annotated[str, known_name(lambda: JUDGES)] | None = None
    """text: the test. [`evidence`](evidence.md), [`rotation`](rotation.md), [`counts`](counts.md),
    [`simulation`](simulation.md), [`invariant`](evidence.md#all-rows-without-a-split) or [`conformal`](conformal.md).
    Default: `conformal` with replicates; `evidence` for `gaussian` with `error` or `variants = "cone"`; else `rotation`
    for `gaussian`, and for strengths that are unknown unless a key of the file needs evidence; `counts` for `poisson`,
    `evidence` for other laws
    """
    judge_options: Options = {}  # noqa: RUF012  pydantic copies it
    """table: options of the judge that no other key sets"""
    draws: Annotated[int, Field(ge=1, le=10**6)] | None = None
    """whole number: with `rotation` (default 999) and `simulation` (399), data sets drawn for each explanation; more
    than one over the level
    """
    statistic: Literal["ratio", "score"] | None = None
    """text: with `simulation`, `ratio` (largest likelihood ratio over rivals) or [`score`](simulation.md) (one support,
    states in the order of one smooth coordinate). Default `score` for orientations of one dictionary in equal steps and
    a law with unseen codes, else `ratio`
    """
    policy: PolicyName | None = None
    """text: order of the queries, `regional` (default for maps), `endpoints` (default for a resolution), `fixed`,
    `random` or `farthest`. It changes the number of queries, never the safety of a label
    """
    stop: Stop = "set"
    """text: `label` stops when the labels are certified; `set` then also asks about everything still possible"""
    output: Output = Output()
    data: Data
    elements: Elements
    # States run over every combination of the values of parameters, the first of the file slowest.
    parameters: Annotated[dict[Text, Parameter], BeforeValidator(named_kinds)] = Field(default_factory=dict)
    regions: Annotated[dict[str, Region], Field(min_length=1)]
    supports: Supports = Supports()
    claims: Annotated[dict[str, ClaimSpec], Field(default_factory=dict)]
    resolution: AskedResolution | None = None
    background: Background | None = None
    outsiders: OutsiderSpec | None = None
    unlisted: Unlisted | None = None
    cover: CoverSpec | None = None
    next: Annotated[list[NextSpec], AfterValidator(_distinct_next)] = []  # noqa: RUF012  pydantic copies it

    @model_validator(mode="before")
    @classmethod
    def _with_open_strengths(cls, file: Any) -> Any:  # noqa: ANN401
        """A file whose regions all have strength = 'unknown', in the words of the law that leaves coefficients open.

        Rotations judge such rows, which need no split, unless the file has a key that only evidence takes.
        """
        try:
            listed = [name for name in file["regions"] if "unlisted" not in file or name != UNLISTED]
            strengths = {name: file["regions"][name].get("strength") for name in listed}
            rows = file["data"]["deployment"]
            law = LAWS[rows["law"]]
        except (KeyError, TypeError, AttributeError):
            return file  # not yet a file: what is wrong with it is found below
        if UNKNOWN not in strengths.values():
            return file
        if "rows" in rows and law.if_unknown:
            raise broken(f"be left out with the law {law.name}", shown(rows["rows"]), key="data.deployment.rows")
        for region, strength in strengths.items():
            place = f"regions.{region}.strength"
            if not law.if_unknown:
                raise broken(f"be left out or numbers with the law {law.name}", f"'{UNKNOWN}'", key=place)
            if strength != UNKNOWN:
                rule = f"be '{UNKNOWN}' as in other regions, or numbers in all of them"
                raise broken(rule, shown(strength), key=place)
        regions = {
            name: {k: v for k, v in region.items() if k != "strength"} for name, region in file["regions"].items()
        }
        data = {**file["data"], "deployment": {**rows, **law.if_unknown}}
        judge = {"judge": law.usual_judge} if _wants_evidence(file, rows) else {}
        return {**judge, **file, "regions": regions, "data": data}

    @model_validator(mode="before")
    @classmethod
    def _with_unlisted(cls, file: Any) -> Any:  # noqa: ANN401
        """A file with a table unlisted has one more optional region, of that name."""
        regions = table_in(file, "regions")
        if "unlisted" not in table_in(file) or not regions:
            return file
        if UNLISTED in regions:
            raise broken("have another name beside a table unlisted", UNLISTED, key=f"regions.{UNLISTED}")
        return file | {"regions": regions | {UNLISTED: {"presence": "optional"}}}

    @model_validator(mode="before")
    @classmethod
    def _with_kind(cls, file: Any) -> Any:  # noqa: ANN401
        """A file with elements of a kind, or with a recording, in the words of all others."""
        return with_recording(with_kind(file, Elements.model_fields)) if table_in(file) else file

    @model_validator(mode="after")
    def _cover_or_list(self) -> "ProjectFile":
        """Elements come from a list, or from a cover, which also covers parameters."""
        elements = self.elements
        has_boxes = any(region.box is not None for region in self.regions.values())
        if self.cover is None and not (elements.are_listed or has_boxes or self.data.learnt):
            raise needed("elements.file")
        others: dict[str, object] = {"cover": self.cover}
        others |= {f"elements.{key}": getattr(elements, key) for key in ("file", "kind", "responses")}
        stray = next((key for key, value in others.items() if value is not None), None)
        if has_boxes and stray is not None:
            remedy = "The cells of the boxes are the elements."
            raise broken("be left out beside the box of a region", Clause("it is given"), remedy, key=stray)
        if self.cover is not None and elements.kind is not None:
            raise broken(
                "be left out beside a cover, which makes elements of its own",
                Clause("a kind is given"),
                key="elements.kind",
            )
        if elements.has_lines and self.parameters:
            remedy = "What a detector leaves open are keys of [elements.detector]."
            raise broken(
                "be left out beside a kind that makes responses", Clause("a table is given"), remedy, key="parameters"
            )
        takes_cells = "parameters.between" in law_named(self.data.deployment.law).file_keys
        if self.cover is None and takes_cells:
            given = [name for name, spec in self.parameters.items() if spec.between]
            if given and len(given) < len(self.parameters):
                fixed = next(name for name in self.parameters if name not in given)
                raise broken(
                    "be a range as well, between = [low, high]", Clause("values are given"), key=f"parameters.{fixed}"
                )
        ranged = [key for key in self._ranged() if not (takes_cells and key.startswith("parameters."))]
        if self.cover is None and ranged:
            raise broken("go with a table cover", Clause("between is given"), key=f"{ranged[0]}.between")
        if self.cover is not None and elements.library is not None:
            remedy = "A cover takes responses = a table on the axis of the signal."
            raise broken("be a file beside a cover", "spectra", remedy, key="elements.responses")
        if self.cover is not None and (elements.file is None) != (elements.responses is None):
            rule = "be left out beside a cover unless responses is a file, whose columns it lists"
            raise broken(rule, shown(elements.file), key="elements.file")
        return self

    def _ranged(self) -> Iterator[str]:
        """Keys of parameters, noise and strengths that may lie anywhere in a range."""
        yield from (f"parameters.{name}" for name, spec in self.parameters.items() if spec.between)
        if self.data.deployment.noise and self.data.deployment.noise.between:
            yield "data.deployment.noise"
        for name, region in self.regions.items():
            if region.strength and region.strength.between:
                yield f"regions.{name}.strength"

    @model_validator(mode="after")
    def _left_out_beside_others(self) -> "ProjectFile":
        """Raise if a table or key is given beside another that excludes it."""
        elements = self.elements
        rows = self.data.deployment.rows
        is_table = self.cover is not None and elements.file is not None
        thresholds = {
            f"regions.{name}.absence_threshold": each.absence_threshold for name, each in self.regions.items()
        }
        of_maps = {
            f"regions.{name}.{key}": key in region.model_fields_set
            for name, region in self.regions.items()
            for key in ("tolerance", "groups", "ask", "absence_threshold")
        }
        parameters = {"parameters": self.parameters}
        tangents = {"elements.tangents": elements.tangents}
        counted = {"elements.counted": elements.counted}
        inexact = {"elements.exact": elements.exact is False}
        inexact |= {f"regions.{name}.box": each.box is not None for name, each in self.regions.items()}
        widths = {"elements.error": elements.error} | counted | tangents
        states = self.data.states
        in_cells = states is not None and law_named(states.law).goes_with_cells
        beside_rows = widths if in_cells else widths | inexact
        widths = widths | inexact
        errors = {"elements.error": elements.has_errors}
        others = {"data.calibration": self.data.calibration, "elements.replicates": elements.replicates}
        of_maps |= {"claims": bool(self.claims), "unlisted": self.unlisted is not None}
        of_learnt: dict[str, object] = {
            "cover": self.cover,
            "judge": self.judge,
            "parameters": self.parameters,
            "background": self.background,
            "supports": self.supports.model_fields_set,
            "claims": self.claims,
            "resolution": self.resolution,
            f"regions.{EVERY}.absence_threshold": EVERY in self.regions and self.regions[EVERY].absence_threshold,
        }
        no_cover = {"resolution": self.resolution, "data.deployment.window": self.data.deployment.window}
        for reason, why, keys in (
            (self.cover, "beside a cover", others | tangents | counted | errors | no_cover),
            (not law_named(self.data.deployment.law).is_counted, "unless it is one number, with this law", errors),
            (elements.variants != "states", "unless variants are states", counted),
            (self.parameters, "with parameters, which move responses", counted),
            (is_table, "beside a cover", {"cover.tangents": self.cover and self.cover.tangents} | parameters),
            (self.data.calibration, "with calibration rows, whose laws have exact responses", beside_rows),
            (self.data.learnt, "with a learnt dictionary, which makes regions and elements", of_learnt),
            (elements.replicates, "with replicates, which have a width of their own", widths | parameters),
            (rows in ("free", "random"), "where every row has coefficients of its own", tangents),
            (elements.variants != "states", "unless variants are states", tangents),
            (elements.tangents, "with tangents, which have coefficients of their own", thresholds),
            (self.supports.leave_one_out, "with leave_one_out, of which every coefficient may be 0", thresholds),
            (self.resolution, "beside a resolution, which asks for no map", of_maps),
        ):
            stray = next((key for key, value in keys.items() if value), None)
            if reason and stray is not None:
                raise broken(f"be left out {why}", Clause("it is given"), key=stray)
        return self

    @model_validator(mode="after")
    def _places_where_they_count(self) -> "ProjectFile":
        """Raise if elements have no coordinates although the question or the responses need them."""
        has_tolerance = any(region.tolerance > 0.0 for region in self.regions.values())
        counts = has_tolerance or self.elements.response or self.cover or self.resolution
        if counts and not self.elements.coordinates:
            raise needed("elements.coordinates")
        return self

    @model_validator(mode="after")
    def _law_has_what_it_needs(self) -> "ProjectFile":
        for name, stream in self.data.streams.items():
            is_needed = stream.proposal is None and law_named(stream.law).file_keys.get("proposal", False)
            if is_needed and may_propose(self.judge, stream.law):  # the judge takes long to load, and is asked last
                raise needed(f"data.{name}.proposal")
        law = self.data.deployment.law
        own_counts = self.background is not None and self.background.pile_up is True
        if own_counts and (self.data.deployment.window is None or not law_named(law).is_counted):
            # Counts outside of a window are independent of those inside, which judge.
            remedy = "Give a window, or a file with a spectrum."
            raise broken(
                "be a file unless counts are judged in a window", Clause("it is true"), remedy, key="background.pile_up"
            )
        check_of_law("background", "background", law, self.background is not None)
        check_of_law("unlisted", "unlisted", law, self.unlisted is not None)
        for key in ("peaks", "bumps", "directions"):
            is_given = self.unlisted is not None and bool(getattr(self.unlisted, key))
            check_of_law(f"unlisted.{key}", f"unlisted.{key}", law, is_given)
        if self.elements.tangents is not None and law_named(law).is_counted:
            remedy = (
                f"Give [parameters.{self.elements.tangents[0]}] between = [least, largest] instead of values. With an "
                "error of responses or with [unlisted], which exclude between, give closer values."
            )
            raise broken(f"be left out with the law {law}", Clause("it is given"), remedy, key="elements.tangents")
        for key in ("tangents", "error", "counted"):
            check_of_law(f"elements.{key}", f"elements.{key}", law, getattr(self.elements, key) is not None)
        check_of_law("elements.exact", "elements.exact", law, self.elements.exact is False)
        check_of_law("cover.tangents", "cover.tangents", law, self.cover is not None and self.cover.tangents)
        for name, region in self.regions.items():
            check_of_law("regions.strength", f"regions.{name}.strength", law, region.strength is not None)
            check_of_law("regions.box", f"regions.{name}.box", law, region.box is not None)
            # Of counts no coefficient is negative: who says so says what holds anyway.
            is_told = law_named(law).is_counted and region.coefficient == COEFFICIENTS[">= 0"]
            is_bounded = region.coefficient is not None and not is_told
            check_of_law("regions.coefficient", f"regions.{name}.coefficient", law, is_bounded)
            is_range = region.strength is not None and region.strength.between is not None
            check_of_law("regions.strength.between", f"regions.{name}.strength.between", law, is_range)
        return self
