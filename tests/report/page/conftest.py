"""Reports of several kinds with their details, and their pages."""

from types import SimpleNamespace

import numpy as np
import pytest

from physupport.aeb import FixedOrder, RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, analyse, report
from physupport.analysis.diagnose import diagnose
from physupport.banks import table_regions
from physupport.judges import TableJudge
from physupport.questions import RegionalMap, RegionRule, Resolution
from physupport.report import Details
from physupport.report.page import write_page
from physupport.studies import _four_region as design

VERDICTS = ("ADMISSIBLE", "REJECTED", "INDETERMINATE")


@pytest.fixture(scope="session")
def four_regions():
    """A data set of the four-region study, asked with the regional policy: its report and its details."""
    scene = design.SCENES[1]
    plans = {"calibration": StreamPlan("latent", 0.45), "deployment": StreamPlan("covariance", 0.40)}
    protocol = AnalysisProtocol(design.study_question(), RegionalPolicy(), level=design.LEVEL, budget=design.BUDGET,
                        bank=design.study_bank(), seed=7, streams=plans)  # fmt: skip
    result = analyse(protocol, dict(zip(plans, design.study_rows(scene, scene.seeds[0]), strict=True)))
    return result.report, diagnose(result, title="Four regions", coordinate_names=["place"])


def make_map(columns, codes, *, title="A study", places=None, names=("x",), budget=1.0, threshold=None, weak=()):
    """A report about a table of explanations with given verdicts, and details of it.

    columns: region -> element or None of each explanation.  places: element -> coordinates.  threshold: from which on
    something counts as there; weak: the explanations whose elements are weaker.
    """
    elements = {region: [*dict.fromkeys(v for v in column if v is not None)] for region, column in columns.items()}
    places = places or {each: [float(i)] for found in elements.values() for i, each in enumerate(found)}
    view = table_regions(
        columns,
        coordinates={r: {e: places[e] for e in found} for r, found in elements.items()},
        strengths={
            r: [0.0 if name is None else 0.1 if e in weak else 1.0 for e, name in enumerate(column)]
            for r, column in columns.items()
        },
    )
    question = RegionalMap(view, {region: RegionRule(0.5, absence_threshold=threshold) for region in columns})
    codes = np.asarray(codes, dtype=np.uint8)
    middle = np.choose(codes, [-0.75, 1.25, 0.0])
    judge = TableJudge(codes, middle[:, None] + np.array([-1e-9, 1e-9]))
    seal = AnalysisProtocol(question, FixedOrder(), level=0.05, budget=budget).freeze(judge)
    found = report(seal, seal.run())
    asked = dict(zip(*(found.document["trace"][name]["values"] for name in ("queries", "codes")), strict=True))
    fields = [
        _field(region, columns, asked, elements[region], places, names) | {"absence_threshold": threshold}
        for region in columns
    ]
    return found, _details(found, title, fields)


def _field(region, columns, asked, elements, places, names):
    members = {name: [] for name in (*elements, None)}
    for e, name in enumerate(columns[region]):
        members[name].append(e)
    parts = {name: _counts(found, columns, asked) for name, found in members.items()}
    return {
        "field": region, "is_optional": None in columns[region], "coordinate_names": [*names], "tolerance": 0.5,
        "elements": [{"id": name, "coordinates": places[name], **parts[name]} for name in elements],
        "absent": parts[None] if None in columns[region] else None,
        "groups": [["first", elements[:1]]],
        "plug_in": {"label": "FINE", "cell": elements[:1]},
        "coherence": {"ids": elements[:60], "matrix": np.eye(len(elements[:60])).tolist()},
        "refine": [{"undecided": 2, "reference": 0, "is_exact": True, "can_ask": True}],
        "is_settled": True, "is_finest": False, "label": "GROUP",
        "levels": [{"level": 0.01, "label": "GROUP", "cell": elements, "or_nothing": False}],
    }  # fmt: skip


def _counts(members, columns, asked):
    kept, unasked = [e for e in members if asked.get(e) in (0, 2)], [e for e in members if e not in asked]
    ordered = sorted(members, key=lambda e: (e not in kept, e not in unasked, e))[:12]
    entries = [
        {
            "explanation": e, "verdict": VERDICTS[asked[e]] if e in asked else "not asked",
            "margin": [-0.75, -0.75] if asked.get(e) == 0 else None,
            "says": {region: column[e] for region, column in columns.items()}, "setting": {"width": 1.1},
        }
        for e in ordered
    ]  # fmt: skip
    state = "kept" if kept else "not asked" if unasked else "excluded"
    return {"state": state, "n_kept": len(kept), "n_not_asked": len(unasked),
            "n_explanations": len(members), "explanations": entries}  # fmt: skip


def _details(found, title, fields):
    counts = found.document["outcome"]
    curve = {"explanation": 0, "role": "proposal", "fields": [], "verdict": "ADMISSIBLE", "says": {}}
    answers = [{"label": str(each.label), "cell": [*each.cell], "outline": None} for each in found.fields]
    fields = [answer | field for answer, field in zip(answers, fields, strict=True)]
    return Details({
        "format": "physupport details", "version": 4, "report": found.digests["document"], "title": title,
        "inputs": [], "seconds": {}, "fields": fields, "library": None,
        "library_coherence": None,
        "evidence": {"streams": ["rows"], "steps": [[8], [16]], "threshold": 3.0,
                     "curves": [curve | {"lower": [0.1, None], "upper": [0.1, None]}]},
        "brackets": {"queries": [0, counts["queries"]], "witnessed": [0, counts["witnessed"]],
                     "possible": [found.document["protocol"]["size"], counts["possible"]], "open": [1, 0]},
        "misfit": [], "verify": None,
        "outcome": counts | {"size": found.document["protocol"]["size"], "open": [], "dimensions": None},
    })  # fmt: skip


def make_resolution():
    """A report about the spread of a block: no regions, no elements."""
    places = np.arange(4)
    distances = np.abs(places[:, None] - places).astype(float)
    question = Resolution(places, distances, distances[1], delta_fine=0.5, delta_group=1.5)
    judge = TableJudge(np.array([0, 0, 1, 1], dtype=np.uint8), np.array([[-1.0, -0.9]] * 2 + [[0.8, 0.9]] * 2))
    seal = AnalysisProtocol(question, FixedOrder(), level=0.05, budget=1.0).freeze(judge)
    found = report(seal, seal.run())
    empty = {
        "field": found.fields[0].field, "is_optional": False, "coordinate_names": [], "tolerance": 0.5, "elements": [],
        "absent": None, "groups": [], "plug_in": None, "coherence": None, "refine": [], "levels": [],
        "is_settled": True, "is_finest": False, "absence_threshold": None,
    }  # fmt: skip
    return found, _details(found, "A block", [empty])


@pytest.fixture(scope="session")
def kit():
    """Makers of reports, since test files do not import each other."""
    return SimpleNamespace(make_map=make_map, make_resolution=make_resolution)


@pytest.fixture
def opened(browser, tmp_path):
    """Opens the page of a report; what was opened is closed again."""
    pages = []

    def open_page(found, details):
        write_page(tmp_path / "report.html", found, details)
        pages.append(browser.open(tmp_path / "report.html"))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()
