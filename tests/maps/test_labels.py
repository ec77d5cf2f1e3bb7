"""Labels of many signals at once are those that the question gives to each."""

import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.banks import table_regions
from physupport.maps import LABELS, Labeller
from physupport.questions import RegionalMap, RegionRule

SIZE = 60


def random_question(rng):
    """Three regions of many elements, the last one always there, with random rules."""
    columns = {}
    for region, count in (("a", 5), ("b", 70), ("c", 9)):
        chosen = rng.integers(-1 if region != "c" else 0, count, SIZE)
        chosen[:count] = np.arange(count)[:SIZE]
        columns[region] = [None if i < 0 else f"{region}{i}" for i in chosen.tolist()]
    names = {region: sorted({name for name in column if name}) for region, column in columns.items()}
    places = {region: {name: rng.uniform(0, 1, 2) for name in listed} for region, listed in names.items()}
    view = table_regions(columns, coordinates=places)
    rules = {}
    for region in columns:
        listed = list(view.sets[region].names)
        groups = {"g1": listed[:2], "g2": listed[1:4]} if rng.random() < 0.7 else None
        asks = "finest" if rng.random() < 0.4 else tuple(rng.permutation(["fine", "group", "ambiguity", "absence"])[:2])
        witness = rng.choice(["any", "persistent_only"])
        rules[region] = RegionRule(rng.choice([0.0, 0.3, 1.0]), groups=groups, asks=asks, absent_witness=witness)
    return RegionalMap(view, rules)


@pytest.mark.parametrize("seed", range(12))
def test_labels_and_groups_are_those_of_the_question(seed):
    rng = np.random.default_rng(seed)
    question = random_question(rng)
    kept = rng.random((60, SIZE)) < rng.choice([0.01, 0.03, 0.1, 0.5], (60, 1))
    labels, groups = Labeller.of(question).label(kept)
    for row, ours, sectors in zip(kept, labels, groups, strict=True):
        progress = question.begin()
        for e in range(SIZE):
            (progress.witness if row[e] else progress.reject)(e)
        for number, answer in enumerate(progress.answers()):
            assert LABELS[ours[number]] == answer.label
            listed = question.asked_regions[number].groups
            assert answer.group == (listed[sectors[number]][0] if sectors[number] >= 0 else None)


def test_thresholds_of_strength_are_refused(bank):
    question = RegionalMap(bank.question.view, {"axis": RegionRule(absence_threshold=0.5)})
    with pytest.raises(MisuseError, match="amplitudes are open"):
        Labeller.of(question)
