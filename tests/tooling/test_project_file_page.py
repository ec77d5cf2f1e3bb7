"""The page on project files has every key, with its default, and every part of what a run writes."""

import re
from pathlib import Path
from signal import SIGINT, SIGTERM

import numpy as np
import pytest

from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.analysis.diagnose import diagnose
from physupport.banks import Library, library_bank
from physupport.cli._app import DIFFERS, DIFFERS_AS_KNOWN, MISUSE, REFUSED, exit_code
from physupport.project import FILES
from physupport.project._element_sections import Background, CoverSpec, Elements, Parameter, Unlisted
from physupport.project._region_sections import AskedResolution, ClaimSpec, Region, Supports
from physupport.project._schema import NextSpec, Output, OutsiderSpec, ProjectFile
from physupport.project._sections import FunctionResponse, response_section
from physupport.project._streams import Calibration, Deployment, LearntCalibration
from physupport.responses import KINDS as PARAMETERS, RESPONSES as REGISTERED

PAGE = (Path(__file__).parents[2] / "docs" / "project-file.md").read_text()
SECTIONS = {
    "Top level": ProjectFile,
    "`[output]`": Output,
    "`[data.calibration]`": Calibration,
    "`[data.calibration]` of a learnt dictionary": LearntCalibration,
    "`[data.deployment]`": Deployment,
    "`[elements]`": Elements,
    "`[parameters.NAME]`": Parameter,
    "`[cover]`": CoverSpec,
    "`[regions.NAME]`": Region,
    "`[supports]`": Supports,
    "`[claims.NAME]`": ClaimSpec,
    "`[background]`": Background,
    "`[outsiders]`": OutsiderSpec,
    "`[unlisted]`": Unlisted,
    "`[[next]]`": NextSpec,
    "`[resolution]`": AskedResolution,
}
# Tables of the file, which have sections of their own.
TABLES = {
    "output",
    "data",
    "elements",
    "parameters",
    "regions",
    "supports",
    "claims",
    "resolution",
    "background",
    "outsiders",
    "cover",
    "unlisted",
    "next",
}
KINDS = (
    "peak",
    "lines",
    "uniform linear array",
    "circular array",
    "near field array",
    "plane waves",
    "spherical waves",
    "spherical head",
    "formula",
)
RESPONSES = {kind: response_section(kind) for kind in KINDS} | {"a function": FunctionResponse}


def section(heading):
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def table(text, head):
    """The rows of the table with this first line, as lists of cells."""
    lines = text.split(f"{head}\n")[1].splitlines()[1:]
    end = next((i for i, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[:end]]


def codes(cell):
    return re.findall(r"`([^`]+)`", cell)


def toml_text(value):
    if value is None:
        return "none"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


@pytest.mark.parametrize("heading", SECTIONS)
def test_every_key_has_a_line_with_its_default(heading):
    shown = {row[0].strip("`"): row[2] for row in table(section(heading), "| key | type | default | meaning |")}
    known = {
        field.alias or name: "required" if field.is_required() else toml_text(field.default)
        for name, field in SECTIONS[heading].model_fields.items()
        if heading != "Top level" or name not in TABLES
    }
    assert shown == known


def test_every_response_is_shown_with_its_keys():
    rows = table(section("`[elements]`"), "| response | keys | places are |")
    assert [row[0].strip("`") for row in rows] == [*RESPONSES]
    assert {*RESPONSES} == {*REGISTERED, "a function"}
    for kind, row in zip(RESPONSES.values(), rows, strict=True):
        keys = {key for key in kind.model_fields if key != "kind"}
        assert keys <= {code.split()[0] for code in codes(row[1])}


def test_every_parameter_is_shown():
    rows = table(section("`[parameters.NAME]`"), "| parameter | a value v | leaves the responses as they are |")
    assert [row[0].strip("`") for row in rows] == [*PARAMETERS]


def test_the_files_are_those_of_a_run():
    rows = table(section("The files of a report"), "| file | content |")
    assert tuple(row[0].strip("`") for row in rows) == FILES


def test_the_exit_codes_are_those_of_the_program():
    rows = table(section("Commands and exit codes"), "| exit code | meaning |")
    codes = [0, DIFFERS, MISUSE, REFUSED, DIFFERS_AS_KNOWN, exit_code(SIGINT), exit_code(SIGTERM)]
    assert [int(row[0]) for row in rows] == codes


def test_the_keys_of_the_details_are_those_of_a_document():
    library = Library(["a", "b"], ["A", "A"], [[0.0], [1.0]], np.eye(2))
    bank = library_bank(library, [["A"]], {"A": 1.0})
    plan = StreamPlan("covariance", 0.5, noises=[1.0])
    model = PhysicalSupport(bank, calibration=None, deployment=plan).fit(None)
    model.report(np.random.default_rng(0).normal(size=(8, 2)))
    document = diagnose(model.result_).document
    text = section("The files of a report")
    shown = [key for row in table(text, "| key | content |") for key in codes(row[0])]
    assert shown == [*document, "sha256"]
    fields = [key for row in table(text, "| key of a field | content |") for key in codes(row[0])]
    assert {*fields} == {*document["fields"][0]}
