"""Reports of every kind to be checked, each with its question and, where it has some, its rows."""

import copy
import hashlib
import json
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pytest

from physupport._codec import chain_hash, real
from physupport.aeb import FixedOrder, RegionalPolicy
from physupport.analysis import AnalysisProtocol, StreamPlan, report
from physupport.banks import Library, bank_regions, library_bank, product_grid, region_distances, table_regions
from physupport.judges import TableJudge
from physupport.questions import RegionalMap, RegionRule, Resolution
from physupport.report import Report, rebuilt_bank, trace_columns
from physupport.report._schema import rebuilt_view

LEVEL = 0.077


class Written(NamedTuple):
    report: Report
    rows: dict[str, Any] | None = None


def table_question():
    """Two regions of three elements each, the second optional and with a threshold; 12 explanations."""
    left = [name for name in ("l0", "l1", "l2") for _ in range(4)]
    right = ["r0", "r1", "r2", None] * 3
    view = table_regions(
        {"left": left, "right": right},
        coordinates={"left": {"l0": 0.0, "l1": 0.1, "l2": 1.0}},
        strengths={"right": [0.5, 2.0, 2.0, 0.0] * 3},
    )
    groups = {"near": ["l0", "l1"]}
    return RegionalMap(view, {"left": RegionRule(0.05, groups=groups), "right": RegionRule(0.0, absence_threshold=1.0)})


def make_margins(codes, seed=0):
    """Bounds that fit the codes."""
    size = np.random.default_rng(seed).uniform(0.5, 3.0, len(codes))
    middle = np.where(codes == 1, size, np.where(codes == 0, -size, 0.0))
    return np.column_stack([middle - 1e-9, middle + 1e-9])


def written(question, codes, budget=1.0, policy=None):
    codes = np.array(codes, dtype=np.uint8)
    seal = AnalysisProtocol(question, policy or FixedOrder(), LEVEL, budget).freeze(
        TableJudge(codes, make_margins(codes))
    )
    return Written(report(seal, seal.run()))


def make_resolution():
    angle = np.array([0.0, 0.1, 0.4])
    places = np.array([0, 0, 1, 1, 2, 2])
    return Resolution(places, np.abs(angle[:, None] - angle), np.abs(angle - 0.05), 0.12, 0.3)


