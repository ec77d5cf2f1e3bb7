"""The streams of a project file: where their rows are, what made them, and which keys each law has."""

import re
from functools import partial
from inspect import signature
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, PlainValidator, Tag, model_validator

from .._errors import MisuseError, shown
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
    member: Text | None = None
    header: bool | None = None
    channels: Annotated[int | str, told_as("be the number or the name of the axis that runs over channels")] | None = (
        None
    )
    law: str
    noise: Annotated[Noise, PlainValidator(_noise)] | None = None
    proposal: Share | None = None
    unit: str = ""
    first_checkpoint: Annotated[int, Field(ge=1)] = 128
    opponent: Literal["bank", "free"] | None = None

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
        raise broken(f"be left out with the law {law}", "a value", remedy, key=place)


def may_propose(judge: str | None, law: str) -> bool:
    """True if some rows of a law may propose; not if the judge that is named has all of them judge."""
    try:
        return judge is None or make_judge(judge, {}).splits(make_law(law, {}))
    except MisuseError:
        return True  # by its name alone there is no such judge


class Calibration(Stream):
    """Rows that tell dictionary states apart."""

    law: Annotated[str, known_name(partial(laws_of_files, "calibration"))]
    activity: Annotated[tuple[float, ...], PlainValidator(partial(checked_values, above=0.0, below=1.0))] | None = None
    codes: FileSpec | None = None
    frequencies: ClassVar[tuple[float, ...] | None] = None


class LearntCalibration(Section):
    """Rows that a dictionary was learnt from, and the places that its atoms may have."""

    file: FileName
    member: Text | None = None
    header: bool | None = None
    channels: Annotated[int | str, told_as("be the number or the name of the axis that runs over channels")] | None = (
        None
    )
    learner: Literal["dictionary"] | None = None
    atoms: Annotated[int, Field(ge=1, le=1000)] | None = None
    dictionary: FileSpec | None = None
    learnt_on: Text = ""
    places: dict[Text, Annotated[tuple[float, float], PlainValidator(checked_ends)]] | None = None

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
    rows: Literal["same mean", "free", "random"] | None = None
    split: Literal["thin", "rows", "fission"] | None = None
    splits: Annotated[int, Field(ge=1, le=MOST_SPLITS)] | None = None
    exposure: Values | None = None
    window: Windows | None = None
    frequencies: Annotated[tuple[float, ...], PlainValidator(partial(checked_values, above=0.0, most=100))] | None = (
        None
    )
    sampling_rate: Annotated[float, Field(gt=0.0)] | None = None
    frame: Annotated[int, Field(ge=8)] | None = None
    gap: Annotated[int, Field(ge=0)] | None = None
    segment: Annotated[tuple[float, float], PlainValidator(checked_ends)] | None = None
    options: Options = {}  # noqa: RUF012  pydantic copies it
    codes: ClassVar[File | None] = None

    @model_validator(mode="after")
    def _of_a_recording(self) -> "Deployment":
        if self.frequencies is None:
            keys = ("sampling_rate", "frame", "gap", "segment")
            stray = next((key for key in keys if getattr(self, key) is not None), None)
            if stray is not None:
                remedy = "Give the frequencies at which a recording is looked at, in hertz: frequencies = [1000]."
                raise broken("go with frequencies", "none", remedy, key=stray)
            return self
        if self.window is not None:
            raise broken("be left out beside frequencies: a recording has no axis", "a value", key="window")
        if self.rows not in ("free", "random"):
            remedy = 'Write rows = "random", or leave law and rows out.'
            raise broken("be 'random' or 'free' where a recording has waves", shown(self.rows), remedy, key="rows")
        if self.sampling_rate is None and not self.file.lower().endswith(".wav"):
            remedy = "Only a .wav file states it: sampling_rate = 16000."
            raise broken("be given with frequencies, in samples a second", "nothing", remedy, key="sampling_rate")
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
