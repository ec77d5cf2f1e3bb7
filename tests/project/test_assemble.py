"""Files of a project are checked before anything is computed; a refused project leaves no files."""

import numpy as np
import pytest

from physupport.project import assemble, load_project

RESPONSE = 'response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }'


def test_a_project_becomes_a_bank_a_question_and_tables(write, small):
    found = assemble(load_project(write(more=small.calibration)))
    assert found.bank.size == 2 * 2 * 2  # places of A, places of B, with and without B
    assert found.question.regions == ("A", "B")
    assert {name: table.values.shape for name, table in found.tables.items()} == {
        "calibration": (300, 8),
        "deployment": (400, 8),
    }
    assert isinstance(found.tables["deployment"].values.base, np.memmap)
    np.testing.assert_allclose(found.bank.states.elements, small.columns([0.2, 0.35, 0.7, 0.9]), rtol=0, atol=1e-15)
    assert found.notes == ()


def test_a_wrong_column_count_names_both_numbers_and_the_other_axis(write, refused):
    rows = np.zeros((400, 7))
    assert refused(write(deployment=rows)) == (
        "project.toml: data.deployment.file must have 8 channels, as the responses have, but deployment.npy has 7."
    )
    assert "Its other axis has that many: look at data.deployment.channels." in refused(
        write(deployment=np.ones((8, 9)))
    )


def test_a_missing_file_is_named_with_its_key(write, refused):
    path = write(('"deployment.npy"', '"nothing.npy"'))
    message = refused(path)
    assert message.startswith("project.toml: data.deployment.file: deployment ")
    assert message.endswith("nothing.npy must be a file that can be read, not No such file or directory.")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("row", range(0, 400, 133))
def test_a_number_that_is_not_finite_is_found_by_file_row_and_column(write, refused, small, bad, row):
    rows = small.make_rows(small.columns([0.2, 0.7]), 400)
    rows[row, 5] = bad
    message = refused(write(deployment=rows))
    assert "deployment.npy" in message
    assert f"{bad} in row {row}, column 5" in message


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        (
            "id,region,x\na1,A,0.2\n",
            "regions.B must have at least one element in elements.csv, but there is none.",
        ),
        (
            "id,region,x\na1,A,0.2\nb1,B,0.7\nc1,C,1\n",
            "but region 'C' of element 'c1' is missing. Add a table [regions.C],",
        ),
        ("id,region,x\na1,A,0.2\na1,B,0.7\n", "elements.csv must have distinct ids, not 'a1' in lines 2 and 3."),
        ("id,region,x\na1,A,near\nb1,B,0.7\n", "must have numbers as coordinates, not 'near' in line 2, column 'x'."),
        ("id,region,x\na1,A,1_0\nb1,B,0.7\n", "must have numbers as coordinates, not '1_0' in line 2, column 'x'."),
        ("id,region,x\na1,A,inf\nb1,B,0.7\n", "must have finite coordinates, not 'inf' in line 2, column 'x'."),
        ("id,region,y\na1,A,0.2\nb1,B,0.7\n", "must have a column 'x', which project.toml: elements.coordinates names"),
        ("id,part,x\na1,A,0.2\nb1,B,0.7\n", "must have a column 'region', not 'id', 'part', 'x'."),
        ("id,region,x\n,A,0.2\nb1,B,0.7\n", "must give every element its id, but line 2 has none."),
        ("id,region,x\na1,A\nb1,B,0.7\n", "line 2"),
        ("id,region,x\n", "project.toml: elements.file must list at least one element, but elements.csv has none."),
    ],
)
def test_a_list_of_elements_that_breaks_a_rule_is_refused(write, refused, elements, message):
    assert message in refused(write(elements=elements))


def test_a_group_of_unknown_elements_is_refused_at_any_depth(write, refused):
    rule = "must hold elements of region A (a1, a2), not 'b1'."
    for groups, key in {'{ left = ["a1", "b1"] }': "left", '{ all = { left = ["b1"] } }': "all.left"}.items():
        message = refused(write(("tolerance = 0.01", f"groups = {groups}")))
        assert message == f"project.toml: regions.A.groups.{key} {rule}"


