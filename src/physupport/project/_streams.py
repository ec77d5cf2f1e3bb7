"""The streams of a project file: where their rows are, what made them, and which keys each law has."""

from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PlainValidator, model_validator

from .._errors import MisuseError, shown
from ..judges import MOST_SPLITS, make_judge
from ..laws import LAWS, law_named, laws_of_files, make_law
from ._sections import (
    File,
    FileName,
    FileSpec,
    Options,
    Section,
    Text,
    Values,
    broken,
    checked_ends,
    checked_values,
    known_name,
    needed,
    told_as,
)

UNKNOWN = "unknown"
Share = Annotated[float, Field(gt=0.0, lt=1.0)]


class Amount(Section):
    """Numbers above 0 to try, or a range anywhere in which one may lie, of which a cover makes cells."""

    values: Annotated[tuple[float, ...], PlainValidator(partial(checked_values, above=0.0))] = ()
    between: Annotated[tuple[float, float], PlainValidator(partial(checked_ends, above=0.0))] | None = None


class Noise(Amount):
    """The noise: variances, a range, or a file with the noise of the channels; unknown if none of these is given."""

    variance: FileSpec | None = None
    covariance: FileSpec | None = None
    rows: FileSpec | None = None

    @property
    def known(self) -> tuple[float, ...] | None:
        """Variances that make nuisance settings of the bank: numbers as they are, 1 of a known covariance."""
        return self.values or ((1.0,) if self.variance or self.covariance else None)


def amount_of(value: object, kind: type[Amount], rule: str) -> Amount:
    """Read numbers in one of their spellings, or a table with one other key."""
    keys = [key for key in kind.model_fields if key != "values"]
    if isinstance(value, str):
        raise broken(rule, shown(value))
    if isinstance(value, dict) and {*value} & {*keys}:
        if len(value) > 1:
            listed = " and ".join(filter(None, (", ".join(keys[:-1]), keys[-1])))
            raise broken(f"have one of the keys {listed}", " and ".join(map(str, value)))
        return kind.model_validate(value)
    return kind.model_construct(values=checked_values(value, keys, above=0.0))


def _noise(value: object) -> Amount:
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
    channels: Annotated[int | str, told_as("be the number or the name of the axis that runs over channels")]
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


class Deployment(Stream):
    """Rows of the signal that is asked about."""

    law: Annotated[str, known_name(partial(laws_of_files, "deployment"))]
    rows: Literal["same mean", "free", "random"] | None = None
    split: Literal["thin", "rows", "fission"] | None = None
    splits: Annotated[int, Field(ge=1, le=MOST_SPLITS)] | None = None
    exposure: Values | None = None
    options: Options = {}  # noqa: RUF012  pydantic copies it
    codes: ClassVar[File | None] = None


class Data(Section):
    """The two records of rows; the calibration may be left out."""

    calibration: Calibration | None = None
    deployment: Deployment

    @property
    def streams(self) -> dict[str, Calibration | Deployment]:
        """The streams that the project has, calibration first."""
        first: dict[str, Calibration | Deployment] = (
            {} if self.calibration is None else {"calibration": self.calibration}
        )
        return first | {"deployment": self.deployment}
