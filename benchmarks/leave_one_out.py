"""The cost of asking about each of 80 nuclides: `python -m benchmarks.leave_one_out`.

The example spectrum of the package with a library of 80 nuclides: 81 explanations with a column for each nuclide and
for each piece of the local background, of which there are fewer the less the energy scale is known.  Two lines for each
error of the energies: responses that are exact, and responses of a detector that is known between two.  CPU seconds of
opening the judge, after one run for the compiler; the program's own bounds stop where they decide.  With `--full` every
explanation is fitted to the end, as it was before; that takes minutes.
"""

import sys
import tempfile
import time

import numpy as np

from physupport.judges import Verdict
from physupport.judges.counts import ByCounts, CountTable, _many
from physupport.laws import Poisson
from physupport.project import assemble, load_project, write_example

NAMES = """
Ag-110m Am-241 Ba-133 Be-7 Bi-207 Cd-109 Ce-139 Ce-141 Ce-144 Cf-249 Cm-243 Co-56 Co-57 Co-58 Co-60 Cr-51 Cs-134 Cs-136
Cs-137 Cu-67 Eu-152 Eu-154 Eu-155 Fe-59 Ga-67 Gd-153 Hf-181 Hg-203 Ho-166m I-123 I-125 I-131 I-132 I-133 I-135 In-111
Ir-192 K-40 La-140 Lu-176 Lu-177 Mn-54 Mo-99 Na-22 Na-24 Nb-94 Nb-95 Nd-147 Np-237 Np-239 Pa-231 Pa-233 Pb-210 Pu-239
Ra-226 Rb-86 Ru-103 Ru-106 Sb-122 Sb-124 Sb-125 Sc-46 Se-75 Sm-153 Sn-113 Sr-85 Ta-182 Tb-160 Te-132 Th-228 Th-232
Tl-201 U-232 U-235 U-238 Xe-133 Y-88 Yb-169 Zn-65 Zr-95
"""
NUCLIDES = NAMES.split()


def tables(energy):
    """The counts, and the table of each way in which responses may be known."""
    with tempfile.TemporaryDirectory() as folder:
        write_example(folder, "gamma")
        keys = "level = 0.05\n[data.deployment]\nfile = 'europium.spe'\n[elements]\nkind = 'gamma lines'\n"
        keys += f"nuclides = {NUCLIDES!r}\n[elements.detector]\nenergy = {energy}\n"
        with open(f"{folder}/many.toml", "w") as file:
            file.write(keys)
        assembled = assemble(load_project(f"{folder}/many.toml"))
        rows = np.asarray(assembled.tables["deployment"].values)
    law = assembled.protocol.streams["deployment"].law.completed(assembled.bank)
    assert isinstance(law, Poisson)
    design = law.design(assembled.bank)
    supports = [tuple(s[s >= 0].tolist()) for s in design.supports]
    shared = design.columns, supports, design.background
    return rows, {"exact": CountTable(*shared), "between two": CountTable(*shared, design.band)}


def main(is_full):
    if is_full:
        _many.MANY_COLUMNS = 10**6
    for energy in (1.0, 3.2):
        show(energy, is_full)


def show(energy, is_full):
    rows, listed = tables(energy)
    for name, table in listed.items():
        for is_warm in (False, True) if not is_full else (True,):
            start = time.process_time()
            judge = ByCounts(widths=(0.0, 1.0, 2.0, 4.0)).judge(table, rows, 0.05, seed=1)
            seconds = time.process_time() - start
            if is_warm:
                codes = judge.verdicts(np.arange(judge.size)).codes
                certain = [NUCLIDES[e - 1] for e in np.flatnonzero(codes == Verdict.REJECTED) if e]
                said = "nothing fits" if codes[0] == Verdict.REJECTED else f"certain: {', '.join(certain)}"
                asked = f"{energy} keV, {name}: {table.size} explanations, {table.members.shape[1]} columns"
                print(f"{asked}, {seconds:.2f} s, {said}")


if __name__ == "__main__":
    main("--full" in sys.argv)