class TestTolerance:
    """Two elements with one response cannot be told apart by any data."""

    twins = "id,region,x\na1,A,0.2\na2,A,0.35\na3,A,0.5\nb1,B,0.7\nb2,B,0.9\n"
    from_file = (RESPONSE, 'responses = "responses.npy"')

    def test_equal_responses_farther_apart_than_the_tolerance_are_refused(self, write, refused, small):
        responses = small.columns([0.2, 0.35, 0.2, 0.7, 0.9])
        responses[:, 2] *= -3.0  # the same line
        message = refused(write(self.from_file, elements=self.twins, responses=responses))
        assert message.startswith(
            "project.toml: regions.A.tolerance must be at least 0.3, the distance of a1 and a3, whose responses are "
            "equal, not 0.01. No data can tell the two apart: raise it,"
        )

    def test_nearly_equal_responses_are_a_matter_of_data(self, write, small):
        responses = small.columns([0.2, 0.35, 0.2 + 1e-9, 0.7, 0.9])
        assert assemble(load_project(write(self.from_file, elements=self.twins, responses=responses)))

    def test_whoever_does_not_ask_for_fine_may_have_them(self, write, small):
        responses = small.columns([0.2, 0.35, 0.2, 0.7, 0.9])
        change = ("tolerance = 0.01", 'tolerance = 0.01\nask = ["group", "ambiguity"]')
        assert assemble(load_project(write(self.from_file, change, elements=self.twins, responses=responses)))

    def test_one_setting_in_which_they_differ_is_enough(self, write, refused, small):
        responses = small.columns([0.2, 0.35, 0.2, 0.7, 0.9])
        responses[:, 2] *= -1.0  # the same line, until a constant is added to both
        offsets = "\n[parameters.offset]\nvalues = {}\n"
        files = {"elements": self.twins, "responses": responses}
        assert assemble(load_project(write(self.from_file, more=offsets.format("[0.0, 0.1]"), **files)))
        message = refused(write(self.from_file, more=offsets.format("[0.0]"), **files))
        assert "whose responses are equal" in message

    def test_a_mean_has_a_sign(self, write, refused, small):
        responses, mean = small.columns([0.2, 0.35, 0.2, 0.7, 0.9]), ('"covariance"', '"mean"')
        assert "whose responses are equal" in refused(
            write(self.from_file, mean, elements=self.twins, responses=responses)
        )
        responses[:, 2] *= -1.0
        assert assemble(load_project(write(self.from_file, mean, elements=self.twins, responses=responses)))


@pytest.mark.parametrize(
    ("supports", "message"),
    [
        ("max_active = 0", "supports.max_active must lie between 1, the regions that are always there, and 2,"),
        ('list = [["A"], ["A", "C"]]', "supports.list[1] must name regions of the file (A, B), not 'C'."),
        ('list = [["A"], ["A", "A"]]', "supports.list[1] must name each region once"),
        ('list = [["A", "B"], ["B", "A"]]', "supports.list must hold each support once"),
        ('list = [["A"], ["B"]]', "regions.A.presence must be 'optional', not 'always'. The list of supports says so."),
        ('list = [["A", "B"]]', "regions.B.presence must be 'always', not 'optional'. The list of supports says so."),
    ],
)
def test_supports_must_fit_the_regions(write, refused, supports, message):
    assert message in refused(write(more=f"\n[supports]\n{supports}\n"))


def test_a_list_of_supports_is_taken_in_its_order(write):
    found = assemble(load_project(write(more='\n[supports]\nlist = [["A", "B"], ["A"]]\n')))
    assert found.bank.positions == ((0, 1), (0,))


class TestResponses:
    from_file = (RESPONSE, 'responses = "responses.npy"')

    def test_shapes_must_match_the_elements(self, write, refused, small):
        message = refused(write(self.from_file, responses=small.columns([0.2, 0.35, 0.7])))
        rule = "must have a row for each channel and a column for each of the 4 elements, not shape (8, 3)."
        assert message == f"project.toml: elements.responses {rule}"

    def test_they_must_be_finite(self, write, refused, small):
        responses = small.columns([0.2, 0.35, 0.7, 0.9])
        responses[3, 1] = np.nan
        message = refused(write(self.from_file, responses=responses))
        assert message.endswith("elements.responses must be finite, but nan is at index (3, 1) of responses.npy.")

    def test_other_norms_are_scaled_and_noted(self, write, small):
        responses = small.columns([0.2, 0.35, 0.7, 0.9])
        found = assemble(load_project(write(self.from_file, responses=responses * [1.0, 2.0, 3.0, 4.0])))
        np.testing.assert_allclose(found.bank.states.elements, responses, rtol=0, atol=1e-15)
        (note,) = found.notes
        assert note.startswith("Responses were scaled to norm 1 (they had 1 to 4);")

    def test_complex_responses_need_complex_rows_and_no_latent_codes(self, write, refused, small):
        responses = small.columns([0.2, 0.35, 0.7, 0.9]) * np.exp(1j * np.arange(8))[:, None]
        message = refused(write(self.from_file, responses=responses))
        assert "data.deployment.file must hold complex numbers, as the responses are, not real numbers" in message
        rows = np.ones((400, 8), dtype=complex)
        files = {"responses": responses, "deployment": rows, "calibration": rows}
        message = refused(write(self.from_file, more=small.calibration, **files))
        assert "data.calibration.law must be known codes for complex responses, not 'latent'." in message

    def test_real_responses_refuse_complex_rows(self, write, refused):
        message = refused(write(deployment=np.ones((400, 8), dtype=complex)))
        assert "data.deployment.file must hold real numbers, as the responses are, not complex numbers" in message


