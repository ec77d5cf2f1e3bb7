"""Keys that do not go together, files that do not fit, and what the program makes of backgrounds and noise."""

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.stats import binom

from physupport import MisuseError
from physupport.project import assemble, load_project, run_project
from physupport.project._mixture import _bernstein, _estimated, _splines

RESPONSE = 'response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }'
GAUSSIAN = ('law = "covariance"', 'law = "gaussian"')
OPEN = [GAUSSIAN, ("noise = 0.5\nproposal = 0.4\n", ""), ("strength = 2.0\ntolerance", "tolerance"),
        ("strength = 2.0\npresence", "presence")]  # fmt: skip


@pytest.fixture
def message(write):
    """A function that returns the message with which a project is refused before a row is read."""

    def told(*changes, more="", **files):
        with pytest.raises(MisuseError) as caught:
            assemble(load_project(write(*changes, more=more, **files)))
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith("project.toml")
        return str(caught.value)

    return told


@pytest.mark.parametrize(
    ("changes", "more", "words"),
    [
        (
            [],
            "[background]\n",
            "background must have one of the keys polynomial, local, splines, atoms, reference, pile_up, escape and",
        ),
        ([], "[claims.heavy]\nany = ['a1']\nall = ['b1']\n", "must have one of the keys any, all and exactly_one"),
        ([], "[claims.heavy]\n", "must have one of the keys any, all and exactly_one"),
        ([], "[claims.heavy]\nall = []\n", "claims.heavy.all must name at least one element or group, each once"),
        ([], "[claims.heavy]\nany = ['a1', 'a1']\n", "claims.heavy.any must name at least one element or group, each"),
        ([], "[claims.heavy]\nany = ['a1x']\n", "claims must name elements or groups of regions that are asked about"),
        (
            [],
            "[supports]\nmax_active = 1\nlist = [['A']]\n",
            "must have at most one of the keys max_active, list and leave_one_out",
        ),
        ([], "[regions.B.groups]\nall = 3\n", "regions.B.groups"),
        ([("tolerance = 0.01", "groups = 3")], "", "regions.A.groups must be a table of named groups, not 3"),
        ([(RESPONSE, 'responses = ["waves.npy"]')], "", "must be one file, or a list of two or more"),
        (
            [("tolerance = 0.01", 'ask = "nothing"'), ("tolerance = 0.01", 'ask = "nothing"')],
            "",
            "regions must ask about at least one region, not ask = 'nothing' for all of them",
        ),
        (
            [("\ntolerance = 0.01", ""), ("\ntolerance = 0.01", "")],
            "[resolution]\nregion = 'A'\nfine = 0.1\ngroup = 0.5\n[claims.some]\nany = ['a1']\n",
            "claims must be left out beside a resolution",
        ),
        (
            [("strength = 2.0\ntol", "coefficient = [2, 1]\ntol")],
            "",
            "'free', '>= 0', or [low, high] with low below high",
        ),
        ([("strength = 2.0\ntol", "coefficient = 'positive'\ntol")], "", "'free', '>= 0', or [low, high]"),
        ([("noise = 0.5", "noise = { variance = 'v.npy', rows = 'r.npy' }")], "", "variance, covariance and rows"),
        ([("seed = 3", 'seed = 3\njudge = "jury"')], "", "judge must be"),
        ([("seed = 3", 'seed = 3\npolicy = "wild"')], "", "policy must be"),
    ],
)
def test_sections_that_say_too_little_or_too_much_are_refused(message, changes, more, words):
    assert words in message(*changes, more=more)


@pytest.mark.parametrize(
    ("noise", "array", "words"),
    [
        ("variance", np.ones(7), "hold 8 variances, one for each channel, not shape (7,)"),
        ("variance", np.zeros(8), "must be above 0, not 0.0"),
        ("variance", np.full(8, np.nan), "must be finite, but one number is not"),
        ("covariance", np.eye(7), "have shape (8, 8), not (7, 7)"),
        ("covariance", 1j * np.eye(8), "be real as the responses are, not complex numbers"),
        ("covariance", -np.eye(8), "covariance"),
        ("rows", np.ones((90, 7)), "have 8 columns, one for each channel, not shape (90, 7)"),
        ("rows", np.random.default_rng(0).standard_normal((15, 8)), "hold at least 16 rows without a signal, not 15"),
    ],
)
def test_files_about_the_noise_that_do_not_fit_the_channels_are_refused(message, noise, array, words):
    told = message(*OPEN, ("[elements]", f'noise = {{ {noise} = "n.npy" }}\n[elements]'), n=array)
    assert f"data.deployment.noise.{noise}" in told or noise == "covariance"
    assert words in told


def test_noise_by_file_is_whitened_to_the_same_answer(write):
    """Variances of single channels, as a list or as a diagonal, are one and the same law."""
    rows = np.random.default_rng(1).standard_normal((1, 8)) * np.linspace(0.5, 2.0, 8) + np.linspace(2.0, 0.1, 8) ** 3
    variances, answers = np.linspace(0.5, 2.0, 8) ** 2, []
    for kind, array in (("variance", variances), ("variance", variances[:, None]), ("covariance", np.diag(variances))):
        changes = [*OPEN, ("[elements]", f'noise = {{ {kind} = "n.npy" }}\n[elements]')]
        report = run_project(load_project(write(*changes, n=array, deployment=rows))).result.report
        answers.append([(str(field.label), field.cell) for field in report.fields])
    assert answers[0] == answers[1]
    assert [label for label, _ in answers[0]] == [label for label, _ in answers[2]]


