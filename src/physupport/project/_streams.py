"""The streams of a project file: where their rows are, what made them, and which keys each law has."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, InstanceOf, model_validator

from .._errors import MisuseError, shown
from ..judges import MOST_SPLITS, make_judge
from ..laws import LAWS, Part, law_named, laws_of_files, make_law
from ._sections import Between, FileName, FileSpec, Probabilities, Section, Values, broken, needed, one_of, variances


def _channels(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise broken("be the number or the name of the axis that runs over channels", shown(value))
    return value


Channels = Annotated[int | str, BeforeValidator(_channels)]
Share = Annotated[float, Field(gt=0.0, lt=1.0)]
Whole = Annotated[int, Field(ge=1)]
Text = Annotated[str, Field(min_length=1)]


UNKNOWN = "unknown"


class NoiseFile(Section):
    """The noise of the channels, from one file."""

    variance: FileSpec | None = None
    covariance: FileSpec | None = None
    rows: FileSpec | None = None

    _one_of_them = one_of("variance", "covariance", "rows")


def _noise(value: object) -> object:
    """The word unknown, a file, or numbers in one of their spellings."""
    if value == UNKNOWN:
        return value
    if isinstance(value, str):
        files = ", ".join(f"{{ {key} = ... }}" for key in NoiseFile.model_fields)
        raise broken(f"be '{UNKNOWN}', a number, several, or one of {files}", shown(value))
    for table in (NoiseFile, Between):
        if isinstance(value, dict) and {*value} & {*table.model_fields}:
            return table.model_validate(value)
    return variances(value, (*NoiseFile.model_fields, *Between.model_fields))


Noise = Annotated[
    InstanceOf[NoiseFile] | InstanceOf[Between] | Literal["unknown"] | tuple[float, ...], BeforeValidator(_noise)
]


class Stream(Section):
    """Rows of one kind: where they are, what made them, and how many of them may propose."""

    file: FileName
    member: Text | None = None
    header: bool | None = None
    channels: Channels
    law: str
    noise: Noise | None = None
    proposal: Share | None = None
    unit: str = ""
    first_checkpoint: Whole = 128
    opponent: Literal["bank", "free"] | None = None

    @model_validator(mode="after")
    def _law_has_what_it_needs(self) -> "Stream":
        keys = law_named(self.law).file_keys
        for key in type(self).model_fields:
            # Whether a proposal is needed depends on the judge, too.
            if key in OF_LAWS and not (key == "proposal" and self.proposal is None):
                check_of_law(key, key, self.law, getattr(self, key) is not None)
        if isinstance(self.noise, Between):
            check_of_law("noise.between", "noise.between", self.law, is_given=True)
        elif self.noise is not None and not isinstance(self.noise, tuple) and "noise.open" not in keys:
            remedy = f"Or write strength = '{UNKNOWN}' in every region." if law_named(self.law).if_unknown else ""
            raise broken(f"be numbers with the law {self.law}", shown(self.noise), remedy, key="noise")
        return self


# Keys that some laws have and others have not.
OF_LAWS = {key for law in LAWS.values() for key in law.file_keys}


def check_of_law(key: str, place: str, law: str, is_given: bool) -> None:
    """A key that its law needs is there, and none that it has not; place: of the key within what is checked."""
    keys = law_named(law).file_keys
    if keys.get(key) and not is_given:
        raise needed(place)
    if is_given and key not in keys:
        takers = " or ".join(repr(other.name) for other in LAWS.values() if key in other.file_keys)
        raise broken(f"be left out with the law {law}", "a value", f"It goes with the law {takers}.", key=place)


def lacks_proposal(stream: Stream, judge: str | None) -> bool:
    """True if its law needs rows that propose and it has none; the judge, who takes long to load, is asked last."""
    is_needed = law_named(stream.law).file_keys.get("proposal", False)
    return stream.proposal is None and is_needed and may_propose(judge, stream.law)


def may_propose(judge: str | None, law: str) -> bool:
    """True if some rows of a law may propose; not if the judge that is named has all of them judge."""
    try:
        return judge is None or make_judge(judge, {}).splits(make_law(law, {}))
    except MisuseError:
        return True  # by its name alone there is no such judge


def _known(part: Part) -> Any:  # noqa: ANN401
    """The name of a law of this part that needs nothing but the file."""

    def check(value: object) -> object:
        known = laws_of_files(part)
        if value not in known:
            raise broken(f"be {' or '.join(map(repr, known))}", shown(value))
        return value

    return BeforeValidator(check)


class Calibration(Stream):
    """Rows that tell dictionary states apart."""

    law: Annotated[str, _known("calibration")]
    activity: Probabilities | None = None
    codes: FileSpec | None = None


class Deployment(Stream):
    """Rows of the signal that is asked about."""

    law: Annotated[str, _known("deployment")]
    rows: Literal["same mean", "free", "random"] | None = None
    split: Literal["thin", "rows", "fission"] | None = None
    splits: Annotated[int, Field(ge=1, le=MOST_SPLITS)] | None = None
    exposure: Values | None = None


def with_open_strengths(file: Any) -> Any:  # noqa: ANN401
    """A file whose regions all have strength = 'unknown', in the words of the law that leaves coefficients open.

    Rows then are scored at their best; who judges them stays the usual judge of the law that the file names.
    """
    try:
        strengths = {name: region.get("strength") for name, region in file["regions"].items()}
        rows = file["data"]["deployment"]
        name = file["data"]["deployment"]["law"]
    except (KeyError, TypeError, AttributeError):
        return file  # not yet a file: what is wrong with it is found below
    if UNKNOWN not in strengths.values() or not isinstance(name, str) or name not in LAWS:
        return file
    if "rows" in rows and LAWS[name].if_unknown:
        raise broken(f"be left out with the law {name}", shown(rows["rows"]), key="data.deployment.rows")
    for region, strength in strengths.items():
        place = f"regions.{region}.strength"
        if not LAWS[name].if_unknown:
            raise broken(f"be left out or numbers with the law {name}", f"'{UNKNOWN}'", key=place)
        if strength != UNKNOWN:
            raise broken(f"be '{UNKNOWN}' as in other regions, or numbers in all of them", shown(strength), key=place)
    regions = {name: {k: v for k, v in region.items() if k != "strength"} for name, region in file["regions"].items()}
    data = {**file["data"], "deployment": {**rows, **LAWS[name].if_unknown}}
    return {"judge": LAWS[name].usual_judge, **file, "regions": regions, "data": data}


class Data(Section):
    """The two records of rows; the calibration may be left out."""

    calibration: Calibration | None = None
    deployment: Deployment
