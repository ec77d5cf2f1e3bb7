from math import exp, log, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import chdtr, chdtrc, chdtri, gammaincinv, ndtr, ndtri

from physupport import MisuseError
from physupport._codec import real
from physupport.project import load_project, run_project

# Behind the project of peaks.
SECOND = """
[regions.B]
strength = 2.0
presence = "optional"
tolerance = 0.01
"""

ELEMENTS = "id,region,x\na1,A,0.2\na2,A,0.35\nb1,B,0.7\nb2,B,0.9\n"

CALIBRATION = """
[data.calibration]
file = "calibration.npy"
channels = 1
law = "latent"
activity = 0.3
noise = 0.5
proposal = 0.4
"""


def columns(places, width=0.15):
    """The responses of the project, written anew."""
    waves = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 8)[:, None] - np.array(places)) / width) ** 2)
    return waves / np.linalg.norm(waves, axis=0)


def make_rows(atoms, n_rows, seed=0, strength=2.0, noise=0.5):
    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(n_rows, atoms.shape[1])) * np.sqrt(strength)
    return codes @ atoms.T + np.sqrt(noise) * rng.normal(size=(n_rows, len(atoms)))


@pytest.fixture
def write(tmp_path, write_peaks):
    """Write the project of peaks with a second region and rows of both."""

    def written(*changes, more="", elements=ELEMENTS, **files):
        arrays = {"deployment": make_rows(columns([0.2, 0.7]), 400)}
        if "[data.calibration]" in more:
            arrays["calibration"] = make_rows(columns([0.2, 0.7]), 300, seed=1)
        return write_peaks(tmp_path, *changes, more=SECOND + more, elements=elements, **(arrays | files))

    return written


def contents(folder):
    """Every file below a folder with its bytes."""
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def small():
    """The parts of the small project, for tests that change it."""
    return SimpleNamespace(
        calibration=CALIBRATION, elements=ELEMENTS, columns=columns, make_rows=make_rows, contents=contents
    )


@pytest.fixture
def refused(small):
    """The one message with which a run ends, nothing written."""

    def message(path, **options):
        before = small.contents(path.parent)
        with pytest.raises(MisuseError) as caught:
            run_project(load_project(path, **options))
        assert small.contents(path.parent) == before
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith((path.name, "override "))  # what is to be changed, wherever it was met
        return str(caught.value)

    return message


@pytest.fixture
def holds_level():
    """True if a test at the level of a protocol has at most the level asked for, by formulas of our own."""

    def holds(protocol):
        cover = protocol["cover"]
        extra = halves([each["values"] for each in cover["parameters"]], cover["parameter_cells"])
        moves = [
            move(np.array([*halves(zip(each["low"], each["high"], strict=True), each["cells"]), *extra]), each, cover)
            for each in cover["regions"]
        ]
        kappa = cover["unit_kappa"] * (cover["snr"] * max(moves)) ** 2
        assert np.allclose([cover["kappa"], cover["eta"]], [kappa, sqrt(2.0 * kappa)], rtol=1e-6)
        return is_low_enough(after_ranges(protocol["level"], cover), cover["asked"], kappa, cover)

    return holds


def halves(ends, counts):
    return [(high - low) / (2.0 * count) for (low, high), count in zip(ends, counts, strict=True)]


def move(half, region, cover):
    """First order, or what tangents leave of it: two thirds of own bends, and mixed ones once for each pair."""
    first = float(np.dot(half, region["slopes"]))
    if not cover["tangents"]:
        return first
    bends = real(region["bends"], len(half), len(half))
    own = sum(2.0 / 3.0 * bends[k, k] * half[k] ** 2 for k in range(len(half)))
    mixed = sum(bends[k, m] * half[k] * half[m] for k in range(len(half)) for m in range(k))
    return min(first, float(own + mixed))


def is_low_enough(level, wanted, kappa, cover):
    """True if a test of this level before all moves has at most the level asked for after them."""
    if level > wanted:
        return False
    if cover["is_shift"]:
        return bool(ndtr(ndtri(level) + sqrt(2.0 * kappa)) <= wanted * (1.0 + 1e-6))
    divergence = wanted * log(wanted / level) + (1.0 - wanted) * log((1.0 - wanted) / (1.0 - level))
    return divergence >= kappa * (1.0 - 1e-6)


def after_ranges(level, cover):
    """The largest level after noise, and then strengths, are anywhere in their cells."""
    for is_noise in (True, False):
        kind = [each for each in cover.get("ranges", ()) if (each["region"] is None) == is_noise]
        if not kind:
            continue
        size = max(each["size"] for each in kind)
        moving = min(cover["active"], sum(each["most"] for each in kind))
        if kind[0]["is_shift"]:
            half = max((each["high"] - each["low"]) / (2.0 * each["cells"]) for each in kind)
            level = float(ndtr(ndtri(level) + moving * size * half))
        else:
            half = max((log(each["high"]) - log(each["low"])) / (2.0 * each["cells"]) for each in kind)
            level = max(rescaled(level, up * size, (moving - up) * size, exp(half)) for up in range(moving + 1))
    return level


def rescaled(level, grown, shrunk, ratio):
    """The largest level after so many variances shrink by a ratio, and then others grow by it."""
    if shrunk:
        level = float(chdtr(shrunk, 2.0 * float(gammaincinv(0.5 * shrunk, level)) * ratio))
    return float(chdtrc(grown, float(chdtri(grown, level)) / ratio)) if grown else level
