"""Amounts in reports: what is said, in which columns, and that verification finds a changed one."""

import csv
import io
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from benchmarks import amounts

from physupport import MisuseError
from physupport.analysis import analyse
from physupport.report import Report
from physupport.report._amounts import amount_of, amount_remedy
from physupport.verify import verify

SEED = 11


@cache
def analysed(name):
    rows = amounts.LINES[name][2](np.random.default_rng(SEED))
    return analyse(amounts.protocol_of(name), {"deployment": rows}).report, rows


def test_an_amount_holds_zero_unless_every_explanation_has_its_element():
    report, _ = analysed("counts")
    strong, _, zero = report.amounts()
    assert strong.is_certain
    assert strong.low > 0.0
    assert not zero.is_certain
    assert zero.low == 0.0
    assert strong.unit == "net counts"
    (unit, *_) = report.amounts(per={"strong": 10.0})
    assert unit.high == pytest.approx(strong.high / 10.0)
    with pytest.raises(MisuseError, match="name elements that have an amount"):
        report.amounts(per={"lead": 1.0})


def test_one_sentence_and_three_columns_tell_the_amounts():
    report, _ = analysed("counts")
    (said,) = [line for line in report.opening() if line.startswith("Net counts: strong ")]
    assert "; zero at most " in said
    (first, *_) = csv.DictReader(io.StringIO(report.csv()))
    assert float(first["amount from"]) == report.amounts()[0].low
    assert first["amount unit"] == "net counts"


@pytest.mark.parametrize(
    ("low", "is_certain", "said"), [(0.0, True, "up to 2400"), (0.0, False, "at most 2400"), (3.0, True, "3 to 2400")]
)
def test_what_is_certainly_there_has_no_amount_of_zero_in_words(low, is_certain, said):
    assert amount_of("K-40", "K-40", (low, 2400.0), "counts", is_certain=is_certain).words == f"{said} net counts"


def test_fractions_hold_the_shares_of_amounts_that_the_intervals_allow():
    report, _ = analysed("counts")
    found = report.fractions()
    truth = amounts.COUNTS / amounts.COUNTS.sum()
    assert all(low <= share <= high for (low, high), share in zip(found.values(), truth, strict=True))
    assert sum(low for low, _ in found.values()) <= 1.0 <= sum(high for _, high in found.values())
    with pytest.raises(MisuseError, match="cannot be negative"):
        analysed("fission")[0].fractions()


@pytest.mark.parametrize("name", ["counts", "split", "rotation"])
def test_verification_finds_the_amounts_again_and_a_changed_one(name):
    report, rows = analysed(name)
    assert verify(report.json(), {"deployment": rows}).is_verified
    forged = Report.from_json(report.json()).document
    forged["amounts"]["elements"][0]["ends"][1] *= 0.9
    findings = verify(forged, {"deployment": rows}).findings
    assert any(finding.startswith("amounts.elements") for finding in findings)


def test_without_a_share_of_the_level_rotation_says_what_would_give_amounts():
    protocol = replace(amounts.protocol_of("rotation"), judge=amounts.ByRotation())
    rows = amounts.drawn_rows(np.random.default_rng(SEED))
    plain = analyse(protocol, {"deployment": rows}).report
    assert plain.amounts() == ()
    assert plain.document["amounts"]["reason"] == "share"


def test_what_would_show_an_element_is_told_in_times_the_counts():
    report, _ = analysed("counts")
    weak = next(amount for amount in report.amounts() if amount.element == "weak")
    fact = amount_remedy(report.document, "zero")
    assert (fact["element"], fact["data"]) == ("zero", "counts")
    assert fact["times"] >= 1.0
    assert amount_remedy(report.document, "strong") is None
    assert (amount_remedy(report.document, "weak") is None) == weak.is_certain
