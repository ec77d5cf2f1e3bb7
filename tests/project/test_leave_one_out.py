"""Which of many optional regions are certain: all of them, and all but each, speak for every combination."""

import numpy as np
import pytest
from scipy.stats import binom

from physupport import MisuseError
from physupport.analysis import analyse
from physupport.project import load_project, run_project
from physupport.project._assemble import assemble
from physupport.verify import verify

Q, N, LEVEL, UNLUCKY = 90, 6, 0.1, 1e-6
AXIS = np.arange(Q)
LINES = np.exp(-0.5 * ((AXIS[:, None] - np.linspace(12.0, 77.0, N)) / 6.0) ** 2)
NAMES = [f"E{i}" for i in range(N)]
PROJECT = f"""
level = {LEVEL}

[data.deployment]
file = "rows.npy"
channels = 1
law = "poisson"

[background]
polynomial = 1

[elements]
file = "lines.csv"
coordinates = ["place"]
responses = "lines.npy"

[regions]
{"".join(f'{name} = {{ presence = "optional" }}' + chr(10) for name in NAMES)}
[supports]
leave_one_out = true
"""
EVIDENCE = [
    (f"level = {LEVEL}", f'level = {LEVEL}\njudge = "evidence"'),
    ('law = "poisson"', 'law = "gaussian"\nnoise = 4.0\nsplit = "fission"'),
]


@pytest.fixture
def folder(tmp_path):
    def made(row, *replaced):
        text = PROJECT
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "project.toml").write_text(text)
        (tmp_path / "lines.csv").write_text(
            "\n".join(["id,region,place", *(f"{name},{name},{i}" for i, name in enumerate(NAMES))])
        )
        np.save(tmp_path / "lines.npy", LINES)
        np.save(tmp_path / "rows.npy", np.atleast_2d(row))
        return tmp_path / "project.toml"

    return made


def certain(report):
    return [field.field for field in report.fields if str(field.label) == "FINE"]


@pytest.mark.parametrize("changes", [[], EVIDENCE], ids=["counts", "evidence"])
def test_one_test_a_region_says_what_all_combinations_say(folder, changes):
    rng, means = np.random.default_rng(1), 60.0 * LINES[:, 1] + 80.0 * LINES[:, 2] + 4.0
    row = means + 2.0 * rng.standard_normal(Q) if changes else rng.poisson(means)
    loaded = load_project(folder(row, *changes))
    assembled = assemble(loaded)
    assert assembled.bank.size == 1 + N
    assert "every combination of optional regions lies within an explanation" in assembled.notes[-1]
    report = run_project(loaded).result.report
    assert certain(report) == ["E1", "E2"]
    assert {str(field.label) for field in report.fields} == {"FINE", "SUPPORT_AMBIGUOUS"}
    assert verify(report.json(), {"deployment": row[None].astype(float)}).is_verified
    everything = load_project(folder(row, *changes, ("leave_one_out = true", "")))
    assert assemble(everything).bank.size == 2**N
    assert certain(run_project(everything).result.report) == ["E1", "E2"]


@pytest.mark.slow
def test_nothing_that_is_not_there_is_called_certain_more_often_than_the_level(folder):
    """Whatever combination is there, some of it weak; all statements of a report together."""
    runs, wrong, found = 40, 0, 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        amounts = 10.0 ** rng.uniform(0.0, 2.0, N) * (rng.random(N) < 0.4)
        row = rng.poisson(LINES @ amounts + rng.uniform(0.5, 5.0))
        assembled = assemble(load_project(folder(row), {"seed": run}))
        named = certain(analyse(assembled.protocol, assembled.tables).report)
        wrong += any(amounts[NAMES.index(name)] == 0.0 for name in named)
        found += len(named)
    assert binom.sf(wrong - 1, runs, LEVEL) > UNLUCKY
    assert found > runs / 2


def test_a_stronger_line_that_is_not_listed_leaves_nothing(folder):
    row = np.random.default_rng(2).poisson(60.0 * LINES[:, 1] + 90.0 * (np.abs(AXIS - 45) < 2) + 4.0)
    assert run_project(load_project(folder(row))).result.report.status == "EMPTY"


OTHER, THIRD = (f'{name} = {{ presence = "optional" }}' for name in ("E1", "E2"))
# One name for what two regions have, of which one is in every explanation.
HEAVY = [
    (line, f'{name} = {{ presence = "optional", groups = {{ heavy = ["{name}"] }} }}')
    for name, line in (("E1", OTHER), ("E2", THIRD))
]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([('law = "poisson"', 'law = "gaussian"')], "judge must be one that weighs evidence .* not rotation"),
        ([("leave_one_out = true", "leave_one_out = true\nmax_active = 2")], "supports must have at most one of"),
        ([("[supports]", '[claims.x]\nany = ["E1", "E2"]\n[supports]')], "claims.x.any must name one thing"),
        ([("[supports]", '[claims.x]\nexactly_one = ["E1", "E2"]\n[supports]')], "exactly_one must name one thing"),
        *(
            (
                [*HEAVY, ("[supports]", f'[claims.x]\n{kind} = ["heavy"]\n[supports]')],
                f"claims.x.{kind} must name what one region has .* but 'heavy' is in 2 regions",
            )
            for kind in ("any", "all", "exactly_one")
        ),
        (
            [
                (THIRD, 'E2 = { presence = "optional", groups = { E1 = ["E2"] } }'),
                ("[supports]", '[claims.x]\nany = ["E1"]\n[supports]'),
            ],
            "claims.x.any must name what one region has .* but 'E1' is in 2 regions",
        ),
        ([('"optional"', '"always"')], "supports.leave_one_out must go with optional regions"),
        ([*EVIDENCE, (OTHER, 'E1 = { presence = "optional", coefficient = [1.0, 2.0] }')], "coefficient must hold 0"),
        (
            [*EVIDENCE, (OTHER, 'E1 = { presence = "optional", absence_threshold = 2.0 }')],
            "absence_threshold must be left out with leave_one_out",
        ),
    ],
)
def test_what_combinations_do_not_lie_within_is_refused(folder, changes, message):
    with pytest.raises(MisuseError, match=message):
        assemble(load_project(folder(np.full(Q, 5), *changes)))


def test_claims_of_one_thing_and_of_all_are_answered(folder):
    row = np.random.default_rng(1).poisson(60.0 * LINES[:, 1] + 80.0 * LINES[:, 2] + 4.0)
    claims = (
        '[claims.both]\nall = ["E1", "E2"]\n[claims.more]\nall = ["E1", "E3"]\n[claims.one]\nany = ["E2"]\n[supports]'
    )
    report = run_project(load_project(folder(row, ("[supports]", claims)))).result.report
    assert [claim["value"] for claim in report.document["claims"]] == ["true", "open", "true"]
    assert report.answers[-1] == "One: E2 is there."


def test_no_data_are_promised_to_show_that_an_amount_is_none(folder):
    """Amounts may be as small as one likes: more counts never reject an explanation that has one too many."""
    row = np.random.default_rng(1).poisson(60000.0 * LINES[:, 1] + 4000.0)
    fields = run_project(load_project(folder(row))).result.report.fields
    absent = next(field for field in fields if field.field == "E3")
    assert absent.label == "SUPPORT_AMBIGUOUS"
    assert "data can show its presence but never its absence." in absent.sentence
