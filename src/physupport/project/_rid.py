"""Identify nuclides for other programs: a spectrum and a library to lists of certain and of possible names."""

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Final

from .._errors import Clause, MisuseError
from .._version import __version__
from ..io import read_foreground
from ..report import Report
from ._identify import identify, identify_spectra
from ._line_elements import listed_gammas

# Nuclides that field instruments are asked to tell, natural ones among them.  Each has gamma lines of its own.
_USUAL: Final = """
Ag-110m Am-241 Ba-133 Be-7 Bi-207 Cd-109 Ce-139 Ce-141 Ce-144 Cf-249 Cm-243 Co-56 Co-57 Co-58 Co-60 Cr-51 Cs-134 Cs-136
Cs-137 Cu-67 Eu-152 Eu-154 Eu-155 Fe-59 Ga-67 Gd-153 Hf-181 Hg-203 Ho-166m I-123 I-125 I-131 I-132 I-133 I-135 In-111
Ir-192 K-40 La-140 Lu-176 Lu-177 Mn-54 Mo-99 Na-22 Na-24 Nb-94 Nb-95 Nd-147 Np-237 Np-239 Pa-231 Pa-233 Pb-210 Pu-239
Ra-226 Rb-86 Ru-103 Ru-106 Sb-122 Sb-124 Sb-125 Sc-46 Se-75 Sm-153 Sn-113 Sr-85 Ta-182 Tb-160 Te-132 Th-228 Ac-228
Tl-201 U-232 U-235 U-238 Xe-133 Y-88 Yb-169 Zn-65 Zr-95
"""
USUAL_NUCLIDES: Final = tuple(_USUAL.split())

_CATEGORIES: Final = {
    "Medical": "Cu-67 Ga-67 I-123 I-125 I-131 In-111 Lu-177 Mo-99 Rb-86 Sm-153 Tc-99m Tl-201 Xe-133 Yb-169",
    "NORM": "Ac-228 Be-7 Bi-207 K-40 La-138 Lu-176 Pb-210 Ra-226 Th-228 Th-232",
    "Nuclear": "Am-241 Cf-249 Cm-243 Np-237 Np-239 Pa-231 Pa-233 Pu-238 Pu-239 U-232 U-233 U-235 U-238",
}


def category(nuclide: str) -> str:
    """The usual category of a nuclide: Medical, NORM, Nuclear or Industrial."""
    return next((name for name, members in _CATEGORIES.items() if nuclide in members.split()), "Industrial")


def identify_nuclides(
    spectrum: str | Path,
    *,
    nuclides: Sequence[str] = (),
    library: str | Path | None = None,
    detector: str | Mapping[str, object] = "HPGe",
    member: str | None = None,
    unlisted: bool = False,
    level: float = 0.05,
) -> Report:
    """Report which nuclides a spectrum file shows, each of them by itself.

    nuclides: names whose lines are the library; `USUAL_NUCLIDES` unless given.  library: in their place, a folder or a
    file of measured spectra of the same detector, one for each nuclide.  detector: a name of `DETECTORS_BY_NAME`,
    or keys of `[elements.detector]`.  member: the detector to take from a file that has several.
    unlisted: True allows for lines that no nuclide of the library has, and says where they are.
    """
    counts, energies = read_foreground(spectrum, member)
    if library is not None:
        if nuclides:
            raise MisuseError("nuclides", "be left out with a library of spectra", ", ".join(nuclides))
        if unlisted:
            raise MisuseError("unlisted", "be left out with a library of spectra", Clause("it is given"))
        return identify_spectra((counts, energies), library, level=level, at_errors=False)
    names = tuple(nuclides) or USUAL_NUCLIDES
    listed_gammas(names, True)  # names that are none are told as those of this argument
    asked: dict[str, Any] = {"x_rays": True, "unlisted": unlisted, "level": level, "at_errors": False}
    return identify((counts, energies), nuclides=names, detector=detector, **asked)


_CERTAIN: Final = ("FINE", "GROUP")


def nuclide_answer(report: Report) -> dict[str, Any]:
    """The answer for programs: names by what may be said of them, all at the level at once.

    certain: there.  possible: neither certain nor excluded.  excluded: absent.  unlisted: True if something is there
    that the library lacks, and intervals in keV with a part of it.  if_complete: certain if nothing unlisted is there.
    Both intervals and if_complete are None unless the report allows for the unlisted.  amounts: net counts of the
    nuclides that are possible, an end of None without bound; none of libraries too large for it.  If nothing fits,
    names and amounts are empty.
    """
    labels = {field.field: str(field.label) for field in report.fields}
    unlisted = labels.pop("unlisted", None)
    complete = [field.field for field in report.fields if field.if_complete and field.if_complete[0] in _CERTAIN]
    stands = report.status not in ("EMPTY", "WITHHELD")
    groups = {"certain": _CERTAIN, "excluded": ("ABSENT",)}
    named = {
        group: [name for name, label in labels.items() if stands and label in members]
        for group, members in groups.items()
    }
    rest = [name for name in labels if stands and name not in named["certain"] + named["excluded"]]
    return {
        "program": f"physupport {__version__}",
        "status": report.status,
        "level": report.level,
        "certain": named["certain"],
        "possible": rest,
        "excluded": named["excluded"],
        "if_complete": None if unlisted is None else complete,
        "unlisted": {
            # Extra counts of any kind fit whatever the library does not: all explanations without them are rejected.
            "is_there": report.status == "EMPTY" or (stands and unlisted in _CERTAIN),
            "intervals": None if unlisted is None else report.document["unlisted"]["intervals"],
        },
        "amounts": {
            each.element: [each.low, each.high if isfinite(each.high) else None] for each in report.amounts() if stands
        },
        "sentence": report.doubt or report.sentence,
        "digest": report.digests["document"],
    }


_STRONG: Final = ((9.0, "H"), (6.0, "F"), (0.0, "L"))  # marks out of ten, as the protocol of external programs has them


def external_answer(report: Report, detector: str) -> dict[str, Any]:
    """The same as InterSpec's "External RID" reads it: a list of isotopes with name, type and confidence.

    Certain nuclides only; the confidence is ten times 1 - level.  What is possible is told in a warning.
    """
    answer = nuclide_answer(report)
    mark = round(10.0 * (1.0 - report.level), 3)
    letter = next(letter for least, letter in _STRONG if mark >= least)
    names = [name.replace("-", "") for name in answer["certain"]]
    warnings = [] if answer["certain"] or answer["possible"] else [answer["sentence"]]
    if answer["possible"]:
        warnings.append(f"Neither certain nor excluded: {', '.join(answer['possible'])}.")
    warnings.append(f"All statements hold together at level {report.level:g}; report {answer['digest'][:16]}.")
    return {
        "code": 0,
        "analysisError": 0,
        "errorMessage": None,
        "analysisWarnings": warnings,
        "drf": detector,
        "isotopeString": ", ".join(f"{name} ({letter})" for name in names),
        "isotopes": [
            {"name": short, "type": category(name), "confidence": mark, "confidenceStr": letter, "countRate": -1.0}
            for short, name in zip(names, answer["certain"], strict=True)
        ],
        "versions": {"analysis": answer["program"]},
    }
