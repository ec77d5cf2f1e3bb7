"""Sources that the library lacks: what is certain even if one is there, and what a complete library gives."""

import numpy as np
import pytest
from benchmarks.unlisted import LEVEL, count, families
from scipy.optimize import nnls
from scipy.stats import binom

from physupport import MisuseError
from physupport.banks import Library, library_bank, region_supports, with_unlisted
from physupport.laws import Poisson
from physupport.project import load_project, run_project
from physupport.responses import generic_peaks
from physupport.verify import verify

AXIS = np.arange(0.0, 1000.0, 10.0)
FILE = """level = 0.05
[data.deployment]
file = "rows.npy"
channels = 1
law = "poisson"
[background]
polynomial = 0
[elements]
file = "elements.csv"
responses = "library.npy"
axis = "axis.npy"
axis_unit = "keV"
[regions.first]
presence = "optional"
[regions.caesium]
presence = "optional"
"""


def line(energy):
    return np.exp(-0.5 * ((AXIS - energy) / 25.0) ** 2)


@pytest.fixture
def answer(tmp_path):
    """Run a project with a table unlisted on counts of a mean; return its report and its rows."""

    def run(mean, unlisted="peaks = { width = 25.0 }", more=""):
        rows = np.random.default_rng(1).poisson(mean)[None].astype(float)
        arrays = {"rows": rows, "axis": AXIS, "library": np.stack([line(250.0), line(662.0)], axis=1)}
        for name, array in (arrays | {"generic": line(800.0)[:, None]}).items():
            np.save(tmp_path / f"{name}.npy", array)
        (tmp_path / "elements.csv").write_text("id,region\nbarium,first\ncs137,caesium\n")
        (tmp_path / "project.toml").write_text(f"{FILE}\n{more}\n[unlisted]\n{unlisted}\n")
        return run_project(load_project(tmp_path / "project.toml")).result.report, rows

    return run


@pytest.mark.parametrize("more", ["", "[supports]\nmax_active = 1", "[supports]\nleave_one_out = true"])
def test_a_line_that_the_library_lacks_is_certain_and_its_interval_holds_it(answer, more):
    report, rows = answer(60.0 * line(800.0) + 1.0, more=more)
    fields = {field.field: field for field in report.fields}
    assert fields["unlisted"].label == "FINE"
    ((low, high),) = report.document["unlisted"]["intervals"]
    assert low <= 800.0 <= high <= low + 150.0
    assert "something is there that the library lacks, with a part between" in report.text()
    assert "keV" in fields["unlisted"].answer
    assert fields["caesium"].if_complete == ("EMPTY", ())
    assert "If the library were complete, nothing would fit these data." in report.if_complete
    assert verify(report.json(), {"deployment": rows}).is_verified


def test_a_single_line_is_certain_only_if_the_library_is_complete(answer):
    report, rows = answer(60.0 * line(662.0) + 1.0)
    fields = {field.field: field for field in report.fields}
    assert fields["caesium"].label == "SUPPORT_AMBIGUOUS"
    assert fields["caesium"].if_complete == ("FINE", ("cs137",))
    assert fields["unlisted"].label == "SUPPORT_AMBIGUOUS"
    assert "If the library is complete: caesium: cs137 is there; otherwise something unlisted may look like it." in (
        report.if_complete
    )
    assert "FINE; cs137" in report.csv()
    assert verify(report.json(), {"deployment": rows}).is_verified


def test_a_narrow_family_leaves_listed_elements_certain(answer):
    report, _ = answer(60.0 * line(662.0) + 30.0 * line(800.0) + 1.0, 'atoms = "generic.npy"')
    labels = {field.field: str(field.label) for field in report.fields}
    assert labels["caesium"] == labels["unlisted"] == "FINE"


def test_verify_finds_a_changed_interval_and_a_changed_reading(answer):
    report, rows = answer(60.0 * line(800.0) + 1.0)
    for change in (
        {"unlisted": {"unit": "keV", "intervals": [[1.0, 2.0]]}},
        {"complete": report.document["fields"][:0]},
    ):
        changed = {**report.document, **change}
        assert not verify(changed, {"deployment": rows}).is_verified


def test_the_region_of_the_unlisted_is_refused_as_one_of_the_file(answer):
    with pytest.raises(MisuseError, match="another name beside a table unlisted"):
        answer(line(800.0) + 1.0, more='[regions.unlisted]\npresence = "optional"')


def test_resolution_needs_a_response_that_has_one(answer):
    with pytest.raises(MisuseError, match=r"unlisted.peaks.width"):
        answer(line(800.0) + 1.0, 'peaks = { width = "resolution" }')


def test_generic_peaks_make_lines_anywhere_of_their_neighbours():
    columns, places = generic_peaks(AXIS, 25.0)
    for energy in (333.3, 500.0, 707.1):
        near = (places[0] <= energy) & (energy <= places[1])
        _, residual = nnls(columns[:, near], line(energy))
        assert residual / np.linalg.norm(line(energy)) < 0.001
        assert near.sum() <= 5
    with pytest.raises(MisuseError, match="half of the largest step"):
        generic_peaks(AXIS, 2.0)


def test_the_law_takes_the_place_of_the_element_and_refuses_a_bank_without_it():
    responses = np.stack([line(250.0), line(662.0)], axis=1)
    library = Library(["a", "b"], ["a", "b"], np.zeros((2, 0)), responses / np.linalg.norm(responses, axis=0))
    columns, _ = generic_peaks(AXIS, 25.0)
    wider, supports = with_unlisted(library, region_supports([], "ab"), columns)
    bank = library_bank(wider, supports, dict.fromkeys(wider.region_names, 1.0))
    design = Poisson(unlisted=columns).design(bank)
    assert [len(active) for active in design.active] == [0, 1, 1, 2, *(columns.shape[1] + k for k in (0, 1, 1, 2))]
    plain = library_bank(library, region_supports([], "ab"), {"a": 1.0, "b": 1.0})
    with pytest.raises(MisuseError, match="region 'unlisted'"):
        Poisson(unlisted=columns).design(plain)


def test_false_statements_stay_within_the_level_and_without_the_unlisted_they_do_not():
    seen = count(*families()["atoms near listed lines, few counts"], 300, 5)
    assert binom.sf(seen.false - 1, 300, LEVEL) > 1e-6
    assert binom.sf(seen.control - 1, 300, LEVEL) < 1e-6
