"""The width of responses, measured from sources at known places, and written into the project file."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path
from typing import final

import numpy as np

from .._errors import MisuseError
from .._files import replace_file
from .._typing import Array
from ..io import as_complex
from ..report.page import picture_svg
from ..report.pictures import Picture, sines_picture
from ..responses import source_errors
from ._assemble import assemble
from ._elements import read_elements
from ._load import Project, load_project
from ._mixture import background_columns, read_spectra

_KEY = "sources"
_PICTURE = "response-error.svg"
_TABLE = re.compile(rb"^[ \t]*\[[ \t]*elements[ \t]*\][ \t]*(#[^\r\n]*)?\r?$", re.MULTILINE)
_ERROR = re.compile(rb"^([ \t]*error[ \t]*=[ \t]*)([0-9.eE_+-]+)", re.MULTILINE)
_NEXT = re.compile(rb"^[ \t]*\[", re.MULTILINE)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ResponseError:
    """Sines of the angles between responses and sources, each in the state that fits the other sources best."""

    elements: tuple[str, ...]  # (S,)
    regions: tuple[str, ...]  # (S,)
    sines: Array  # (S,)

    @property
    def error(self) -> float:
        """The largest, with three digits, rounded up."""
        largest = float(self.sines.max())
        step = 10.0 ** (floor(log10(max(largest, 1e-6))) - 2)
        return float(f"{ceil(largest / step) * step:.6g}")

    @property
    def by_region(self) -> Mapping[str, tuple[float, int]]:
        """The largest sine in each region, and of how many sources."""
        regions = np.array(self.regions)
        own = {name: self.sines[regions == name] for name in dict.fromkeys(self.regions)}
        return {name: (float(sines.max()), len(sines)) for name, sines in own.items()}

    @property
    def picture(self) -> Picture:
        """A point a source, and where the width is."""
        return sines_picture(self.elements, self.regions, self.sines.tolist(), self.error)

    def lines(self) -> list[str]:
        """The result in sentences, the answer first."""
        count = len(self.sines)
        sentences = [
            f"error = {self.error:g}: the largest sine of the angle between a response and {count} sources at known "
            f"places, leave one out.",
            f"A further source like these lies beyond it with a probability of about 1/{count + 1} at most; noise in "
            f"the measured rows enlarges it on average.",
        ]
        for name, (largest, number) in self.by_region.items():
            sentences.append(f"  {name}: largest {largest:.3g} of {number}")
        return sentences


def response_error(project: Project, sources: str = "sources.csv") -> ResponseError:
    """Measure how far responses are off, from sources at known places.

    sources: a CSV beside the project file with a line a source: its `element`, and its rows in one column a channel,
    or in a `file`.  The background of the project is taken off.
    """
    physical = read_elements(project)
    elements, _, rows = read_spectra(project, _KEY, sources, None, physical)
    if len(elements) < 2:
        raise project.misuse(_KEY, "have two sources or more, as each is left out in turn", len(elements))
    index = [physical.library.ids.index(name) for name in elements]
    background = background_columns(project, physical)
    native = as_complex if physical.is_complex else np.asarray
    states = physical.library.responses[None] if physical.settings is None else physical.settings.responses
    answers = np.array([native(state) for state in states])  # (V, q, E)
    measured = source_errors(answers[:, :, index], rows, None if background is None else native(background))
    return ResponseError(elements, tuple(physical.library.regions[i] for i in index), measured.sines)


def write_error(project: Project, measured: ResponseError) -> tuple[Path, Path]:
    """Write the key into the project file, of which every other byte stays, and the picture beside it.

    A project whose law or judge does not take it is refused, with what would.
    """
    assemble(load_project(project.path, {"elements.error": measured.error}, trust=project.is_trusted))
    path = project.path
    before = project.path.read_bytes()
    after = with_error(before, measured.error, project.name("elements"))
    beside = project.file("picture", _PICTURE)
    replace_file(_PICTURE, beside, picture_svg(measured.picture).encode("utf-8"))
    replace_file(path.name, path, after)
    return path, beside


def with_error(text: bytes, error: float, name: str = "elements") -> bytes:
    """A project file with this error in its table of elements.

    >>> with_error(b"[elements]  # five", 0.05).decode().splitlines()
    ['[elements]  # five', 'error = 0.05']
    """
    before = tomllib.loads(text.decode("utf-8"))
    table = _TABLE.search(text)
    wanted = before | {"elements": before.get("elements", {}) | {"error": error}}
    made = text if table is None else _edited(text, table.end(), error)
    if table is not None and tomllib.loads(made.decode("utf-8")) == wanted:
        return made
    rule = "be a table [elements] of the file, to be written into"
    remedy = f"Write error = {error:g} there yourself."
    raise MisuseError(name, rule, "another form", remedy)


def _edited(text: bytes, start: int, error: float) -> bytes:
    """After the heading of the table, or in the place of what is there."""
    following = _NEXT.search(text, start)
    there = _ERROR.search(text, start, len(text) if following is None else following.start())
    value = f"{error:g}".encode()
    if there is not None:
        return text[: there.start(2)] + value + text[there.end(2) :]
    ending = b"\r\n" if text[start - 1 : start] == b"\r" else b"\n"
    at = start - 1 if ending == b"\r\n" else start
    return text[:at] + ending + b"error = " + value + text[at:]
