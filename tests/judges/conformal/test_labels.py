"""No label rests on an element that no data could exclude, and none is fine beside something that is not listed."""

import copy

import numpy as np
import pytest

from physupport import MisuseError
from physupport.aeb import RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse
from physupport.banks import Library, bank_regions, library_bank
from physupport.judges.conformal import ByConformal, Replicates
from physupport.maps import MapProtocol, as_signals, map_signals
from physupport.project._examples import stored_spectra
from physupport.questions import Claim, RegionalMap, RegionRule
from physupport.report import document_hash
from physupport.verify import verify

AXIS = np.arange(80.0)
LEVEL = 0.1


def spectrum(place, unit):
    """A line whose width and tilt depend on the instrument."""
    rng = np.random.default_rng([int(10 * place), unit])
    width, tilt = 2.0 + 0.1 * rng.standard_normal(), 0.1 * rng.standard_normal()
    line = np.exp(-0.5 * ((AXIS - place) / width) ** 2) * (1.0 + tilt * AXIS / 80.0)
    return 40.0 * (line + 0.002 * rng.standard_normal(80))


def protocol_of(places, units, claims=None, tolerance=0.0):
    """Elements by name with their places, each with so many units."""
    listed = [(name, k) for name in places for k in range(units[name])]
    data = Replicates(
        np.array([spectrum(places[name], k) for name, k in listed]),
        tuple(name for name, _ in listed),
        tuple(f"{name} {k}" for name, k in listed),
    )
    responses = np.array([spectrum(place, 1000) for place in places.values()]).T
    coordinates = np.array([*places.values()])[:, None]
    library = Library([*places], ["stone"] * len(places), coordinates, responses / np.linalg.norm(responses, axis=0))
    bank = library_bank(library, [["stone"]], {"stone": [1.0]})
    question = RegionalMap(bank_regions(bank), {"stone": RegionRule(tolerance)}, claims)
    plans, judge = {"deployment": StreamPlan("gaussian", 0.5)}, ByConformal(data)
    return AnalysisProtocol(question, RegionalPolicy(), LEVEL, 1.0, bank, plans, judge=judge, stop="set")


FEW = {"chalk": 20.0, "quartz": 40.0, "PST": 60.0}
FEW_UNITS = {"chalk": 12, "quartz": 12, "PST": 8}
MANY = {f"s{i}": 5.0 + 3.5 * i for i in range(20)}
MANY_UNITS = dict.fromkeys(MANY, 12)


def report_of(protocol, place):
    row = spectrum(place, 99)[None]
    report = analyse(protocol, {"deployment": row}).report
    assert verify(report.json(), {"deployment": row}).is_verified
    return report


def test_an_element_that_nothing_can_exclude_is_named_apart_from_what_is_kept():
    report = report_of(protocol_of(FEW, FEW_UNITS), FEW["chalk"])
    (stone,) = report.fields
    assert (report.status, str(stone.label), stone.cell) == ("REPORT", "GROUP", ("chalk", "PST"))
    assert stone.answer == (
        "Stone: chalk is there, unless it is PST (cannot be excluded: too few replicates) or something that is not in "
        "the library."
    )
    assert (
        "No signal can exclude PST (8): each has too few replicate units (in brackets), and this level needs 9 or more."
        in report.sentence
    )
    assert (
        "Something that is not in the library cannot be excluded: at this level a test of it requires 19 groups"
        in report.sentence
    )


def test_where_nothing_else_is_left_no_label_is_given():
    claims = {"plastic": Claim("any", ("PST",)), "stone": Claim("any", ("chalk", "quartz"))}
    report = report_of(protocol_of(FEW, FEW_UNITS, claims), 50.0)  # like nothing in the library
    (stone,) = report.fields
    assert (report.status, str(stone.label), stone.cell) == ("WITHHELD", "ABSTAIN", ("PST",))
    assert stone.answer == (
        "Stone: no answer, because nothing remains but PST, which no signal could exclude: too few replicates."
    )
    assert report.doubt.startswith("No label is given: nothing remains but PST")
    assert [claim["value"] for claim in report.document["claims"]] == ["withheld", "withheld"]


def test_an_element_that_nothing_can_exclude_is_not_the_content_of_a_label_even_if_it_is_there():
    report = report_of(protocol_of(FEW, FEW_UNITS), FEW["PST"])
    assert (report.status, str(report.fields[0].label)) == ("WITHHELD", "ABSTAIN")


