"""A project file that breaks a rule is refused in one sentence with file, key, rule and value."""

import pytest

from physupport import MisuseError
from physupport.laws import laws_of_files
from physupport.project import load_project

NOISE = "noise = 0.5"
RESPONSE = 'response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }'


def refusal(path, overrides=None):
    with pytest.raises(MisuseError) as caught:
        load_project(path, overrides)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("budget = 1.0", "judge = ['rotation']", "project.toml: judge must be 'evidence' or 'invariant' or"),
        (NOISE, "noise = -1", "project.toml: data.deployment.noise must be above 0, not -1."),
        (NOISE, "", "project.toml: data.deployment.noise is required."),
        (NOISE, "noise = nan", "noise must be a number, a list of numbers, or { from, to, count }, not nan."),
        (NOISE, "noise = [0.5, 0.5]", "noise must hold each number once, not 0.5, 0.5."),
        (NOISE, "noise = []", "noise must hold at least one number, but there is none."),
        (NOISE, "noise = { from = 1, to = 2 }", "noise must have the keys from, to and count, not from, to."),
        (NOISE, "noise = { betwen = [1, 2] }", "to and count, not betwen. Did you mean between?"),
        (NOISE, 'noise = { varience = "v.npy" }', "to and count, not varience. Did you mean variance?"),
        (NOISE, "noise = { from = 1, to = 2, cont = 3 }", "not from, to, cont. Did you mean count?"),
        (NOISE, "noise = { zzz = 1 }", "must have the keys from, to and count, not zzz."),
        (
            NOISE,
            "noise = { between = [nan, 2.0] }",
            "data.deployment.noise.between must be [low, high], two numbers that are finite, not [nan, 2.0].",
        ),
        (
            "strength = 2.0",
            "strength = { between = [1.0, inf] }",
            "regions.A.strength.between must be [low, high], two numbers that are finite, not [1.0, inf].",
        ),
        ("strength = 2.0", "strength = { betwen = [1, 2] }", "to and count, not betwen. Did you mean between?"),
        (NOISE, "noise = { from = 1, to = 2, count = 1 }", "noise must have a whole count between 2 and 10000, not 1."),
        (NOISE, "noise = true", "noise must be a number, a list of numbers, or { from, to, count }, not True."),
        ("level = 0.1", "level = 2", "project.toml: level must be below 1, not 2."),
        ("level = 0.1", "level = 0", "project.toml: level must be above 0, not 0."),
        ("level = 0.1", "level = nan", "project.toml: level must be finite, not nan."),
        ("level = 0.1", 'level = "low"', "project.toml: level must be a number, not 'low'."),
        ("level = 0.1", "", "project.toml: level is required."),
        ("budget = 1.0", "budget = 1.5", "budget must be a whole number of queries, or a share between 0.0 and 1.0"),
        ("budget = 1.0", "budget = -1", "budget must be a whole number of queries, or a share between 0.0 and 1.0"),
        ("seed = 3", "seed = 1.5", "project.toml: seed must be a whole number, not 1.5."),
        ("seed = 3", "seed = -1", "project.toml: seed must be at least 0, not -1."),
        ("channels = 1", "channels = 0.5", "channels must be the number or the name of the axis"),
        (
            'law = "covariance"',
            'law = "latent"',
            f"law must be {' or '.join(map(repr, laws_of_files('deployment')))}, not 'latent'.",
        ),
        ("proposal = 0.4", "proposal = 1.0", "project.toml: data.deployment.proposal must be below 1, not 1.0."),
        ("[elements]", "elements = 3\n[other]", "project.toml must have no other keys than"),
        (RESPONSE, "", "project.toml: elements must have one of the keys responses and response, not neither."),
        (RESPONSE, 'response = "peak"', "project.toml: elements.response must be a table, not 'peak'."),
        (
            'kind = "peak"',
            'kind = "peek"',
            "elements.response must have a kind among circular array, formula, lines, near field",
        ),
        (RESPONSE, 'response = { function = "a.b" }', "response.function must be written module:function, not 'a.b'."),
        ("width = 0.15", "width = 0", "project.toml: elements.response.width must be above 0, not 0."),
        ('["x"]', '"x"', "project.toml: elements.coordinates must be a list, not 'x'."),
        ("strength = 2.0", "strength = 0", "project.toml: regions.A.strength must be above 0, not 0."),
        ('"optional"', '"maybe"', "project.toml: regions.B.presence must be 'always' or 'optional', not 'maybe'."),
        ("tolerance = 0.01", "tolerance = -1", "project.toml: regions.A.tolerance must be at least 0, not -1."),
        ("tolerance = 0.01", 'ask = ["fin"]', "regions.A.ask must be 'finest', 'nothing', or a list of fine,"),
        (
            "tolerance = 0.01",
            'groups = { left = "a1" }',
            "groups must be lists of element ids, or tables of",
        ),
    ],
)
def test_a_broken_rule_is_told_with_file_key_rule_and_value(write, old, new, message):
    assert message in refusal(write((old, new)))


