"""Gamma spectra in the formats of vendors, through sandiaspecutils: N42, PCF, CNF, CHN."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .._errors import Clause, MisuseError
from .._files import write_whole
from .._typing import Array
from ._spectra import is_columns, read_spectrum_text
from ._table import ReaderOutput, check_counted, distinct_or_none
from ._text import SPECTRUM_AXES, read_iaea


def read_gamma(name: str, path: Path, member: str | None) -> ReaderOutput:
    """A row for each measurement of one detector, its channels named by their energies in keV.

    member: the name of the detector, where a file has several.  Energies are those of the middle of channels.
    """
    found = [each for each in _measurements(name, path) if each.numGammaChannels() > 1]
    detectors = list(dict.fromkeys(each.detectorName() for each in found))
    if member is None and len(detectors) > 1:
        remedy = f'Name one: file = {{ file = "{path.name}", member = "{detectors[0]}" }} or member in Python.'
        raise MisuseError(name, "have one detector, or a member that names it", ", ".join(detectors), remedy)
    rows, middles = _of_one_calibration(name, found, member, detectors)
    names = distinct_or_none([f"{middle:.7g} keV" for middle in middles.tolist()])
    return ReaderOutput(rows, member, SPECTRUM_AXES, (None, names), "counts")


def read_foreground(path: str | Path, member: str | None = None) -> tuple[Array, Array]:
    """The counts (q,) of the foreground of a file in any format, and the energies (q,) of channels in keV.

    Measurements of one detector and one calibration are added up; those that the file calls a background, a calibration
    or the detector's own are left out.  The content tells the format: programs hand over files without an ending.
    member: the name of the detector, where a file has several.
    """
    place = Path(path)
    name = f"spectrum {place}"
    if not place.is_file():
        raise MisuseError(name, "be a file", Clause("there is none of this name"))
    _check_text(name, place)
    every = [each for each in _measurements(name, place) if each.numGammaChannels() > 1]
    beside = {"Background", "Calibration", "IntrinsicActivity"}
    found = [each for each in every if str(each.sourceType()).rpartition(".")[2] not in beside] or every
    detectors = list(dict.fromkeys(each.detectorName() for each in found))
    if member is None and len(detectors) > 1:
        raise MisuseError(name, "have one detector, or --detector-name that names it", ", ".join(detectors))
    rows, middles = _of_one_calibration(name, found, member, detectors)
    check_counted(name, rows, [f"{middle:.7g} keV" for middle in middles.tolist()])
    return rows.sum(axis=0), middles


def _check_text(name: str, path: Path) -> None:
    """Refuse text with a broken number, which SpecUtils leaves out or takes for 0."""
    with path.open("rb") as file:
        is_iaea = file.read(64).lstrip().startswith(b"$")
    if is_iaea:
        read_iaea(name, path, None)
    elif is_columns(path):
        read_spectrum_text(name, path, None)


def _measurements(name: str, path: Path) -> list[Any]:
    """The measurements in a file, as SpecUtils has them."""
    try:
        utils = import_module("SpecUtils")
    except ImportError:
        remedy = 'Install it: pip install "physupport[gamma]".'
        raise MisuseError(
            name, "be read with sandiaspecutils", Clause("that package is not installed"), remedy
        ) from None
    file = utils.SpecFile()
    try:
        file.loadFile(str(path), utils.ParserType.Auto, path.suffix)
    except RuntimeError:
        rule = "be a gamma spectrum in a format that sandiaspecutils reads"
        raise MisuseError(name, rule, "another kind of file") from None
    return list(file.measurements())


def _of_one_calibration(
    name: str, found: Sequence[Any], member: str | None, detectors: Sequence[str]
) -> tuple[Array, Array]:
    """Rows (n, q) of the measurements of a detector, and the middles (q,) of their channels in keV."""
    chosen = [each for each in found if member in (None, each.detectorName())]
    if not chosen:
        raise MisuseError(name, f"have a spectrum of {member or 'some detector'}", ", ".join(detectors) or "none")
    edges = np.array([each.channelEnergies() for each in chosen[:1]], dtype=np.float64)[0]
    if any(len(each.gammaCounts()) != len(chosen[0].gammaCounts()) for each in chosen) or any(
        not np.array_equal(each.channelEnergies(), chosen[0].channelEnergies()) for each in chosen
    ):
        remedy = "Save those of one calibration into a file of their own."
        raise MisuseError(
            name, "have measurements of one calibration", Clause(f"its {len(chosen)} measurements have several"), remedy
        )
    rows = np.array([each.gammaCounts() for each in chosen], dtype=np.float64)
    middles = 0.5 * (edges[: rows.shape[1]] + np.append(edges, 2.0 * edges[-1] - edges[-2])[1 : rows.shape[1] + 1])
    return rows, np.asarray(middles)


def write_n42(source: str | Path, path: str | Path, results: Mapping[str, Sequence[tuple[str, str, float]]]) -> None:
    """Write the measurements of a file as N42 of 2012, with the results of an analysis.

    results: for each algorithm its nuclides: name, category, and confidence in percent.
    """
    utils = import_module("SpecUtils")
    file = utils.SpecFile()
    file.loadFile(str(source), utils.ParserType.Auto, Path(source).suffix)
    with TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.n42"
        numbers = file.sampleNumbers(), file.detectorNames()
        file.writeToFile(str(plain), *numbers, utils.SaveSpectrumAsType.N42_2012)
        tree = ElementTree.parse(plain)
    root = tree.getroot()
    space = root.tag.partition("}")[0] + "}"
    ElementTree.register_namespace("", space[1:-1])
    for algorithm, nuclides in results.items():
        found = ElementTree.SubElement(root, f"{space}AnalysisResults")
        _add(found, space, AnalysisStatusCode="Success", AnalysisAlgorithmName=algorithm)
        every = ElementTree.SubElement(found, f"{space}NuclideAnalysisResults")
        for name, kind, confidence in nuclides:
            one = ElementTree.SubElement(every, f"{space}Nuclide")
            _add(one, space, NuclideIdentifiedIndicator="true", NuclideName=name)
            _add(one, space, NuclideIDConfidenceValue=f"{confidence:g}", NuclideCategoryDescription=kind)
    text = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    write_whole(Path(path), text)


def _add(parent: ElementTree.Element, space: str, **texts: str) -> None:
    for tag, text in texts.items():
        ElementTree.SubElement(parent, f"{space}{tag}").text = text
