"""Example projects, written out for the user to run and to change.

The examples `eeg`, `gamma` and `xrf` are stored as files; the others are made here from stored spectra or from seeds.
"""

from collections.abc import Callable
from contextlib import suppress
from importlib.resources import as_file, files
from pathlib import Path
from string import Template
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._errors import Clause, MisuseError
from .._files import npy_bytes, write_whole
from .._typing import Array, IntArray
from ..io import read_archive
from ..responses import Formula, UniformLinearArray
from ..studies import four_region as study

PROJECT_FILE: Final = "project.toml"
Files: TypeAlias = dict[str, str | NDArray[np.generic]]
_DATA = files("physupport.project") / "data"


def write_example(folder: str | Path, example: str = "four-region") -> tuple[Path, ...]:
    """Write a project and its data; no file that is there already is touched."""
    folder = Path(folder)
    if example not in EXAMPLES:
        raise MisuseError("example", f"be one of {', '.join(EXAMPLES)}", repr(example))
    made = EXAMPLES[example]()
    for name in made:
        if (folder / name).exists():
            remedy = "Nothing was written: name another folder."
            raise MisuseError("folder", f"have no {name} yet", Clause(f"there is one in {folder.resolve()}"), remedy)
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in made.items():
            write_whole(folder / name, content.encode("utf-8") if isinstance(content, str) else npy_bytes(content))
    except OSError as error:
        with suppress(OSError):  # all of it or nothing: part of an example would stand in the way of the next try
            for name in made:
                (folder / name).unlink(missing_ok=True)
            for path in missing:
                path.rmdir()
        raise MisuseError(
            "folder", "be one that can be written", Clause(f"{folder} cannot ({error.strerror})")
        ) from None
    return tuple(folder / name for name in made)


def _stored_text(name: str, **values: object) -> str:
    """Return a text of this package, with values in the places of names such as ${level}."""
    text = (_DATA / name).read_text(encoding="utf-8")
    return Template(text).substitute(values) if values else text


def _stored_files(folder: str, *names: str) -> Files:
    """Return the project file and the other files of a folder of this package."""
    return {name: _stored_text(f"{folder}/{name}") for name in (PROJECT_FILE, *names)}


def _csv_table(header: list[str], rows: list[list[object]]) -> str:
    """Return lines of cells; numbers have all the digits that they need."""
    lines = [header, *([str(cell) for cell in row] for row in rows)]
    return "".join(",".join(line) + "\n" for line in lines)


def _four_region() -> Files:
    """Return the four-region scene with a weak source in C: its real seed and its data."""
    scene = next(known for known in study.SCENES if known.name == "weak-C")
    # One of the seeds of the study, and the seed of its split: the first digit is 9.
    calibration, deployment = study.study_rows(scene, 2026091011)
    library = study.library()
    elements = [
        [name, region, float(place)]
        for name, region, place in zip(library.ids, library.regions, library.coordinates[:, 0], strict=True)
    ]
    text = _stored_text(
        "four-region.toml",
        level=study.LEVEL,
        budget=1.0,
        seed=9026091011,
        activity=study.LAW.p,
        calibration_noise=study.CALIBRATION_NOISE,
        deployment_noise=study.DEPLOYMENT_NOISE,
        calibration_share=study.SHARES[0],
        deployment_share=study.SHARES[1],
        strength_b=f"{study.STRENGTHS['B'] ** 2:.12g}",
        strength_c=f"{study.STRENGTHS['C'] ** 2:.12g}",
    )
    return {
        PROJECT_FILE: text,
        "elements.csv": _csv_table(["id", "region", "x"], elements),
        "deployment.csv": _csv_table([f"sensor {c + 1}" for c in range(study.N_SENSORS)], deployment.tolist()),
        "calibration.npy": calibration,
        "responses.npy": np.array(library.responses),
        "spare.npy": study.spare_atom()[:, None],
    }


_SENSORS = 10
_SPACING = 0.5
_NOISE = 0.5
_KNOWN_DIRECTIONS = (-60.0, 5.0)  # of the calibration transmitters


def _array() -> Files:
    """Return the array example: two transmitters of unknown waveforms, and an array calibrated by two known ones."""
    directions = {"west": (-32.0, -30.0, -28.0, -26.0, -24.0), "east": (18.0, 20.0, 22.0, 24.0), "south": (50.0,)}
    rows: list[list[object]] = [
        [f"{abs(angle):g} {region}", region, angle] for region, angles in directions.items() for angle in angles
    ]
    errors = 0.4 * np.random.default_rng(2027).standard_normal(_SENSORS)  # radians
    calibration = array_calibration(errors)
    text = _stored_text(
        "array.toml",
        sensors=_SENSORS,
        spacing=_SPACING,
        rows=calibration.shape[1],
        known=" and ".join(f"{angle:g}" for angle in _KNOWN_DIRECTIONS),
        pattern=array_phases(calibration).round(4).tolist(),
        slopes=[-0.06, 0.0, 0.06],
    )
    return {
        PROJECT_FILE: text,
        "elements.csv": _csv_table(["id", "region", "direction"], rows),
        "snapshots.npy": _snapshots(errors),
        "calibration.npy": calibration,
    }