@pytest.mark.parametrize(
    ("old", "new", "nearest"),
    [
        (NOISE, "nosie = 0.5", "noise"),
        ("budget = 1.0", "bugdet = 1.0", "budget"),
        ("width = 0.15", "widht = 0.15", "width"),
        ("[regions.A]", "[region.A]", "regions"),
        ("[elements]", "[supports]\nmax_activ = 1\n[elements]", "max_active"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(write, old, new, nearest):
    message = refusal(write((old, new)))
    assert "must have no other keys than" in message
    assert message.endswith(f"Did you mean {nearest}?")


def test_an_unknown_parameter_is_refused_with_the_nearest_known_one(write):
    message = refusal(write(("[elements]", "[parameters.widht]\nvalues = [1.0]\n[elements]")))
    assert "parameters must be named gain, offset," in message
    assert message.endswith("not widht. Did you mean width?")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("activity = 0.3", "", "data.calibration.activity is required."),
        ("activity = 0.3", "activity = 1.2", "data.calibration.activity must be below 1, not 1.2."),
        ('"latent"', '"known codes"', "data.calibration.activity must be left out with the law known codes"),
        (
            "activity = 0.3",
            'activity = 0.3\ncodes = "c.npy"',
            "data.calibration.codes must be left out with the law latent, but it is given.",
        ),
    ],
)
def test_the_calibration_law_decides_which_keys_it_needs(write, small, old, new, message):
    assert message in refusal(write((old, new), more=small.calibration))


def test_what_is_no_toml_is_told_with_line_and_column(write):
    message = refusal(write(("seed = 3", "seed =")))
    assert message == "project.toml must be TOML, not invalid value (at line 4, column 7)."


def test_a_missing_file_points_at_the_example(tmp_path):
    message = refusal(tmp_path / "none.toml")
    assert "must be a readable file, not No such file or directory. `physupport init` writes an example." in message


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "project.toml").write_bytes(b"\xff\xfe\x00")
    assert "must be UTF-8 text" in refusal(tmp_path / "project.toml")


def test_overrides_replace_values_and_are_named_when_they_break_a_rule(write):
    path = write()
    loaded = load_project(path, {"level": 0.2, "output.folder": "elsewhere", "budget": 7})
    assert (loaded.settings.level, loaded.settings.budget, str(loaded.folder)) == (0.2, 7, "elsewhere")
    assert load_project(path).folder == path.parent / "report"
    assert refusal(path, {"level": 3.0}) == "override level must be below 1, not 3.0."


def test_numbers_come_in_three_spellings(write):
    path = write((NOISE, "noise = { from = 0.5, to = 1.0, count = 3 }"), ("strength = 2.0", "strength = [1, 2]"))
    settings = load_project(path).settings
    assert settings.data.deployment.noise.values == (0.5, 0.75, 1.0)
    assert settings.regions["A"].strength.values == (1.0, 2.0)
    assert settings.regions["B"].strength.values == (2.0,)
