import numpy as np

from physupport import PhysicalSupport, StreamPlan
from physupport.banks import Library, library_bank, with_unlisted
from physupport.io import as_pairs
from physupport.judges import ByEvidence
from physupport.responses import UniformLinearArray, generic_directions

array = UniformLinearArray(8, 0.5)
angles = np.arange(-60.0, 61.0, 20.0)
names = [f"{angle:g} degrees" for angle in angles]
listed = as_pairs(array(angles[:, None]) / np.sqrt(8), axis=0)
library = Library(names, ["sky"] * len(names), angles[:, None], listed)
family = generic_directions(array, -90.0, 90.0)
wider, supports = with_unlisted(library, [["sky"]], family)
bank = library_bank(wider, supports, {"sky": [1.0], "unlisted": [1.0]})
plan = StreamPlan(
    "gaussian",
    0.4,
    rows="random",
    is_complex=True,
    unlisted=family.further,
    unlisted_places=family.places,
    unlisted_unit="degrees",
)
model = PhysicalSupport(bank, {"sky": 5.0, "unlisted": 0.0}, calibration=None, deployment=plan, judge=ByEvidence())

rng = np.random.default_rng(1)
drawn = rng.standard_normal((80, 10, 2)) @ [1.0, 1.0j] / np.sqrt(2.0)
for places in ([-20.0], [-20.0, 33.3]):
    sources = 3.0 * drawn[:, : len(places)] @ array(np.array(places)[:, None]).T
    report = model.fit().report(as_pairs(sources + drawn[:, 2:]))
    print(*report.answers, *report.if_complete, sep="\n")
