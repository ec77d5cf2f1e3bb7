"""How often the simulation judge loses the truth: fresh data of the global and the four-region study.

python benchmarks/simulation_level.py [data sets]: the truth alone is asked about, at level 0.077.  A narrow bank and
4096 rows stand for the global study, so that 2000 data sets take some minutes.  The negative control has 3 % more noise
than the bank says.  Prints the share and its exact 95 % interval.

python benchmarks/simulation_level.py full [data sets]: the two conditions of the global study as they are, so many data
sets of each, 1000 unless told otherwise, and for every tenth one of the high condition with 3 % more noise.  A line
after every fifty; an hour of one core.
"""

import sys
from time import process_time

import numpy as np
from scipy.stats import beta

from physupport.io import ArrayRows
from physupport.judges import Sealed, SealedStream, Verdict
from physupport.judges.simulation import BySimulation
from physupport.laws import Covariance, Latent
from physupport.studies import _four_region as four, _global_bank as design

LEVEL = 0.077
MORE_NOISE = 1.03**0.5
NARROW = design.Condition("narrow", 4096, 0.50, 0.8, True, ())


def is_lost(bank, laws, truth, statistic, run, n_rows, scale=1.0):
    rng, streams = np.random.default_rng([2026, run]), []
    for law, count in zip(laws, n_rows, strict=True):
        completed = law.completed(bank)
        rows = ArrayRows(scale * completed.sample(bank, truth, rng, count))
        streams.append(SealedStream(law.part, rows, completed, law.keys(bank), lambda: None))
    judge = BySimulation(statistic).open(Sealed(bank, LEVEL, tuple(streams), 0))
    return judge.verdicts(np.array([truth])).codes[0] == Verdict.REJECTED


def show(name, lost, runs, seconds):
    low = beta.ppf(0.025, lost, runs - lost + 1) if lost else 0.0
    high = beta.ppf(0.975, lost + 1, runs - lost) if lost < runs else 1.0
    print(f"{name}: {lost}/{runs} = {lost / runs:.3f} [{low:.3f}, {high:.3f}], {seconds / runs:.2f} s each", flush=True)


def main(runs):
    narrow = design.study_bank(NARROW), [Latent()], design.true_explanation(NARROW), "score"
    scene = four.SCENES[1]
    regions = four.study_bank(), [Latent(), Covariance()], four.true_explanation(scene), "ratio"
    cases = {
        "global, narrow": (narrow, (4096,), 1.0, runs),
        "global, 3 % more noise": (narrow, (4096,), MORE_NOISE, runs // 10),
        "four regions": (regions, (four.N_CALIBRATION, four.N_DEPLOYMENT), 1.0, runs // 4),
    }
    for name, (case, n_rows, scale, count) in cases.items():
        start = process_time()
        lost = sum(is_lost(*case, run, n_rows, scale) for run in range(count))
        show(name, lost, count, process_time() - start)


def full(runs):
    """Full conditions and the control, in turn."""
    by_name = {each.name: each for each in design.CONDITIONS}
    cases = {
        "global, intermediate": (by_name["intermediate"], 1.0, 1),
        "global, high": (by_name["high"], 1.0, 1),
        "global, high, 3 % more noise": (by_name["high"], MORE_NOISE, 10),
    }
    lost, spent, done = dict.fromkeys(cases, 0), dict.fromkeys(cases, 0.0), dict.fromkeys(cases, 0)
    for run in range(runs):
        for name, (condition, scale, every) in cases.items():
            if run % every:
                continue
            start, bank = process_time(), design.study_bank(condition)
            case = bank, [Latent()], design.true_explanation(condition), "score"
            lost[name] += is_lost(*case, run, (condition.n_rows,), scale)
            spent[name] += process_time() - start
            done[name] += 1
        if (run + 1) % 50 == 0:
            for name in cases:
                show(name, lost[name], done[name], spent[name])


if __name__ == "__main__":
    if sys.argv[1:2] == ["full"]:
        full(int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
