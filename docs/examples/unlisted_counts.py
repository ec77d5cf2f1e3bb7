import numpy as np

from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.banks import Library, library_bank, region_supports, with_unlisted
from physupport.responses import generic_peaks

energy = np.arange(0.0, 1000.0, 10.0)


def line(place):
    return np.exp(-0.5 * ((energy - place) / 25.0) ** 2)


names = ["barium", "caesium"]
responses = np.stack([line(356.0) + 0.3 * line(303.0), line(662.0)], axis=1)
library = Library(names, names, np.zeros((2, 0)), responses / np.linalg.norm(responses, axis=0))
generic = generic_peaks(energy, 25.0)
wider, supports = with_unlisted(library, region_supports([], names), generic.columns)
bank = library_bank(wider, supports, dict.fromkeys(wider.region_names, 1.0))
plan = StreamPlan(
    "poisson",
    unlisted=generic.columns,
    unlisted_places=generic.places,
    unlisted_unit="keV",
    background=np.ones((len(energy), 1)),
)
model = PhysicalSupport(bank, dict.fromkeys(wider.region_names, 0.0), calibration=None, deployment=plan, judge="counts")
for mean in (30.0 * line(662.0), 30.0 * line(662.0) + 40.0 * line(800.0)):
    report = model.fit().report(np.random.default_rng(1).poisson(mean + 1.0)[None])
    print(*report.answers, *report.if_complete, sep="\n")
