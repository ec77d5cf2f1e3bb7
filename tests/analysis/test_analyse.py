"""One call from tables to a report, and what it refuses."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from physupport import MisuseError
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse, report
from physupport.banks import Library, bank_regions, library_bank, product_grid
from physupport.io import ArrayRows, as_pairs, as_table
from physupport.questions import Label, RegionalMap


@pytest.fixture(scope="module")
def tables(instrument):
    return {"calibration": instrument.calibration, "deployment": instrument.deployment}


@pytest.fixture(scope="module")
def result(protocol, tables):
    return analyse(protocol, tables)


def test_it_gives_the_report_of_the_protocol_taken_step_by_step(result, protocol, tables):
    seal = protocol.read(**tables)
    assert result.report.document == report(seal, seal.run()).document


def test_it_keeps_what_was_read_and_how_long_it_took(result, tables):
    assert {name: table.values.shape for name, table in result.tables.items()} == {
        "calibration": (300, 6),
        "deployment": (160, 6),
    }
    assert {*result.seconds} == {"propose", "ask", "report"}
    assert all(value >= 0.0 for value in result.seconds.values())


def test_the_best_explanation_has_the_largest_likelihood_of_all_proposal_rows(result, instrument):
    scores = np.zeros(instrument.bank.size)
    for part in result.seal.parts:
        stream = part.law.stream(
            instrument.bank, ArrayRows(part.table, part.split.proposal), [len(part.split.proposal)]
        )
        keys_of = part.law.keys(instrument.bank)
        for e in range(instrument.bank.size):
            scores[e] += stream.log_likelihood(keys_of(e)).values[0, 0]
    assert result.best == int(scores.argmax())


def test_the_plug_in_reading_says_what_the_best_explanation_says(result, instrument):
    member = instrument.bank.explanation(result.best)
    for answer in result.plug_in:
        named = [name for name in member.ids if name.startswith(answer.field)]
        assert (list(answer.cell), answer.label) == (named, Label.FINE if named else Label.ABSENT)


def test_streams_are_named_as_in_the_protocol(protocol, tables):
    with pytest.raises(MisuseError, match="tables must be given for the streams"):
        analyse(protocol, {"calibration": tables["calibration"]})


def test_a_wrong_number_of_channels_is_refused_by_stream(protocol, tables):
    with pytest.raises(MisuseError, match="deployment must have the 6 channels that the bank describes, not 5"):
        analyse(protocol, tables | {"deployment": tables["deployment"][:, :5]})


def test_complex_rows_need_a_complex_law(protocol, tables):
    with pytest.raises(MisuseError, match=r"deployment must be real under this 'covariance' law.*is_complex=True"):
        analyse(protocol, tables | {"deployment": tables["deployment"] * 1j})
    with pytest.raises(MisuseError, match="Latent codes are real"):
        analyse(protocol, tables | {"calibration": tables["calibration"] * 1j})


def test_a_number_that_is_not_finite_is_named_by_its_row_and_column_in_the_table(protocol, tables):
    broken = tables["deployment"].copy()
    broken[101, 4] = np.nan
    frame = pd.DataFrame(broken, columns=list("uvwxyz"))
    with pytest.raises(MisuseError, match="deployment must be finite, not nan in row 101, column y"):
        analyse(protocol, tables | {"deployment": frame})


def test_streams_whose_channels_have_other_names_are_refused(protocol, tables):
    named = {name: pd.DataFrame(rows, columns=list("abcdef")) for name, rows in tables.items()}
    assert analyse(protocol, named).report.document == analyse(protocol, tables).report.document
    with pytest.raises(MisuseError, match="name its channels as calibration does, not no 'c' and the unknown 'q'"):
        analyse(protocol, named | {"deployment": named["deployment"].rename(columns={"c": "q"})})
    with pytest.raises(MisuseError, match="deployment must have the channels of calibration in their order"):
        analyse(protocol, named | {"deployment": named["deployment"].iloc[:, ::-1]})


def test_a_table_with_its_channels_along_rows_is_read_as_said(protocol, tables, result):
    turned = as_table(tables["deployment"].T.copy(), channels=0, label="deployment")
    found = analyse(protocol, tables | {"deployment": turned})
    assert found.report.digests == result.report.digests


def test_complex_rows_are_their_pairs():
    rng = np.random.default_rng(8)
    responses = rng.standard_normal((4, 3)) + 1j * rng.standard_normal((4, 3))
    responses /= np.linalg.norm(responses, axis=0)
    library = Library([*"abc"], [*"AAB"], np.arange(3.0)[:, None], as_pairs(responses, axis=0))
    bank = library_bank(library, ["AB"], {"A": 1.0, "B": 1.0}, deployment=product_grid(noise=[0.5]))
    plan = StreamPlan("covariance", 0.5, is_complex=True)
    protocol = AnalysisProtocol(
        RegionalMap(bank_regions(bank)), RegionalPolicy(), 0.05, 1.0, bank, {"deployment": plan}
    )
    rows = rng.standard_normal((80, 4)) + 1j * rng.standard_normal((80, 4))
    paired = analyse(protocol, {"deployment": as_pairs(rows)})
    assert analyse(protocol, {"deployment": rows}).report.document == paired.report.document
    with pytest.raises(MisuseError, match="deployment must have the 4 channels"):
        analyse(protocol, {"deployment": rows[:, :3]})


def test_a_callback_may_stop_the_run(protocol, tables):
    found = analyse(protocol, tables, callback=lambda tick: tick.used < 2)
    assert found.report.queries == 2


def test_a_stream_proposed_beforehand_gives_the_same_seal(protocol, tables):
    proposed = protocol.propose("calibration", tables["calibration"])
    assert protocol.read(calibration=proposed, deployment=tables["deployment"]).digest == protocol.read(**tables).digest


def test_protocols_that_differ_in_the_level_share_what_was_proposed_and_scored(protocol, tables):
    parts = {name: protocol.propose(name, table) for name, table in tables.items()}
    first, second = (replace(protocol, level=level).read(**parts) for level in (0.2, 0.01))
    assert second.digest == replace(protocol, level=0.01).read(**tables).digest
    assert all(a.stream is b.stream for a, b in zip(first.evidence.factors, second.evidence.factors, strict=True))
    fresh = replace(protocol, level=0.01).read(**tables)
    first.verdicts()
    assert_array_equal(second.verdicts().codes, fresh.verdicts().codes)
    # All verdicts known or none: a run asks the same and hears the same.
    assert_array_equal(second.run().queries, replace(protocol, level=0.01).read(**tables).run().queries)
    with pytest.raises(MisuseError, match="calibration must be proposed by this protocol"):
        replace(protocol, streams={**protocol.streams, "deployment": StreamPlan("covariance", 0.25)}).read(**parts)


def test_what_another_protocol_proposed_is_refused(protocol, tables, instrument):
    other = AnalysisProtocol(protocol.question, protocol.policy, 0.05, 1.0, instrument.bank, protocol.streams, seed=1)
    proposed = other.propose("calibration", tables["calibration"])
    with pytest.raises(MisuseError, match="calibration must be proposed by this protocol"):
        protocol.read(calibration=proposed, deployment=tables["deployment"])
    with pytest.raises(MisuseError, match="name must be one of the streams"):
        protocol.propose("validation", tables["calibration"])
