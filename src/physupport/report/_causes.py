"""Sentences about rows that nothing fits: what would have to be true, with the keys to change."""

from collections.abc import Mapping

from ._words import Entry, is_grid, library_of, plain

# By cause: what would have to be true; then the key of the project file, and what to give in Python.
_WORDS = {
    "source": (
        "one more element is there: {place}",
        "`count` of its region, in Python `counts` of `library_bank`, `count` of `locate`",
    ),
    "place": (
        "a source lies between the listed places: {place}",
        "more places in `[elements] file`, or a table `[cover]`; in Python a finer `Library`",
    ),
    "shift": (
        "the axis is shifted by {value:+.2g} channels ({place})",
        '`[parameters.shift] between`, or `values` where that is refused, in Python `Parameter("shift", ...)`',
    ),
    "scale": (
        "the axis is stretched by a factor of {value:.4g} ({place})",
        '`[parameters.scale] values`, in Python `Parameter("scale", ...)`',
    ),
    "width": (
        "lines have another width, by a Gaussian of {value:+.2g} channels ({place})",
        '`[parameters.width] values`, in Python `Parameter("width", ...)`',
    ),
    "row": (
        "the library lacks a response{place}",
        "add it to `[elements] file` and `responses`, or to their `nuclides` or `symbols`, or to `[background] atoms`, "
        "in Python `background`",
    ),
    "background": (
        "there is a smooth background beside the declared one",
        "`[background] polynomial = 3` or `splines`, in Python `background`",
    ),
    "pile-up": (
        "counts pile up, in pairs of summed energy",
        "`[background] pile_up = true`, in Python the spectrum convolved with itself as `background`",
    ),
    "saturation": (
        "the detector saturates",
        "measure with less intensity, or leave the strongest channels out by `[data.deployment] window`",
    ),
    "noise": (
        "the noise has {value:.3g} times the variance that is stated",
        "`[data.deployment] noise`, in Python `noises`",
    ),
    "scatter": (
        "counts scatter {value:.3g} times as much as Poisson counts",
        "give counts as they were recorded, neither scaled nor corrected",
    ),
    "colour": (
        "channels share their noise",
        '`[data.deployment] noise = {{ rows = "empty.npy" }}` or, of random rows, `{{ kind = "low rank", rank = 4 }}`, '
        "in Python `covariance`",
    ),
    "channels": ("something is wrong in {place}", "leave it out of rows and responses"),
    "rows": (
        "{place} of those searched, counted from 0, is unlike the others",
        "leave it out of `[data.deployment] file`",
    ),
    "error": (
        "responses are wrong by a shape of their own",
        "`[elements] error`, of nuclides and symbols `[elements.detector]`, in Python `error`",
    ),
}
# What replaces these words where regions are optional, where places are a grid, and where the noise has a kind.
_ONE_OF_SEVERAL = (
    "`[supports] max_active` or `list`, or `presence` or `count` of its region, in Python `max_active` of `identify`, "
    "`supports` of `library_bank`"
)
_FINER = "halve `step` of the grid, or give a table `[cover]`; in Python a finer grid"
_NOISE_OF_A_KIND = "a larger `ratio` where the noise has one, in Python `noise_shape`; `error` does not go with it"
_SCALES = {
    "peak": "{} of their largest value",
    "angle": "an angle whose sine is {}",
}


def cause_sentences(document: Entry) -> list[str]:
    """The ranked causes of a document that has any, each with the key to change."""
    causes = (document.get("diagnosis") or {}).get("causes", ())
    keys = _keys(document) if causes else {}
    return [_cause(each, keys) for each in causes]


def likeliest_cause(document: Entry) -> str:
    """The first of the causes as a sentence, without the key to change; empty where there is none."""
    causes = (document.get("diagnosis") or {}).get("causes", ())
    return f" Most likely, {_cause(causes[0], {}).partition(' (change: ')[0]}." if causes else ""


def diagnosis_sentences(document: Entry) -> str:
    """The ranked causes and the smallest error of the responses at which something fits, of a document that has any."""
    found = document["diagnosis"]
    said = ""
    if found["causes"]:
        causes = [f"({number}) {text}" for number, text in enumerate(cause_sentences(document), 1)]
        said = f" What would have to be true, the most likely first: {'; '.join(causes)}."
    if is_grid(document) and all(each["cause"] != "place" for each in found["causes"]):
        said += f" The source may also lie between the grid points: {_FINER}."
    if found["error"] and not _has_noise_of_a_kind(document):
        error = _SCALES[found["scale"]].format(f"about {found['error']:.2g}")
        said += (
            f" Something fits if responses may be off by {error}: `[elements] error` where the law and the judge take "
            f"one, of nuclides and symbols the ranges of `[elements.detector]`."
        )
    rows = "all rows" if found["is_all"] else "the rows that propose"
    return f"{said} This is a search in {rows}, a hint without a guarantee." if said else ""


def _keys(document: Entry) -> dict[str, str]:
    """By cause: the keys that this document's bank and law take, where they are not the usual ones."""
    found = {}
    if len(library_of(document).get("order", ())) > 1:
        found["source"] = _ONE_OF_SEVERAL
    if is_grid(document):
        found["place"] = _FINER
    if _has_noise_of_a_kind(document):
        found["error"] = _NOISE_OF_A_KIND
    return found


def _has_noise_of_a_kind(document: Entry) -> bool:
    """True if some deployment law has a shape of its noise, which takes no error of responses beside it."""
    streams = document["protocol"]["streams"]
    return any(each["name"] == "deployment" and each["law"].get("noise_shape") for each in streams)


def _cause(entry: Entry, keys: Mapping[str, str]) -> str:
    what, key = _WORDS.get(entry["cause"], ("{place}", ""))
    key = keys.get(entry["cause"], key)
    place = plain(entry["place"])
    if entry["cause"] == "row":
        place = f" around {place}" if place else ", of a shape of its own"
    told = what.format(place=place, value=0.0 if entry["value"] is None else entry["value"])
    share = f"{100.0 * min(entry['share'], 0.995):.0f} %"
    return f"{told}, which explains {share} of the misfit (change: {key.format()})"
