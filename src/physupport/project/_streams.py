"""The streams of a project file: where their rows are, what made them, and which keys each law has."""

import re
from functools import partial
from inspect import signature
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, PlainValidator, Tag, model_validator

from .._errors import Clause, MisuseError, shown
from ..judges import MOST_SPLITS, make_judge
from ..laws import LAWS, law_named, laws_of_files, make_law
from ..responses import RESPONSES
from ._sections import (
    File,
    FileName,
    FileSpec,
    Options,
    Section,
    Text,
    Values,
    Windows,
    broken,
    checked_ends,
    checked_values,
    known_name,
    needed,
    table_in,
    told_as,
)

UNKNOWN = "unknown"


def _without_percent(value: object) -> object:
    """Refuse a percentage by the decimal number that it stands for; return anything else."""
    number = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", str(value).strip())
    if number:
        written = f"{float(number[1]) / 100.0:.12g}"
        raise broken("be a number between 0 and 1", shown(value), f"Write {written}.")
    return value


Share = Annotated[float, Field(gt=0.0, lt=1.0), BeforeValidator(_without_percent)]


class Amount(Section):
    """Numbers above 0 to try, or a range anywhere in which one may lie, of which a cover makes cells."""

    values: Annotated[tuple[float, ...], PlainValidator(partial(checked_values, above=0.0))] = ()
    between: Annotated[tuple[float, float], PlainValidator(partial(checked_ends, above=0.0))] | None = None


class Noise(Amount):
    """The noise: variances, a range, or a file with the noise of the channels; unknown if none of these is given."""

    variance: FileSpec | None = None
    covariance: FileSpec | None = None
    rows: FileSpec | None = None
    kind: Options | None = None  # a family of covariances, with all its options

    @property
    def known(self) -> tuple[float, ...] | None:
        """Variances that make nuisance settings of the bank: numbers as they are, 1 of a known covariance."""
        return self.values or ((1.0,) if self.variance or self.covariance else None)


def amount_of(value: object, kind: type[Amount], rule: str) -> Amount:
    """Read numbers in one of their spellings, or a table with one other key."""
    keys = [key for key in kind.model_fields if key not in ("values", "kind")]
    if isinstance(value, str):
        raise broken(rule, shown(value))
    if {*table_in(value)} & {*keys}:
        if len(table_in(value)) > 1:
            listed = " and ".join(filter(None, (", ".join(keys[:-1]), keys[-1])))
            raise broken(f"have one of the keys {listed}", " and ".join(map(str, table_in(value))))
        return kind.model_validate(value)
    return kind.model_construct(values=checked_values(value, keys, above=0.0))


def _noise(value: object) -> Amount:
    if "kind" in table_in(value):
        return Noise.model_construct(kind=value)
    files = ", ".join(f"{{ {key} = ... }}" for key in ("variance", "covariance", "rows"))
    return (
        Noise()
        if value == UNKNOWN
        else amount_of(value, Noise, f"be '{UNKNOWN}', a number, several, or one of {files}")
    )


class Stream(Section):
    """Rows of one kind: where they are, what made them, and how many of them may propose."""

    file: FileName
    """text: see [files and axes](#files-and-axes)"""
    member: Text | None = None
    """text: which array of a file that holds several"""
    header: bool | None = None
    """true or false: whether the first line of a CSV names the columns; required [where that line could be
    data](#names)
    """
    channels: Annotated[int | str, told_as("be the number or the name of the axis that runs over channels")] | None = (
        None
    )
    """number or text: the axis of the channels, `0`, `1` or its name; not needed for [spectra](#spectra) and images"""
    law: str
    noise: Annotated[Noise, PlainValidator(_noise)] | None = None
    """numbers above 0, text or table: noise variance of a channel; of a whole complex entry if rows are complex.
    Required except by `gaussian`; absent with `poisson`. The deployment takes [other forms](#noise), too
    """
    proposal: Share | None = None
    """number between 0 and 1: share of the rows that propose; the others judge. Required by laws whose rows are split,
    except with `judge = "simulation"`
    """
    unit: str = ""
    """text: unit of the entries. Different units in a file, other rows or noise are refused, never converted"""
    first_checkpoint: Annotated[int, Field(ge=1)] = 128
    """whole number: evidence is computed after this many judging rows, after twice as many, and so on, and at the end
    """
    opponent: Literal["bank", "free"] | None = None
    """text: numerator of the evidence, `bank` (default, as in the paper: the best of the bank on proposal rows) or
    [`free`](evidence.md#whether-anything-fits) (half of it off the bank, so that EMPTY is possible). Not with
    `gaussian`
    """

    @model_validator(mode="after")
    def _law_has_what_it_needs(self) -> "Stream":
        law = law_named(self.law)
        for key in type(self).model_fields:
            # Whether a proposal is needed depends on the judge, too.
            if key != "proposal" or self.proposal is not None:
                check_of_law(key, key, self.law, getattr(self, key) is not None)
        if self.noise is not None and self.noise.kind is not None:
            check_of_law("noise.kind", "noise.kind", self.law, is_given=True)
        if self.noise is not None and self.noise.between is not None:
            check_of_law("noise.between", "noise.between", self.law, is_given=True)
        elif self.noise is not None and not self.noise.values and "noise.open" not in law.file_keys:
            remedy = f"Or write strength = '{UNKNOWN}' in every region." if law.if_unknown else ""
            value = f"'{UNKNOWN}'" if self.noise == Noise() else "a file"
            raise broken(f"be numbers with the law {self.law}", value, remedy, key="noise")
        return self


