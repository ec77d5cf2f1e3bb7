"""Lines that elements and nuclides emit, from libraries of measured and evaluated data.

X-ray lines come from xraylib (BSD), gamma lines from actigamma (Apache 2.0).  Both are optional.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np

from .._errors import Clause, MisuseError
from .._typing import Array

# Daughters that grow in with a parent, and the share of its decays that lead there.  A daughter is in equilibrium with
# its parent if it lives less long, and at most `_LONGEST`; it then decays faster by T / (T - t), of half-lives T and t.
_DAUGHTERS: Final[Mapping[str, Sequence[tuple[str, float]]]] = {
    "Mg28": [("Al28", 1.0)], "Ti44": [("Sc44", 1.0)], "Fe52": [("Mn52m", 1.0)], "Ge68": [("Ga68", 1.0)],
    "Sr82": [("Rb82", 1.0)], "Sr90": [("Y90", 1.0)], "Zr97": [("Nb97", 1.0)], "Mo99": [("Tc99m", 0.876)],
    "Ru103": [("Rh103m", 0.988)], "Ru106": [("Rh106", 1.0)], "Pd103": [("Rh103m", 1.0)], "Cd109": [("Ag109m", 1.0)],
    "Ag108m": [("Ag108", 0.087)], "Ag110m": [("Ag110", 0.0136)], "Sn113": [("In113m", 1.0)],
    "Sn126": [("Sb126m", 1.0)], "Sb125": [("Te125m", 0.231)], "Te132": [("I132", 1.0)], "Cs137": [("Ba137m", 0.944)],
    "Ba140": [("La140", 1.0)], "Ce144": [("Pr144", 0.99)], "Hf172": [("Lu172", 1.0)], "W188": [("Re188", 1.0)],
    "Hg194": [("Au194", 1.0)], "Ra228": [("Ac228", 1.0)], "Th228": [("Ra224", 1.0)], "Ra224": [("Rn220", 1.0)],
    "Rn220": [("Po216", 1.0)], "Po216": [("Pb212", 1.0)], "Pb212": [("Bi212", 1.0)], "Bi212": [("Tl208", 0.3594)],
    "U238": [("Th234", 1.0)], "Th234": [("Pa234m", 1.0)], "Ra226": [("Rn222", 1.0)], "Rn222": [("Po218", 1.0)],
    "Po218": [("Pb214", 1.0)], "Pb214": [("Bi214", 1.0)], "Pb210": [("Bi210", 1.0)], "U235": [("Th231", 1.0)],
    "Ac227": [("Th227", 0.986), ("Fr223", 0.0138)], "Th227": [("Ra223", 1.0)], "Ra223": [("Rn219", 1.0)],
    "Rn219": [("Po215", 1.0)], "Po215": [("Pb211", 1.0)], "Pb211": [("Bi211", 1.0)], "Bi211": [("Tl207", 0.9972)],
    "Np237": [("Pa233", 1.0)], "Th229": [("Ra225", 1.0)], "Ra225": [("Ac225", 1.0)], "Ac225": [("Fr221", 1.0)],
    "Fr221": [("At217", 1.0)], "At217": [("Bi213", 1.0)], "Bi213": [("Tl209", 0.0209)], "Am243": [("Np239", 1.0)],
    "Pu244": [("U240", 1.0)],
}  # fmt: skip
_LONGEST: Final = 40.0 * 86400.0  # seconds
_KEV: Final = 1e-3
_NUCLIDE: Final = re.compile(r"([A-Z][a-z]?)-?(\d+)(m?\d?)|(\d+)(m?)-?([A-Z][a-z]?)")
# Relative to the strongest line, weaker ones are left out.
_WEAKEST: Final = 1e-4


class Emission(NamedTuple):
    """The lines that one element or nuclide emits."""

    name: str
    number: float  # Z, or 1000 Z + A, half a unit more for an isomer
    lines: Array  # (L, 2) energies in keV and intensities
    daughters: tuple[str, ...] = ()  # whose lines are among these, in equilibrium


def _library(name: str, extra: str) -> Any:  # noqa: ANN401  a module without types
    try:
        return import_module(name)
    except ImportError:
        remedy = f'Install it: pip install "physupport[{extra}]".'
        raise MisuseError("elements.kind", f"find the package {name}", Clause("it is not installed"), remedy) from None


def xray_lines(symbols: Sequence[str], excitation: float) -> tuple[Emission, ...]:
    """The K, L and M lines of chemical elements that photons of an energy in keV excite, with their cross sections.

    Intensities are fluorescence cross sections (cm2/g) with cascades: relative within an element, per mass between
    elements.  Absorption in the sample and the efficiency of the detector are not in them.
    """
    xraylib = _library("xraylib", "xray")
    if not excitation > 0.0:
        raise MisuseError("excitation", "be an energy above 0 in keV", excitation)
    lines = [number for name, number in vars(xraylib).items() if re.fullmatch(r"(K|L[123]|M[1-5])[LMNOP]\d_LINE", name)]
    return tuple(_xray_emission(xraylib, symbol, lines, excitation) for symbol in symbols)


def _xray_emission(xraylib: Any, symbol: str, numbers: Sequence[int], excitation: float) -> Emission:  # noqa: ANN401
    try:
        z = xraylib.SymbolToAtomicNumber(symbol)
    except ValueError:
        remedy = "Write symbols as in Fe or Pb."
        raise MisuseError("symbols", "be symbols of chemical elements", repr(symbol), remedy) from None
    found = []
    for number in numbers:
        try:
            strength = xraylib.CS_FluorLine_Kissel_Cascade(z, number, excitation)
            found.append((xraylib.LineEnergy(z, number), strength))
        except ValueError:  # this element has no such line, or the energy does not excite it
            continue
    return Emission(symbol, float(z), _strongest("symbols", symbol, found, f"below {excitation:g} keV"))


def _strongest(key: str, name: str, found: Sequence[tuple[float, float]], where: str) -> Array:
    lines = np.array(sorted(found), dtype=np.float64).reshape(-1, 2)
    lines = lines[(lines[:, 0] > 0.0) & (lines[:, 1] > _WEAKEST * lines[:, 1].max(initial=0.0))]
    if not len(lines):
        raise MisuseError(key, f"have a line {where}", Clause(f"{name} has none"), f"Leave {name} out.")
    return np.asarray(lines)


@cache
def _decays() -> Any:  # noqa: ANN401  the database of a package without types
    return _library("actigamma", "gamma").Decay2012Database()


def gamma_lines(nuclides: Sequence[str], x_rays: bool = False) -> tuple[Emission, ...]:
    """The gamma lines of nuclides such as "Cs-137" or "Ag-110m", per decay, with those of daughters in equilibrium.

    A daughter is taken to be in equilibrium if it lives at most 40 days and less long than its parent, and so has its
    daughters.  Others, such as Bi-207 in old bismuth or Ac-228 in thorium, are nuclides of their own.
    x_rays: True adds the X-rays that follow decays; they lie below 120 keV.
    """
    return tuple(_gamma_emission(name, x_rays) for name in nuclides)


def _gamma_emission(name: str, x_rays: bool) -> Emission:
    found = _NUCLIDE.fullmatch(name.strip())
    database = _decays()
    key = "" if found is None else f"{found[1] or found[6]}{found[2] or found[4]}{found[3] or found[5] or ''}"
    if key not in database.allnuclides:
        remedy = "Write nuclides as in Cs-137 or Ag-110m."
        raise MisuseError("nuclides", "be nuclides with known decays", repr(name), remedy)
    lines = list[tuple[float, float]]()
    members = _in_equilibrium(key)
    for member, activity in members:
        for kind in ("gamma", "x-ray") if x_rays else ("gamma",):
            if not database.hastype(member, kind):
                continue
            energies = database.getenergies(member, spectype=kind)
            heights = database.getintensities(member, spectype=kind)
            lines += [(e * _KEV, activity * h) for e, h in zip(energies, heights, strict=True)]
    zai = float(database.getzai(key))
    daughters = tuple(_written(member) for member, _ in members[1:])
    return Emission(
        _written(key), (zai // 10) + 0.5 * (zai % 10), _strongest("nuclides", name, lines, "of gammas"), daughters
    )


def _written(key: str) -> str:
    """The usual name of a nuclide: Ag-110m of Ag110m."""
    return re.sub(r"^([A-Z][a-z]?)", r"\1-", key)


def _in_equilibrium(parent: str) -> list[tuple[str, float]]:
    """A nuclide and its daughters in equilibrium, with their activities relative to its own."""
    database = _decays()
    lived = float(database.gethalflife(parent))
    members = [(parent, 1.0)]
    for name, activity in members:  # grows while it is gone through
        for daughter, share in _DAUGHTERS.get(name, ()):
            life = float(database.gethalflife(daughter))
            if life < lived and life <= _LONGEST:
                members.append((daughter, activity * share * lived / (lived - life)))
    return members
