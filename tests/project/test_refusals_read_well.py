"""Refusals that a user meets: each names the key, the value and what to do, in at most two sentences."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.arrays import locate
from physupport.banks import Library, library_bank, product_grid
from physupport.cli import app
from physupport.io import as_table, read_table
from physupport.laws import Latent, Linear
from physupport.project import load_project
from physupport.spectra import identify

PROJECT = """level = 0.1
seed = 3
[data.deployment]
file = "rows.npy"
channels = 1
law = "gaussian"
[elements]
file = "elements.csv"
coordinates = ["x"]
response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }
[regions.A]
presence = "optional"
tolerance = 0.01
"""

# Text of the file -> its replacement, and what the message has to hold: key, value, remedy.
FILES = [
    ("level = 0.1", "level = 5", "level", "5", "below 1"),
    ("level = 0.1", "level = 0", "level", "0", "above 0"),
    ("level = 0.1", 'level = "high"', "level", "'high'", "be a number"),
    ("level = 0.1", "levl = 0.1", "levl", "levl", "Did you mean level?"),
    ("seed = 3", "seed = 1.5", "seed", "1.5", "be a whole number"),
    ("seed = 3", "seed = -1", "seed", "-1", "at least 0"),
    ("seed = 3", 'policy = "wild"', "policy", "wild", "'regional'"),
    ("seed = 3", 'judge = "jury"', "judge", "jury", "'rotation'"),
    ("seed = 3", 'budget = "all"', "budget", "'all'", "be a whole number of queries, or a share"),
    ("seed = 3", "budget = 1.5", "budget", "1.5", "or a share between 0.0 and 1.0"),
    ("seed = 3", "threads = 2", "threads", "threads", "have no other keys than"),
    ('law = "gaussian"', 'law = "gausian"', "data.deployment.law", "gausian", "'gaussian'"),
    ('law = "gaussian"', "", "data.deployment.law", "required", "required"),
    ("channels = 1", "channels = 1.5", "data.deployment.channels", "1.5", "the number or the name of the axis"),
    ("channels = 1", 'chanels = "x"', "data.deployment", "chanels", "Did you mean channels?"),
    ('file = "rows.npy"', "file = 3", "data.deployment.file", "3", "be a text"),
    ('file = "rows.npy"', 'file = ""', "data.deployment.file", "''", "not empty"),
    ('law = "gaussian"', 'law = "gaussian"\nnoise = -1', "data.deployment.noise", "-1", "above 0"),
    ('law = "gaussian"', 'law = "gaussian"\nnoise = []', "data.deployment.noise", "none", "at least one number"),
    ('law = "gaussian"', 'law = "gaussian"\nproposal = 2', "data.deployment.proposal", "2", "below 1"),
    ('law = "gaussian"', 'law = "gaussian"\nsplits = 0', "data.deployment.splits", "0", "at least 1"),
    ("width = 0.15", "width = -1", "elements.response", "-1", "above 0"),
    ('kind = "peak"', 'kind = "peek"', "elements.response", "'peek'", "have a kind among"),
    ("to = 1, count = 8", "to = 1, count = 1", "elements.response.axis", "1", "a whole count between 2"),
    ("to = 1, count = 8", "to = 1, cont = 8", "elements.response.axis", "cont", "Did you mean count?"),
    ('coordinates = ["x"]', "coordinates = 3", "elements.coordinates", "3", "be a list"),
    ('coordinates = ["x"]', 'coordinate = ["x"]', "elements", "coordinate", "Did you mean coordinates?"),
    ('file = "elements.csv"', "file = [1]", "elements.file", "[1]", "be a text"),
    ('presence = "optional"', 'presence = "maybe"', "regions.A.presence", "'maybe'", "or 'optional'"),
    ('presence = "optional"', "precense = 1", "regions.A", "precense", "Did you mean presence?"),
    ("tolerance = 0.01", "tolerance = -0.01", "regions.A.tolerance", "-0.01", "at least 0"),
    ("tolerance = 0.01", "groups = 3", "regions.A.groups", "3", "be a table of named groups"),
    ("tolerance = 0.01", "count = 0", "regions.A.count", "0", "be a whole number from 1 on"),
    ("tolerance = 0.01", "coefficient = [2, 1]", "regions.A.coefficient", "[2", "low below high"),
    ("tolerance = 0.01", 'coefficient = "big"', "regions.A.coefficient", "'big'", "'free', '>= 0', or [low, high]"),
    ("tolerance = 0.01", "absence_threshold = -2", "regions.A.absence_threshold", "-2", "above 0"),
    ("[regions.A]", "[supports]\nmax_active = -1\n[regions.A]", "supports.max_active", "-1", "at least 0"),
    ("[regions.A]", "[background]\npolynomial = -2\n[regions.A]", "background.polynomial", "-2", "at least 0"),
    ("[regions.A]", "[claims.x]\nany = 3\n[regions.A]", "claims.x.any", "3", "be a list"),
    ("[regions.A]", "[output]\nfolder = 3\n[regions.A]", "output.folder", "3", "be a text"),
]

PLACES = np.array([[0.2], [0.8]])
UNIT = np.eye(3)[:, :2]
PEAK = (np.arange(9.0), np.arange(9.0) % 5)
LIBRARY = Library(["a", "b"], ["A", "B"], PLACES, UNIT)

CALLS: dict[str, tuple[Callable[[], object], str, str, str]] = {
    "a level": (lambda: identify(PEAK, {"a": PEAK}, level=2.0), "alpha", "2.0", "between 0"),
    "ids twice": (lambda: Library(["a", "a"], ["A", "B"], PLACES, UNIT), "ids", "'a'", "be distinct"),
    "no ids": (lambda: Library([], [], PLACES, UNIT), "ids", "none", "name at least one element"),
    "regions": (lambda: Library(["a", "b"], ["A"], PLACES, UNIT), "regions", "1 regions", "for each of the 2 ids"),
    "columns": (lambda: Library(["a", "b"], ["A", "B"], PLACES, np.eye(3)), "responses", "(3, 3)", "one column for"),
    "norms": (lambda: Library(["a", "b"], ["A", "B"], PLACES, 2 * UNIT), "responses", "norm is 2", "columns of norm 1"),
    "nan": (lambda: Library(["a", "b"], ["A", "B"], PLACES * np.nan, UNIT), "coordinates", "nan at index", "be finite"),
    "bank": (lambda: library_bank(LIBRARY, [["C"]], {"C": [1.0]}), "strengths", "'C'", "name regions of the bank"),
    "strengths": (lambda: library_bank(LIBRARY, [["A"]], {"B": [1.0]}), "strengths", "'A'", "every active region"),
    "negative": (lambda: library_bank(LIBRARY, [["A"]], {"A": [-1.0]}), "region 'A'", "-1.0", "above 0"),
    "grid": (lambda: product_grid(noise=[]), "values", "none", "hold at least one setting"),
    "rows": (lambda: Linear(rows="some"), "rows", "'some'", "be one of 'same mean'"),
    "law": (lambda: Latent().code_laws, "law", "no laws of the codes", "be completed with a bank"),
    "coefficients": (lambda: Linear(coefficients={"A": (2.0, 1.0)}), "'A'", "(2.0, 1.0)", "low below high"),
    "directions": (
        lambda: locate(np.ones((3000, 4)), np.eye(4, 2), frequencies=[100], sampling_rate=1000),
        "directions", "neither", "Write directions=",
    ),
    "rate": (
        lambda: locate(np.ones((3000, 4)), np.eye(4, 2), directions=(0, 90, 5), frequencies=[100]),
        "sampling_rate", "None", "sampling_rate=16000",
    ),
    "table": (lambda: as_table(np.ones(3), channels=0, label="rows"), "rows", "shape (3,)", "(1, 3)"),
    "axes": (lambda: as_table(np.ones((2, 2, 2)), channels=0, label="rows"), "rows", "(2, 2, 2)", "physupport.maps"),
    "text": (lambda: as_table(np.array([["a"]]), channels=1, label="rows"), "rows", "dtype", "real or complex numbers"),
    "file": (lambda: read_table("nowhere.npy", channels=1, label="rows"), "nowhere.npy", "No such file", "be a file"),
    "ending": (lambda: read_table("rows.docx", channels=1, label="rows"), "rows.docx", ".docx", "end in one of"),
}  # fmt: skip

COMMANDS = [
    (["run", "nowhere"], "nowhere", "nowhere", "physupport init"),
    (["init", "x", "--example", "moon"], "--example", "moon", "be one of"),
    (["init", "x", "--from-library", "lib"], "--from-library", "only one of the two", "come with --spectrum"),
    (["plan", "--atoms", "2"], "--atoms", "2", "between 3"),
    (["plan", "--scale", "2"], "--scale", "2", "between 0 and 1"),
    (["plan", "--coefficients", "1,x"], "--coefficients", "1,x", "numbers separated by commas"),
    (["verify", "nowhere.json"], "nowhere.json", "nowhere.json", "be a readable text file"),
    (["show", "nowhere.json"], "nowhere.json", "nowhere.json", "be a readable text file"),
    (["rid", "nowhere.n42"], "nowhere.n42", "none of this name", "be a file"),
]  # fmt: skip


def sentences(text: str) -> int:
    """Count sentences, which end in a full stop or a question mark before a capital or the end."""
    return len(re.findall(r"[.?](?=\s+[A-Z(]|\s*$)", text))


def assert_reads_well(message: str, key: str, value: str, remedy: str) -> None:
    assert key in message, message
    assert value in message, message
    assert remedy in message, message
    assert "\n" not in message, message
    assert 1 <= sentences(message) <= 2, message


def refusal_of_file(folder, old: str, new: str) -> str:
    assert old in PROJECT
    (folder / "project.toml").write_text(PROJECT.replace(old, new, 1))
    with pytest.raises(MisuseError) as caught:
        load_project(folder / "project.toml")
    return str(caught.value)


@pytest.mark.parametrize(("old", "new", "key", "value", "remedy"), FILES)
def test_a_project_file_is_refused_in_sentences_that_name_key_value_and_remedy(tmp_path, old, new, key, value, remedy):
    assert_reads_well(refusal_of_file(tmp_path, old, new), key, value, remedy)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_refused_in_sentences_that_name_argument_value_and_remedy(name):
    call, key, value, remedy = CALLS[name]
    with pytest.raises(MisuseError) as caught:
        call()
    assert_reads_well(str(caught.value), key, value, remedy)


@pytest.mark.parametrize(("arguments", "key", "value", "remedy"), COMMANDS)
def test_a_command_is_refused_in_sentences_that_name_option_value_and_remedy(tmp_path, arguments, key, value, remedy):
    answer = CliRunner().invoke(app, arguments)
    assert isinstance(answer.exception, MisuseError), answer.output
    assert_reads_well(str(answer.exception), key, value, remedy)


def test_negative_control_a_message_without_a_remedy_is_found():
    with pytest.raises(AssertionError):
        assert_reads_well("level must hold, not 5.", "level", "5", "below 1")
    with pytest.raises(AssertionError):
        assert_reads_well("One level. Two of 5. Three below 1.", "level", "5", "below 1")