def test_as_many_noises_as_channels_are_asked_about(message):
    values = ", ".join(f"0.{i}" for i in range(1, 9))
    told = message(("noise = 0.5", f"noise = [{values}]"))
    assert "be either values to try or one variance for each channel, but 8 numbers for 8 channels may be both" in told


def test_a_threshold_above_the_largest_coefficient_says_nothing_and_is_refused(message):
    told = message(
        *OPEN, ("tolerance = 0.01\n\n", "tolerance = 0.01\ncoefficient = [-1, 2]\nabsence_threshold = 3\n\n")
    )
    assert "regions.A.absence_threshold must be at most 2, the largest coefficient" in told
    assert "ABSENT is certain without any data" in told


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (
            np.ones((7, 2)),
            "background.atoms must have 8 rows, one for each channel, and a column for each atom, not (7, 2)",
        ),
        (np.ones((8, 2, 1)), "background.atoms must have 8 rows, one for each channel"),
        (1j * np.ones((8, 1)), "background.atoms must be real as the responses are, not complex numbers"),
    ],
)
def test_columns_of_a_background_that_do_not_fit_the_channels_are_refused(message, array, words):
    assert words in message(*OPEN, more='[background]\natoms = "b.npy"\n', b=array)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.ones((7, 2)), "elements.shared must have 8 rows, one for each channel, and a column for each atom"),
        (1j * np.ones((8, 1)), "elements.shared must be real as the responses are, not complex numbers"),
        (
            np.stack([np.ones(8), np.zeros(8)], axis=1),
            "elements.shared must have columns other than 0, but column 1 is 0",
        ),
    ],
)
def test_shared_columns_that_do_not_fit_are_refused(message, array, words):
    assert words in message((RESPONSE, f'{RESPONSE}\nshared = "s.npy"'), s=array)


def test_variants_in_lines_need_a_file_with_a_column_for_each_line(message, write):
    elements = "id,region,x,variant\na1,A,0.2,1\na1,A,0.25,2\nb1,B,0.7,1\nb1,B,0.75,2\n"
    assert "have distinct ids unless responses is one file, with a column for each line" in message(elements=elements)


def test_columns_of_an_archive_have_one_length(message, tmp_path):
    np.savez(tmp_path / "elements.npz", id=np.array(["a1", "b1"]), region=np.array(["A", "B"]), x=np.array([0.2]))
    assert "hold columns of one length" in message(('file = "elements.csv"', 'file = "elements.npz"'))


@pytest.mark.parametrize("degree", [0, 1, 3, 6])
def test_backgrounds_of_counts_are_polynomials_that_are_nowhere_negative(degree):
    axis = np.linspace(-1.0, 1.0, 31)
    found = _bernstein(axis, degree)
    assert (found >= 0.0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(
        found, np.stack([binom.pmf(k, degree, (axis + 1.0) / 2.0) for k in range(degree + 1)], 1)
    )
    # They span all polynomials of their degree.
    wanted = np.polynomial.legendre.legvander(axis, degree)
    fitted = found @ np.linalg.lstsq(found, wanted, rcond=None)[0]
    np.testing.assert_allclose(fitted, wanted, atol=1e-9)


@pytest.mark.parametrize("count", [4, 5, 9])
def test_splines_sum_up_to_1_and_reproduce_cubics(count):
    axis = np.linspace(-1.0, 1.0, 40)
    found = _splines(axis, count)
    assert found.shape == (40, count)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    cubic = axis**3 - 0.3 * axis
    np.testing.assert_allclose(found @ np.linalg.lstsq(found, cubic, rcond=None)[0], cubic, atol=1e-9)
    knots = np.concatenate([[-1.0] * 3, np.linspace(-1.0, 1.0, count - 2), [1.0] * 3])
    for k in range(count):
        own = BSpline(knots, np.eye(count)[k], 3)(axis)
        np.testing.assert_allclose(found[:, k], own, atol=1e-12)


def test_a_covariance_from_rows_is_the_unbiased_one_real_or_complex():
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((60, 3)) + 1j * rng.standard_normal((60, 3)) + 5.0
    np.testing.assert_allclose(_estimated("rows", rows.real, 3), np.cov(rows.real.T), rtol=1e-12)
    np.testing.assert_allclose(_estimated("rows", rows, 3), np.cov(rows.T), rtol=1e-12)


@pytest.mark.parametrize(("budget", "labels"), [("0.0", ["GROUP", "ABSTAIN"]), ("1.0", ["FINE", "FINE"])])
def test_a_budget_decides_how_much_is_said(write, budget, labels):
    """Without a question a region that is always there has something in it, and of an optional one nothing is known."""
    report = run_project(load_project(write(("budget = 1.0", f"budget = {budget}")))).result.report
    assert [str(field.label) for field in report.fields] == labels


@pytest.mark.parametrize("policy", ["regional", "fixed", "random", "farthest"])
def test_every_policy_that_a_map_has_ends_with_the_same_answer(write, policy):
    report = run_project(load_project(write(("seed = 3", f'seed = 3\npolicy = "{policy}"')))).result.report
    assert [(str(field.label), field.cell) for field in report.fields] == [("FINE", ("a1",)), ("FINE", ("b1",))]
