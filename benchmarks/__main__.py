"""Speed as ratios taken in one run: `make bench`, or `make bench CASES="maps rotation"` for some of them.

Nothing here is asserted; the lines are the result, each printed as soon as it is measured. Times are the best of
several, after one run that may compile. `python -m benchmarks --against TREE` shows another checkout beside this one,
case by case in turns.
"""

import argparse
import resource
import subprocess
import sys
import time

import numba
import numpy as np
from rich.console import Console
from rich.progress import track

from physupport import Interval
from physupport.aeb import RegionalPolicy, run
from physupport.banks import listed_regions
from physupport.io import ArrayRows
from physupport.judges import TableJudge, Verdict, bank_evidence, doubling_checkpoints, verdicts
from physupport.laws import BernoulliGaussian, Covariance, known_code_stream, latent_stream
from physupport.local.regions import profile_losses
from physupport.questions import RegionalMap
from physupport.studies._four_region import study_bank

from . import _banks, _baseline, _columns, _first_start, _maps, _off_bank, _power, _project, _rotation, _snapshots
from ._busy import Busy
from ._peak import rates
from ._studies import studies, whole

LEVEL = 0.077


def best_of(function, trials=3):
    """Shortest of several runs, in seconds."""
    times = []
    for _ in range(trials):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def judge_all(bank, stream):
    """Certified verdicts of a whole one-stream bank against its member nearest the truth, from fresh scores."""
    evidence = bank_evidence(bank, calibration=(stream, (stream, bank.size // 2)))
    return verdicts(evidence, np.arange(bank.size), LEVEL)


def exhaustive(add):
    """The global study's bank at N = 65536, against the plain way and against the machine."""
    rows, bank = _banks.global_rows(65536, np.random.default_rng(0)), _banks.global_bank()
    checkpoints = doubling_checkpoints(len(rows))
    stream = _banks.global_stream(bank, rows, checkpoints)
    judged = judge_all(bank, stream)
    undecided = int((judged.codes == Verdict.INDETERMINATE).sum())
    ours = best_of(lambda: judge_all(bank, stream))

    sample = np.linspace(0, bank.size - 1, 12).astype(int)
    gap = 0.0
    start = time.perf_counter()
    plain = [plain_score(bank, rows, e, checkpoints) for e in track(sample, "plain NumPy", transient=True)]
    each = (time.perf_counter() - start) / len(sample)
    fast = stream.log_likelihood(sample)
    gap = np.abs(np.array(plain) - fast.values).max()
    add("1025 explanations, N = 65536: certified", f"{ours:.3f} s", f"{undecided} undecided")
    add("  plain NumPy, 12 of them timed", f"{1025 * each:.0f} s", f"largest difference {gap:.1e}")
    add("  ratio", f"{1025 * each / ours:.0f}", "wanted: at least 60")
    add(
        "  ratio with plain NumPy on both cores",
        f"{1025 * each / ours / numba.get_num_threads():.0f}",
        "if it scaled perfectly",
    )

    found = rates(lambda: judge_all(bank, stream), 41 * 5 * 31 * len(rows))
    add("exponentials a second", f"{found.ours:.3g}", f"pure loop, in turns: {found.peak:.3g}")
    add("  fraction of the machine's peak", f"{found.ours / found.peak:.2f}", "wanted: at least 0.5")


def plain_score(bank, rows, e, checkpoints):
    explanation = bank.explanation(int(e))
    setting = explanation.calibration
    return _baseline.log_likelihood(rows, explanation.atoms, setting["p"], setting["noise"], checkpoints)


def four_regions(add):
    """All 216 explanations of one dataset of the four-region study's size, two streams, everything but the split."""
    rng, bank = np.random.default_rng(1), study_bank()
    y, z = rng.standard_normal((2253, 16)), rng.standard_normal((116, 16))
    checkpoints = doubling_checkpoints(2253), doubling_checkpoints(116)

    def judge():
        calibration = latent_stream(ArrayRows(y), bank.states, [BernoulliGaussian(0.2)], [1.0], checkpoints[0])
        deployment = Covariance(noises=[0.8]).stream(bank, ArrayRows(z), checkpoints[1])
        parts = {"calibration": (calibration, (calibration, 0)), "deployment": (deployment, (deployment, 0))}
        return verdicts(bank_evidence(bank, **parts), np.arange(bank.size), LEVEL)

    judge()
    add(f"{bank.size} explanations, 72 states, 16 channels", f"{1e3 * best_of(judge, 20):.1f} ms", "wanted: under 15")


def million(add):
    """A library bank of more than a million explanations, Gaussian streams, in a process of its own for its memory."""
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", "judge_million"], capture_output=True, text=True, check=True
    )
    size, seconds, gigabytes, undecided = run.stdout.split()
    add(
        f"{int(size):,} explanations, Gaussian streams",
        f"{float(seconds):.1f} s",
        f"wanted: under 20; {undecided} undecided",
    )
    add("  largest memory of the process", f"{float(gigabytes):.2f} GB", "wanted: under 2")


def judge_million():
    rng = np.random.default_rng(2)
    bank = _banks.large_bank(rng)
    codes = rng.standard_normal((4096, 4))
    atoms = bank.explanation(bank.size // 2).atoms
    y = codes @ atoms.T + rng.standard_normal((4096, 16))
    z = rng.standard_normal((512, 16)) @ np.linalg.cholesky(np.eye(16) + atoms[:, :2] @ atoms[:, :2].T).T
    start = time.perf_counter()
    calibration = known_code_stream(ArrayRows(y), ArrayRows(codes), bank.states, [1.0], doubling_checkpoints(4096))
    deployment = Covariance(noises=[1.0]).stream(bank, ArrayRows(z), doubling_checkpoints(512))
    key = int(bank.deployment_keys(np.array([bank.size // 2]))[0])
    state = int(bank.calibration_keys(np.array([bank.size // 2]))[0])
    evidence = bank_evidence(
        bank, calibration=(calibration, (calibration, state)), deployment=(deployment, (deployment, key))
    )
    judged = verdicts(evidence, np.arange(bank.size), LEVEL)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(bank.size, seconds, memory, int((judged.codes == Verdict.INDETERMINATE).sum()))


def growth(add):
    """Cost over two decades of rows and of factors."""
    rng = np.random.default_rng(3)
    bank = _banks.global_bank()
    keys = np.arange(bank.size)[:: bank.size // 20]
    for n in (4096, 40960, 409600):
        stream = _banks.global_stream(bank, _banks.global_rows(n, rng), [n])
        stream.log_likelihood(keys)
        add(
            f"{len(keys)} keys, N = {n}",
            f"{best_of(lambda s=stream: s.log_likelihood(keys)) / n * 1e9:.0f} ns a row",
            "flat is linear",
        )
    for n_angles in (4, 40, 400):
        wide = _banks.global_bank(np.linspace(-0.4, 0.4, n_angles), [0.2], [1.0])
        stream = _banks.global_stream(wide, _banks.global_rows(16384, rng), [16384])
        everything = np.arange(wide.size)
        stream.log_likelihood(everything)
        each = best_of(lambda s=stream, k=everything: s.log_likelihood(k)) / n_angles
        add(f"{n_angles} factors, N = 16384", f"{1e3 * each:.2f} ms a factor", "flat is linear")


def asking(add):
    """One million queries about a million explanations of four regions, verdicts from a table."""
    rng, size, widths = np.random.default_rng(0), 1_000_000, (20, 20, 10, 10)
    locations = np.column_stack([rng.integers(0, width, size) for width in widths])
    elements = {name: tuple(f"{name}{i}" for i in range(width)) for name, width in zip("ABCD", widths, strict=True)}
    places = {name: np.linspace(0.0, 1.0, width)[:, None] for name, width in zip("ABCD", widths, strict=True)}
    question = RegionalMap(listed_regions(elements, locations, np.ones(locations.shape), places))
    codes = np.ones(size, dtype=np.uint8)
    codes[rng.integers(size)] = 0
    start = time.perf_counter()
    trace = run(TableJudge(codes), question, RegionalPolicy(), 1.0)
    add(f"{len(trace):,} queries of the controller", f"{time.perf_counter() - start:.1f} s", "wanted: under 30")


def profiles(add):
    """Ten thousand box-constrained fits at once, five coherent atoms in sixteen dimensions each."""
    rng = np.random.default_rng(7)
    atoms = rng.standard_normal((10_000, 16, 1)) + 0.01 * rng.standard_normal((10_000, 16, 5))
    target, box = atoms[0] @ rng.uniform(0.4, 2.1, 5), Interval(0.5, 2.0)
    profile_losses(target, atoms[:1], box)
    add("10,000 profile losses", f"{1e3 * best_of(lambda: profile_losses(target, atoms, box)):.0f} ms", "")


def second_start(add):
    """A new process that scores one factor, its kernels already compiled."""

    def start_one():
        subprocess.run([sys.executable, "-m", "benchmarks._score_one"], check=True)

    start_one()
    add("a new process, kernels cached", f"{best_of(start_one):.1f} s", "imports included")


CASES = {
    "exhaustive": exhaustive,
    "four_regions": four_regions,
    "million": million,
    "growth": growth,
    "asking": asking,
    "profiles": profiles,
    "studies": studies,
    "reproduce": whole,
    "second_start": second_start,
    **_first_start.CASES,
    **_project.CASES,
    **_maps.CASES,
    **_off_bank.CASES,
    **_power.CASES,
    **_rotation.CASES,
    **_snapshots.CASES,
}
# What a case runs in a process of its own.
PARTS = {"judge_million": judge_million}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", choices=[[], *CASES, *PARTS], help="which; all of them without a name")
    parser.add_argument("--against", metavar="TREE", help="another checkout: a second column, taken in turns")
    parser.add_argument("--rounds", type=int, default=2, help="turns of each with --against")
    options = parser.parse_args()
    names = options.cases or [*CASES]
    if names[0] in PARTS:
        PARTS[names[0]]()
        return
    console = Console()
    if options.against:
        console.print(_columns.compared(names, options.against, options.rounds))
        return

    def add(what, measured, note):
        console.print(f"  {what:<58} {measured:>16}  {note}", highlight=False, soft_wrap=True)

    console.print(f"{numba.get_num_threads()} threads")
    for name in names:
        console.print(f"[bold]{name}[/bold]")
        busy, start = Busy(), time.perf_counter()
        CASES[name](add)
        add("meanwhile", str(busy), f"on a quiet machine: others 0%; {time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