def check_of_law(key: str, place: str, law: str, is_given: bool) -> None:
    """Raise if a key that the law needs is missing, or a key is given that only other laws have.

    place: the key within the table that is checked.  Any law takes a key that no law declares.
    """
    keys = law_named(law).file_keys
    if keys.get(key) and not is_given:
        raise needed(place)
    takers = [repr(other.name) for other in LAWS.values() if key in other.file_keys]
    if is_given and takers and key not in keys:
        remedy = f"It goes with the law {' or '.join(takers)}."
        raise broken(f"be left out with the law {law}", Clause("it is given"), remedy, key=place)


def may_propose(judge: str | None, law: str) -> bool:
    """True if some rows of a law may propose; not if the judge that is named has all of them judge."""
    try:
        return judge is None or make_judge(judge, {}).splits(make_law(law, {}))
    except MisuseError:
        return True  # by its name alone there is no such judge


class Calibration(Stream):
    """Rows that tell dictionary states apart."""

    law: Annotated[str, known_name(partial(laws_of_files, "calibration"))]
    """text: `latent` (each atom is active at random, with a standard normal coefficient) or `known codes` (the
    coefficients of each row are given)
    """
    activity: Annotated[tuple[float, ...], PlainValidator(partial(checked_values, above=0.0, below=1.0))] | None = None
    """numbers between 0 and 1: how often an atom is active; required with `latent`"""
    codes: FileSpec | None = None
    """file: with `known codes`, a row of codes for each row, regions before shared atoms, or under their
    [names](#names). Without it, the codes follow the channels in further columns
    """
    frequencies: ClassVar[tuple[float, ...] | None] = None


class LearntCalibration(Section):
    """Rows that a dictionary was learnt from, and the places that its atoms may have."""

    file: FileName
    """text: as for other rows, like the next three keys"""
    member: Text | None = None
    """text: which array"""
    header: bool | None = None
    """true or false: whether the first line names the columns"""
    channels: Annotated[int | str, told_as("be the number or the name of the axis that runs over channels")] | None = (
        None
    )
    """number or text: the axis of the channels"""
    learner: Literal["dictionary"] | None = None
    """text: `dictionary`, scikit-learn learns `atoms` atoms from these rows (`pip install "physupport[learn]"`)"""
    atoms: Annotated[int, Field(ge=1, le=1000)] | None = None
    """whole number: number of atoms; required with `learner`"""
    dictionary: FileSpec | None = None
    """file: atoms learnt elsewhere, one a row or one a column. Only their number matters; the report adds their reading
    """
    learnt_on: Text = ""
    """text: which rows it was learnt on, for the report"""
    places: dict[Text, Annotated[tuple[float, float], PlainValidator(checked_ends)]] | None = None
    """table: box of every atom, such as `{ x = [0.02, 0.98] }`; required with a `response`"""

    @model_validator(mode="after")
    def _one_dictionary(self) -> "LearntCalibration":
        if self.learner is not None and self.dictionary is not None:
            raise broken("be left out beside a dictionary from a file", shown(self.learner), key="learner")
        if self.learner is not None and self.atoms is None:
            raise needed("atoms")
        return self


def _kind_of_calibration(value: object) -> str:
    """Tell calibrations whose dictionary was learnt by their keys."""
    keys = {*value} if isinstance(value, dict) else set()
    return "<learnt>" if keys & {"learner", "dictionary"} else "<rows>"


