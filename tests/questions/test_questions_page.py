"""The page about questions shows what happens, and its own question keeps the contract."""

import doctest
from pathlib import Path

from hypothesis import given, settings, strategies as st

from physupport.judges import Verdict
from physupport.questions import Comparison, Label, compare, exhaustive_answers

PAGE = Path(__file__).parents[2] / "docs" / "questions.md"


def examples():
    test = doctest.DocTestParser().get_doctest(PAGE.read_text(), {}, "questions", str(PAGE), 0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, clear_globs=False)
    return runner.summarize(verbose=False), test.globs


def test_every_example_prints_what_the_page_shows():
    results, _ = examples()
    assert results.attempted > 25
    assert results.failed == 0


def test_the_table_of_labels_shows_every_label_with_its_rank():
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().split("## A map of regions")[0].splitlines()
        if line[:2] == "| "
    ]
    shown = {row[0]: row[-1] for row in rows[1:]}
    assert shown == {str(label): str(label.rank) for label in Label}


_, NAMES = examples()


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from([*Verdict])), min_size=1, max_size=8), st.randoms())
def test_the_question_of_the_page_is_safe_at_every_prefix(rows, random):
    counts, codes = zip(*rows, strict=True)
    question = NAMES["HowMany"](counts)
    (exhaustive,) = exhaustive_answers(question, codes)
    order, progress = [*range(len(rows))], question.begin()
    random.shuffle(order)
    profile = {counts[e] for e, code in enumerate(codes) if code == Verdict.ADMISSIBLE}
    for e in order:
        if codes[e] == Verdict.ADMISSIBLE:
            progress.witness(e)
        elif codes[e] == Verdict.REJECTED:
            progress.reject(e)
        (answer,) = progress.answers()
        assert compare(answer, exhaustive) is not Comparison.UNSAFE
        if answer.label is Label.FINE:
            assert len(profile) <= 1
        if answer.label is Label.AMBIGUOUS:
            assert len(profile) > 1
            assert {codes[e] for e in answer.certificate.witnesses} == {Verdict.ADMISSIBLE}
    assert answer.label is exhaustive.label