# What is admissible (0), rejected (1) and indeterminate (2), in the order of the explanations.
TABLES = {
    "group and ambiguity": [0, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1],
    "fine and absent": [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    "empty": [1] * 12,
    "indeterminate": [2, 1, 2, 2, 1, 1, 2, 1, 1, 1, 1, 1],
    "everything": [0] * 12,
}
RESOLUTIONS = {"wide": [0, 1, 1, 1, 0, 1], "narrow": [1, 0, 0, 1, 1, 1], "between": [1, 1, 1, 1, 1, 0]}


def make_four_regions():
    """The bank of the four-region study with fewer rows."""
    places = {"A": [0.10, 0.20], "B": [0.405, 0.435, 0.465, 0.495], "C": [0.64, 0.70, 0.76], "D": [0.86, 0.91, 0.96]}
    sensors = (np.arange(16) + 0.5) / 16

    def response(x):
        bump = np.exp(-((sensors - x) ** 2) / (2 * 0.085**2)) + 0.12 * np.cos(2 * np.pi * (sensors - x))
        return bump / np.linalg.norm(bump)

    listed = [(region, x) for region, found in places.items() for x in found]
    responses = np.column_stack([response(x) for _, x in listed])
    spare = (np.eye(16) - responses @ np.linalg.pinv(responses)) @ (-1.0) ** np.arange(16)
    spare /= np.linalg.norm(spare)
    library = Library(
        [f"{region} {x}" for region, x in listed],
        [region for region, _ in listed],
        np.array([[x] for _, x in listed]),
        responses,
    )
    variances = {"A": 1.0, "B": 0.64, "C": 0.01, "D": 1.0}
    bank = library_bank(
        library,
        ["AB", "ABC", "ABD"],
        variances,
        extra=spare[:, None],
        calibration=product_grid(p=[0.2], noise=[1.0]),
        deployment=product_grid(noise=[0.8]),
    )
    truth = np.column_stack([*(response(x) for x in (0.10, 0.465, 0.70, 0.91)), spare])
    rng = np.random.default_rng(5)
    codes = (rng.random((600, 5)) < 0.2) * rng.standard_normal((600, 5))
    calibration = codes @ truth.T + rng.standard_normal((600, 16))
    sources = truth[:, :2] * np.array([1.0, 0.64]) @ truth[:, :2].T
    deployment = rng.standard_normal((192, 16)) @ np.linalg.cholesky(0.8 * np.eye(16) + sources).T
    return bank, {"calibration": calibration, "deployment": deployment}


def four_region_protocol(bank, level=LEVEL):
    rules = {
        "A": RegionRule(0.035),
        "B": RegionRule(0.020),
        "C": RegionRule(0.035, absent_witness="persistent_only"),
        "D": RegionRule(0.030),
    }
    plans = {"calibration": StreamPlan("latent", 0.45), "deployment": StreamPlan("covariance", 0.40)}
    return AnalysisProtocol(RegionalMap(bank_regions(bank), rules), RegionalPolicy(), level, 0.75, bank, plans, seed=9)


@pytest.fixture(scope="session")
def four_regions():
    bank, rows = make_four_regions()
    seal = four_region_protocol(bank).read(**rows)
    return Written(report(seal, seal.run()), rows)


@pytest.fixture(scope="session")
def reports(four_regions):
    """By name."""
    tables = {name: written(table_question(), codes) for name, codes in TABLES.items()}
    cut = {"cut": written(table_question(), TABLES["group and ambiguity"], budget=5)}
    places = {f"resolution {name}": written(make_resolution(), codes) for name, codes in RESOLUTIONS.items()}
    return tables | cut | places | {"four regions": four_regions}


@pytest.fixture(scope="session")
def make_report():
    """Table of verdict codes -> report about the small map."""
    return lambda codes, **options: written(table_question(), codes, **options).report


def sha(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def reseal(document):
    """The same with every hash that can be made to fit made to fit; data hashes are of rows that are not here."""
    forged = copy.deepcopy(document)
    for repair in (_fit_bank, _fit_view, _fit_question, _fit_protocol, _fit_chain, _fit_document):
        # What is broken beyond repair stays as it is.
        with suppress(Exception):
            repair(forged, forged["protocol"]["question"])
    return forged


def _fit_protocol(forged, asked):
    digests = forged["digests"]
    digests["question"], digests["protocol"] = sha(asked), sha(forged["protocol"])
    digests["data"] = sha(forged["data"])


def _fit_chain(forged, asked):
    queries, verdicts = trace_columns(forged["trace"], forged["protocol"]["size"])
    stored = queries, verdicts.codes, verdicts.margins()
    forged["digests"]["chain"] = chain_hash(forged["digests"]["protocol"], forged["digests"]["data"], *stored)


def _fit_document(forged, asked):
    others = {name: value for name, value in forged["digests"].items() if name != "document"}
    forged["digests"]["document"] = sha(forged | {"digests": others})


def _fit_bank(forged, asked):
    bank = rebuilt_bank(forged["bank"])
    digest = None if bank is None else bank.digest
    forged["protocol"]["bank"] = forged["digests"]["bank"] = digest


def _fit_view(forged, asked):
    asked["view"] = rebuilt_view(forged["question"]["view"], rebuilt_bank(forged["bank"])).digest


def _fit_question(forged, asked):
    content = forged["question"]
    if content["kind"] == "regional map":
        for rule, node in zip(asked["regions"], content["distances"], strict=True):
            if node == "of the view" == rule["distances"]:
                continue
            if node == "of the view":
                view = rebuilt_view(content["view"], rebuilt_bank(forged["bank"]))
                values = region_distances(view, rule["region"])
            else:
                values = real(node, None, None)
            rule["distances"] = hashlib.sha256(values.astype("<f8").tobytes()).hexdigest()
        return
    for name, kind in (("places", "<i8"), ("distances", "<f8"), ("proposal_distances", "<f8")):
        values = np.array(content[name]["values"], dtype=kind)
        asked[name] = hashlib.sha256(values.tobytes()).hexdigest()


@pytest.fixture(scope="session")
def resealed():
    """The function that rewrites a document consistently, as a forger could; test files do not import each other."""
    return reseal