def test_an_element_is_fine_only_where_something_that_is_not_in_the_library_is_excluded():
    report = report_of(protocol_of(MANY, MANY_UNITS, {"s7": Claim("any", ("s7",))}), MANY["s7"])
    (stone,) = report.fields
    assert report.document["gate"]["unlisted"]["is_excluded"]
    assert (str(stone.label), stone.answer) == ("FINE", "Stone: s7 is there.")
    assert (
        "Something that is not in the library is excluded (p = 0.095), if its group is exchangeable" in report.sentence
    )
    assert [claim["value"] for claim in report.document["claims"]] == ["true"]
    some = {name: MANY[name] for name in [*MANY][:18]}
    report = report_of(protocol_of(some, MANY_UNITS, {"s7": Claim("any", ("s7",)), "s1": Claim("any", ("s1",))}), 29.5)
    (stone,) = report.fields
    assert (str(stone.label), stone.cell) == ("GROUP", ("s7",))
    assert stone.answer == "Stone: s7 is there, unless it is something that is not in the library."
    assert [claim["value"] for claim in report.document["claims"]] == ["unknown", "false"]
    assert "Not certain, as something that is not in the library may be there instead: s7 is there." in report.sentence


def test_with_a_tolerance_what_is_near_is_no_finer():
    units = {**MANY_UNITS, "s8": 8}
    report = report_of(protocol_of(MANY, units, tolerance=4.0), MANY["s7"])
    (stone,) = report.fields
    assert report.document["gate"]["unlisted"]["is_excluded"]
    assert (str(stone.label), stone.cell) == ("GROUP", ("s7", "s8"))


@pytest.mark.parametrize("place", [FEW["chalk"], 50.0])
def test_a_report_that_makes_a_label_of_what_cannot_be_excluded_is_refused_without_its_row(place):
    report = report_of(protocol_of(FEW, FEW_UNITS), place)
    assert verify(report.json()).is_verified

    def fine(document):
        document["fields"][0].update(label="FINE", certificate="universal", group="stone")
        document["gate"].update(is_withheld=False, is_complete=True)
        document["outcome"]["status"] = "REPORT"

    def told_away(document):
        fine(document)
        document["gate"]["cannot_exclude"] = []
        document["gate"]["unlisted"].update(p=0.01, is_excluded=True)

    for change in (fine, told_away):
        forged = copy.deepcopy(report.document)
        change(forged)
        forged["digests"]["document"] = document_hash(forged)
        assert not verify(forged).is_verified


def test_maps_give_the_labels_of_reports(tmp_path):
    protocol, places = protocol_of(FEW, FEW_UNITS), [FEW["chalk"], 50.0, FEW["PST"], FEW["quartz"]]
    signals = as_signals(np.array([spectrum(place, 99) for place in places]))
    found = map_signals(signals, MapProtocol.of(protocol), tmp_path / "map", threads=1)
    labels = [str(report_of(protocol, place).fields[0].label) for place in places]
    assert found.labels("stone").tolist() == labels == ["GROUP", "ABSTAIN", "ABSTAIN", "GROUP"]
    assert found.sentence((0,)).startswith(
        "stone: one of chalk, PST in stone, or something that is not in the library."
    )
    assert found.sentence((1,)).startswith(
        "Labels are withheld: every remaining element has too few replicates to be excluded"
    )
    assert any("The noise added to replicates is measured." in line for line in found.lines())
    with pytest.raises(MisuseError, match="rate must be left out with a judge that cannot reject at the small levels"):
        MapProtocol.of(protocol, 0.1)


def test_measured_spectra_of_other_materials_are_never_said_to_be_one_that_nothing_can_exclude():
    """Ten instruments, of which the library has eight for polystyrene: it would take nine."""
    spectra, names, units, _ = stored_spectra("raman.npz")
    materials = [{"nCAL": "calcite", "sCAL": "calcite", "PST": "polystyrene"}.get(name, "silicon") for name in names]
    cubics = np.polynomial.legendre.legvander(np.linspace(-1.0, 1.0, spectra.shape[1]), 3)
    kinds, answers = ("calcite", "polystyrene", "silicon"), []
    for signal in (s for s in range(len(spectra)) if materials[s] != "polystyrene"):
        left_out = {units[signal], sorted({*units} - {units[signal]})[0]}
        known = [
            s
            for s in range(len(spectra))
            if units[s] != units[signal] and not (materials[s] == "polystyrene" and units[s] in left_out)
        ]
        data = Replicates(
            spectra[known], tuple(materials[s] for s in known), tuple(units[s] for s in known), None, cubics
        )
        columns = np.eye(3, spectra.shape[1]).T
        library = Library(kinds, ["material"] * 3, np.arange(3.0)[:, None], columns)
        bank = library_bank(library, [["material"]], {"material": [1.0]})
        plans, judge = {"deployment": StreamPlan("gaussian", 0.5)}, ByConformal(data)
        question = RegionalMap(bank_regions(bank))
        protocol = AnalysisProtocol(question, RegionalPolicy(), LEVEL, 1.0, bank, plans, judge=judge, stop="set")
        report = analyse(protocol, {"deployment": spectra[signal][None]}).report
        answers.append((str(report.fields[0].label), report.fields[0].answer, materials[signal]))
    assert {label for label, *_ in answers} <= {"GROUP", "ABSTAIN"}
    named = [answer for label, answer, _ in answers if label == "GROUP"]
    assert not [answer for answer in named if answer.startswith("Material: polystyrene")]
    right = [f"Material: {truth} is there, unless it is polystyrene" in answer for _, answer, truth in answers]
    assert sum(right) >= 50
