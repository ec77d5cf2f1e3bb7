"""The paper's studies against plain NumPy: a part is scored the plain way, and the whole follows from the counts.

The plain figure leaves out drawing, splitting, gradients, verdicts and queries, and is of one core.
"""

import os
import resource
import subprocess
import sys
import time
from tempfile import TemporaryDirectory

import numpy as np

from physupport.laws import BernoulliGaussian, make_calibration, start_points
from physupport.studies import (
    _four_region as regions,
    _global_bank as orientations,
    _mechanism as mechanism,
    load_study,
)
from physupport.studies._mechanism import calibration_pair, dictionary, step_angle

from . import _baseline


def studies(add):
    """Each study without its figures, after one run of it that may compile."""
    total = plain_total = 0.0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for name, plain in {"mechanism": plain_mechanism, "four-region": plain_regions, "global": plain_global}.items():
        study = load_study(name)
        study.run(cores, None)
        start, used = time.perf_counter(), time.process_time()
        outcome = study.run(cores, None)
        ours, used = time.perf_counter() - start, time.process_time() - used
        seconds, sample = plain()
        is_met = all(line.agrees or line.is_known for line in outcome.lines)
        met = "every published count met" if is_met else "PUBLISHED COUNTS MISSED"
        add(f"{name} study, {cores} threads", f"{ours:.1f} s", f"{used:.1f} s of CPU, {met}")
        add(f"  plain NumPy, {sample} timed", f"{seconds:.0f} s", f"ratio {seconds / ours:.0f}")
        total, plain_total = total + ours, plain_total + seconds
    add("all three studies together", f"{total:.1f} s", "without figures")
    add("  plain NumPy", f"{plain_total:.0f} s", f"ratio {plain_total / total:.0f}")


def whole(add, tree=None):
    """`physupport reproduce all`, figures included, as a user runs it; the first run may compile."""
    with TemporaryDirectory() as folder:
        for _ in range(2):
            start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-m", "physupport", "reproduce", "all", "--out", folder]
            environment = os.environ | ({"PYTHONPATH": str(tree / "src")} if tree else {})
            ended = subprocess.run(command, env=environment, capture_output=True, check=False)
            seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    met = "every published count met" if ended.returncode in (0, 4) else "PUBLISHED COUNTS MISSED"
    add("reproduce all, with figures", f"{seconds:.1f} s", "wanted: at most 15 on 2 quiet cores")
    add("  of processor", f"{used:.1f} s", f"{used / seconds:.2f} cores busy; {met}")


def seconds_of(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def plain_mechanism():
    """Two densities for every row drawn and every node of the two rules."""
    scale, nuisance = mechanism.STEP_SCALE, (mechanism.P, mechanism.NOISE)
    laws = calibration_pair(scale, mechanism.STEP, *nuisance)
    rows = laws[0].sample(np.random.default_rng(0), 8192)
    atoms = [dictionary(scale, angle).atoms for angle in (0.0, step_angle(mechanism.STEP))]
    each = sum(seconds_of(_baseline.row_log_densities, rows, a, *nuisance) for a in atoms) / len(rows)
    tasks = [*mechanism.scaling_tasks(), *mechanism.step_tasks(), *mechanism.grid_tasks()]
    drawn = sum(size for _, size in tasks)
    nodes = len(mechanism.SCALES) * 2 * laws[0].n_components * sum(order**4 for order in mechanism.ORDERS)
    return each * (drawn + nodes), f"{len(rows):,} of {drawn + nodes:,} rows"


def plain_regions():
    """Every state on all calibration rows and every explanation on all deployment rows, fifteen times."""
    rng, bank = np.random.default_rng(0), regions.study_bank()
    member = bank.explanation(regions.true_explanation(regions.SCENES[1]))
    y = make_calibration(regions.LAW, member.atoms, regions.CALIBRATION_NOISE, rng, regions.N_CALIBRATION)
    z = rng.standard_normal((regions.N_DEPLOYMENT, 16)) @ np.linalg.cholesky(covariance(member)).T
    sample = [bank.explanation(e) for e in np.linspace(0, bank.size - 1, 12).astype(int)]
    state = np.mean(
        [seconds_of(_baseline.row_log_densities, y, e.atoms, regions.LAW.p, regions.CALIBRATION_NOISE) for e in sample]
    )
    law = np.mean([seconds_of(_baseline.gaussian_log_likelihood, z, covariance(e)) for e in sample])
    datasets = sum(len(scene.seeds) for scene in regions.SCENES)
    return datasets * (bank.states.n_states * state + bank.size * law), f"{len(sample)} explanations of one data set"


def covariance(explanation):
    active = explanation.atoms[:, list(explanation.positions)]
    return regions.DEPLOYMENT_NOISE * np.eye(len(active)) + active * explanation.strengths @ active.T


def plain_global():
    """The whole bank on the held-out rows, and the start points alone of the search for the proposal."""
    rng, total, timed = np.random.default_rng(0), 0.0, 0
    for condition in orientations.CONDITIONS:
        bank = orientations.study_bank(condition)
        sample = [bank.explanation(e) for e in np.linspace(0, bank.size - 1, 4).astype(int)]
        law = BernoulliGaussian(orientations.TRUE_P)
        rows = make_calibration(law, sample[0].atoms, condition.noise, rng, condition.n_rows)
        each = np.mean(
            [
                seconds_of(_baseline.row_log_densities, rows, e.atoms, e.calibration["p"], e.calibration["noise"])
                for e in sample
            ]
        )
        share = orientations.SHARE
        scored = (1.0 - share) * bank.size + share * len(start_points(3))
        total, timed = total + len(condition.seeds) * scored * each, timed + len(sample)
    return total, f"{timed} explanations"


CASES = {"reproduce": whole}