def test_parameters_make_states_for_every_combination(write):
    more = (
        "\n[parameters.width]\nvalues = [0.9, 1.0]\n[parameters.gain]\nvalues = { from = -0.1, to = 0.1, count = 3 }\n"
    )
    found = assemble(load_project(write(more=more)))
    assert found.bank.states.n_states == 2 * 3 * 4
    assert found.bank.explanation(0).settings == {"gain": -0.1, "width": 0.9}
    assert found.bank.states.grid.names == ("width", "gain")  # in the order of the file


def test_parameters_of_one_kind_have_names_and_patterns_of_their_own(write, refused, small):
    table = '\n[parameters.{}]\nkind = "gain"\npattern = {}\nvalues = [0.0, {}]\n'
    first, last = np.eye(8)[0], np.eye(8)[7]
    two = table.format("gain_8", last.tolist(), 0.2) + table.format("gain_1", first.tolist(), 0.1)
    states = assemble(load_project(write(more=two))).bank.states
    assert states.grid.names == ("gain_8", "gain_1")  # as in the file, the first slowest
    expected = small.columns([0.2, 0.35, 0.7, 0.9]) * (1.0 + 0.2 * last + 0.1 * first)[:, None]
    np.testing.assert_allclose(states.elements[:, -4:], expected / np.linalg.norm(expected, axis=0), rtol=1e-12)
    alike = table.format("a", last.tolist(), 0.2) + table.format("b", last.tolist(), 0.1)
    assert "differ in pattern or coordinate where they are of one kind, not 'a' and 'b'" in refused(write(more=alike))
    message = refused(write(more="\n[parameters.shifted]\nvalues = [0.0]\n"))
    assert "or have a key kind that is one of these, not shifted. Did you mean shift?" in message
    assert "parameters.a.kind must be one of gain" in refused(
        write(more=table.format("a", "[1]", 1).replace('"gain"', '"x"'))
    )


def test_a_parameter_that_does_not_fit_the_response_is_refused(write, refused):
    assert "parameters" in refused(write(more="\n[parameters.phase]\nvalues = [0.0, 0.1]\n"))
    message = refused(write(more='\n[parameters.position]\nvalues = [0.0]\ncoordinate = "y"\n'))
    assert message.endswith("parameters.position.coordinate must be one of x, not 'y'.")


def test_too_few_rows_for_a_proposal_are_refused(write, refused):
    message = refused(write(("proposal = 0.4", "proposal = 0.001")))
    assert "data.deployment.proposal must leave at least one of the 400 rows of deployment.npy" in message


def test_elements_may_come_from_an_archive(write):
    path = write(('"elements.csv"', '"elements.npz"'))
    columns = {"id": ["a1", "a2", "b1", "b2"], "region": list("AABB"), "x": [0.2, 0.35, 0.7, 0.9]}
    np.savez(path.parent / "elements.npz", **columns)
    found = assemble(load_project(path))
    assert found.question.view.sets["B"].names == ("b1", "b2")
    assert found.question.view.sets["B"].coordinates.tolist() == [[0.7], [0.9]]


@pytest.mark.parametrize("damage", ["renamed", "cut off"])
def test_a_damaged_archive_of_elements_is_refused_in_one_message(write, refused, damage):
    path = write(('"elements.csv"', '"elements.npz"'))
    archive = path.parent / "elements.npz"
    np.savez(archive, id=["a1", "b1"], region=["A", "B"], x=[0.2, 0.7])
    archive.write_bytes(
        archive.read_bytes()[:-60] if damage == "cut off" else (path.parent / "deployment.npy").read_bytes()
    )
    assert refused(path).startswith(f"project.toml: elements.file: file {archive} must be an .npz archive")