def _steering(angles: tuple[float, ...], errors: Array) -> NDArray[np.complex128]:
    """(q, a) steering vectors behind the phase errors (q,) of the sensors."""
    atoms = UniformLinearArray(_SENSORS, _SPACING)(np.array(angles)[:, None])
    return np.asarray(atoms * np.exp(1j * errors)[:, None])


def array_calibration(errors: Array) -> NDArray[np.complex128]:
    """(transmitters, rows, q) rows of one calibration transmitter at a time."""
    n_rows = 2000
    rng = np.random.default_rng(2028)
    signals = [_circular(rng, n_rows, 1) * atom for atom in _steering(_KNOWN_DIRECTIONS, errors).T]
    noise = np.sqrt(_NOISE) * _circular(rng, len(_KNOWN_DIRECTIONS), n_rows, _SENSORS)
    return np.asarray(np.array(signals) + noise)


def array_phases(calibration: NDArray[np.complex128]) -> Array:
    """(q,) the phase error of each sensor: that of the strongest direction of the rows beside its steering vector.

    The mean of the transmitters; a phase that all sensors share means nothing, and the first has none.
    """
    atoms = _steering(_KNOWN_DIRECTIONS, np.zeros(_SENSORS))
    turns = []
    for rows, atom in zip(calibration, atoms.T, strict=True):
        strongest = np.linalg.eigh(rows.T @ rows.conj())[1][:, -1]
        turn = strongest * atom.conj()
        turns.append(turn / turn[0])
    return np.asarray(np.angle(np.mean(turns, axis=0)))


def _snapshots(errors: Array) -> NDArray[np.complex128]:
    """(400, q) rows of both transmitters, whose waveforms are correlated."""
    n_rows = 400
    correlation = 0.8
    atoms = _steering((-28.0, 22.0), errors)  # (q, 2)
    rng = np.random.default_rng(2026)
    shared = _circular(rng, n_rows, 1)
    own = _circular(rng, n_rows, 2)
    signal = (np.sqrt(correlation) * shared + np.sqrt(1.0 - correlation) * own) @ atoms.T
    return np.asarray(signal + np.sqrt(_NOISE) * _circular(rng, n_rows, _SENSORS))


def _circular(rng: np.random.Generator, *shape: int) -> NDArray[np.complex128]:
    """Return circular complex normal numbers of variance 1."""
    pairs = rng.normal(scale=np.sqrt(0.5), size=(*shape, 2))
    return np.asarray(pairs[..., 0] + 1j * pairs[..., 1])


def stored_spectra(name: str) -> tuple[Array, list[str], list[str], list[str]]:
    """(S, q) spectra, what each shows, its unit, and the places on the axis."""
    with as_file(_DATA / name) as path:
        content = read_archive(path)
    elements, units, axis = (list(map(str, content[key])) for key in ("elements", "units", "axis"))
    return content["spectra"].astype(np.float64), elements, units, axis


def _spectra(name: str, element: str, unit: str, axis_unit: str, region: str) -> Files:
    """Return a project of measured spectra, judged by replicates.

    element, unit: what the signal truly is, and where it comes from; nothing else from there is in the library.
    """
    spectra, elements, units, axis = stored_spectra(f"{name}.npz")
    signal = [*zip(elements, units, strict=True)].index((element, unit))
    known = [s for s, other in enumerate(units) if other != unit]
    ids = list(dict.fromkeys(elements))
    channels = [f"{place} {axis_unit}" for place in axis]
    unit_norm = spectra / np.linalg.norm(spectra, axis=1)[:, None]
    means = [unit_norm[[s for s in known if elements[s] == one]].mean(axis=0) for one in ids]
    lines: list[list[object]] = [[elements[s], units[s], *map(int, spectra[s])] for s in known]
    return {
        PROJECT_FILE: _stored_text(f"{name}.toml"),
        "spectrum.csv": _csv_table(channels, [[*map(int, spectra[signal])]]),
        "replicates.csv": _csv_table(["element", "unit", *channels], lines),
        "elements.csv": _csv_table(["id", "region"], [[one, region] for one in ids]),
        "NOTICE.md": _stored_text("NOTICE.md"),
        "responses.npy": np.array(means).T,
    }


_FOREIGN = "PST"  # the plastic that is not in the library