class Deployment(Stream):
    """Rows of the signal that is asked about."""

    law: Annotated[str, known_name(partial(laws_of_files, "deployment"))]
    """text: `covariance` (random coefficients with variance `strength`), `mean` (coefficients `strength`),
    [`gaussian`](rotation.md) (unknown coefficients of responses and background, Gaussian noise) or
    [`poisson`](counts.md) (counts around such a mix without negative parts)
    """
    rows: Literal["same mean", "free", "random"] | None = None
    """text: with `gaussian`, `same mean` (default: the same coefficients in all rows), `free` (each row has its own, as
    snapshots of unknown waveforms) or `random` (Gaussian about 0 with one unknown covariance)
    """
    split: Literal["thin", "rows", "fission"] | None = None
    """text: with `poisson`, `thin` (default) halves every count by a coin, `rows` takes half of the rows. With
    `gaussian` and `judge = "evidence"`, `rows` (default), or [`fission`](evidence.md#unknown-coefficients-and-noise)
    for a single row of known noise
    """
    splits: Annotated[int, Field(ge=1, le=MOST_SPLITS)] | None = None
    """whole number: number of splits that evidence averages, at most 1000. Default 4 with `poisson`; with `gaussian`
    and `judge = "evidence"` 1, or 8 with `fission`
    """
    exposure: Values | None = None
    """numbers above 0: with `poisson`, exposure of every row, such as live times; equal by default"""
    window: Windows | None = None
    """`[low, high]` or a list of these: the part of the axis to use, in its units, see [windows](#windows)"""
    frequencies: Annotated[tuple[float, ...], PlainValidator(partial(checked_values, above=0.0, most=100))] | None = (
        None
    )
    """numbers above 0: of a [recording](#recordings), frequencies in hertz to evaluate. `law`, `rows`, `noise`, and
    `channels` of a `.wav` file, are then optional
    """
    sampling_rate: Annotated[float, Field(gt=0.0)] | None = None
    """number above 0: of a recording, samples a second; a `.wav` file states its own"""
    frame: Annotated[int, Field(ge=8)] | None = None
    """whole number: of a recording, samples of a frame; default a power of two of about 32 ms"""
    gap: Annotated[int, Field(ge=0)] | None = None
    """whole number: of a recording, samples between frames; default a quarter of a frame"""
    segment: Annotated[tuple[float, float], PlainValidator(checked_ends)] | None = None
    """`[start, end]`: of a recording, the part to use in seconds; default all"""
    options: Options = {}  # noqa: RUF012  pydantic copies it
    """table: options of the law that no other key sets"""
    codes: ClassVar[File | None] = None

    @model_validator(mode="after")
    def _of_a_recording(self) -> "Deployment":
        if self.frequencies is None:
            keys = ("sampling_rate", "frame", "gap", "segment")
            stray = next((key for key in keys if getattr(self, key) is not None), None)
            if stray is not None:
                remedy = "Give the frequencies at which a recording is looked at, in hertz: frequencies = [1000]."
                raise broken("go with frequencies", Clause("there is none"), remedy, key=stray)
            return self
        if self.window is not None:
            raise broken("be left out beside frequencies: a recording has no axis", Clause("it is given"), key="window")
        if self.rows not in ("free", "random"):
            remedy = 'Write rows = "random", or leave law and rows out.'
            raise broken("be 'random' or 'free' where a recording has waves", shown(self.rows), remedy, key="rows")
        if self.sampling_rate is None and not self.file.lower().endswith(".wav"):
            remedy = "Only a .wav file states it: sampling_rate = 16000."
            raise broken(
                "be given with frequencies, in samples a second", Clause("it is missing"), remedy, key="sampling_rate"
            )
        return self


# What a recording is judged by where its file says nothing else: waves and noise that nobody knows.
_OF_RECORDINGS = {"law": "gaussian", "rows": "random", "noise": {"kind": "any"}}


def with_recording(file: dict[str, Any]) -> dict[str, Any]:
    """A project file with a recording, whose deployment has frequencies: the keys that follow from these filled in."""
    rows = table_in(file, "data", "deployment")
    if "frequencies" not in rows:
        return file
    usual: dict[str, Any] = {} if "law" in rows else dict(_OF_RECORDINGS)
    if str(rows.get("file")).lower().endswith(".wav"):
        usual["channels"] = "channels"
    made = {**file, "data": {**file["data"], "deployment": {**usual, **rows}}}
    response = table_in(file, "elements", "response")
    make = RESPONSES.get(str(response.get("kind")))
    if make is not None and "frequencies" in signature(make).parameters:
        made["elements"] = {**file["elements"], "response": {"frequencies": rows["frequencies"], **response}}
    return made


class Data(Section):
    """The two records of rows; the calibration may be left out."""

    calibration: (
        Annotated[
            Annotated[Calibration, Tag("<rows>")] | Annotated[LearntCalibration, Tag("<learnt>")],
            Discriminator(_kind_of_calibration),
        ]
        | None
    ) = None
    deployment: Deployment

    @property
    def learnt(self) -> LearntCalibration | None:
        """The calibration, if a dictionary was learnt from it."""
        return self.calibration if isinstance(self.calibration, LearntCalibration) else None

    @property
    def states(self) -> Calibration | None:
        """The calibration, if its rows tell dictionary states apart."""
        return self.calibration if isinstance(self.calibration, Calibration) else None

    @property
    def streams(self) -> dict[str, Calibration | Deployment]:
        """The streams that the project has, calibration first."""
        first: dict[str, Calibration | Deployment] = {} if self.states is None else {"calibration": self.states}
        return first | {"deployment": self.deployment}