def _map() -> Files:
    """Return a Raman image of five grains that fade towards their edges, one of them of something else."""
    spectra, elements, units, axis = stored_spectra("raman.npz")
    own = {name: spectra[s] for s, name in enumerate(elements) if units[s] == "ICV BWtek 785 nm 050"}
    known = ("nCAL", "sCAL", "S0B", "S0N", "S0P", "S1N")
    shapes = {name: own[name] / own[name].max() for name in (*known, _FOREIGN)}
    image, truth = _image(shapes)
    return {
        PROJECT_FILE: _stored_text("map.toml"),
        "pixel.csv": _csv_table([f"{place} cm-1" for place in axis], [image[6, 8].tolist()]),
        "elements.csv": _csv_table(["id", "region"], [[name, "sample"] for name in known]),
        "NOTICE.md": _stored_text("NOTICE.md"),
        "responses.npy": np.array([shapes[name] for name in known]).T,
        "image.npy": image,
        "truth.npy": truth,
    }


def _image(shapes: dict[str, Array]) -> tuple[Array, IntArray]:
    """(24, 32, q) spectra over a fluorescence that changes from pixel to pixel, in noise of 1; and what is in each."""
    # Grains: sample, row and column of the centre, width in pixels, and the highest peak in sigmas of the noise.
    grains = (("nCAL", 6, 7, 2.4, 60.0), ("sCAL", 18, 8, 2.4, 25.0), ("S1N", 6, 24, 2.4, 60.0),
              ("S0B", 18, 24, 2.4, 12.0), (_FOREIGN, 12, 16, 1.2, 40.0))  # fmt: skip
    shape = (24, 32)
    y, x = np.mgrid[: shape[0], : shape[1]]
    n_channels = len(shapes[_FOREIGN])
    slope = np.linspace(-1.0, 1.0, n_channels)
    glow = 200.0 + 60.0 * (x / shape[1])[..., None] * slope - 40.0 * (y / shape[0])[..., None] * slope**2
    image = glow + np.random.default_rng(20261117).standard_normal((*shape, n_channels))
    truth = np.zeros(shape, dtype=np.int64)
    for name, centre_y, centre_x, width, peak in grains:
        strength = peak * np.exp(-0.5 * ((y - centre_y) ** 2 + (x - centre_x) ** 2) / width**2)
        is_there = (strength > 1.0) & (truth == 0)  # below 1 sigma there is nothing of a grain
        image += np.where(is_there, strength, 0.0)[..., None] * shapes[name]
        truth[is_there] = 1 + [*shapes].index(name)
    return np.asarray(np.round(image, 3)), truth


# Six places, two of them as near as a coherence of .947; the second and the fourth are active in the signal.
_LEARNT_PLACES = (0.104, 0.263, 0.305, 0.507, 0.702, 0.861)
_LEARNT_FORMULA = "exp(-((t - x)**2) / (2 * 0.085**2)) + 0.12 * cos(2 * pi * (t - x))"


def _learnt() -> Files:
    """Return sparse calibration rows, a signal, and a dictionary as a learner finds it: near the atoms, and biased."""
    rng = np.random.default_rng(2029)
    axis = (np.arange(16) + 0.5) / 16
    columns = np.asarray(Formula(_LEARNT_FORMULA, axis)(np.array(_LEARNT_PLACES)[:, None]), dtype=np.float64)
    atoms = columns / np.linalg.norm(columns, axis=0)
    deviation = 0.03
    codes = (rng.random((3000, 6)) < 0.2) * rng.standard_normal((3000, 6))
    calibration = codes @ atoms.T + deviation * rng.standard_normal((3000, 16))
    signal = rng.standard_normal((100, 2)) @ atoms[:, [1, 3]].T + deviation * rng.standard_normal((100, 16))
    learnt = atoms + 0.05 * (atoms.sum(axis=1, keepdims=True) - atoms) / 5.0
    text = _stored_text("learnt.toml", rows=len(calibration), atoms=6, formula=_LEARNT_FORMULA)
    return {
        PROJECT_FILE: text,
        "calibration.npy": calibration,
        "signal.npy": signal,
        "learnt.npy": np.ascontiguousarray((learnt / np.linalg.norm(learnt, axis=0)).T),
    }


EXAMPLES: Final[dict[str, Callable[[], Files]]] = {
    "four-region": _four_region,
    "array": _array,
    "eeg": lambda: _stored_files("eeg", "topography.csv", "places.csv", "electrodes.csv"),
    # Nine instrument settings are the library, the tenth measured natural calcite.
    "raman": lambda: _spectra("raman", "nCAL", "TOP Horiba 633 nm 010", "cm-1", "sample"),
    # The surface type of the signal is left out of the library.
    "soil": lambda: _spectra("soil", "road", "surface rpaeye", "nm", "ground"),
    "xrf": lambda: (
        _stored_files("xrf", "steel.spe", "elements.csv", "lines.csv", "energies.csv")
        | {"NOTICE.md": _stored_text("NOTICE.md")}
    ),
    "gamma": lambda: _stored_files("gamma", "europium.spe") | {"NOTICE.md": _stored_text("NOTICE.md")},
    "map": _map,
    "learnt": _learnt,
}
