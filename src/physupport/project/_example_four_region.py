"""The four-region scene with a weak source in C: its real seed, its data, and a project that asks about it."""

import numpy as np

from ..studies import four_region as design
from ._example import PROJECT_FILE, Example, csv_table

# One of the seeds of the study, and the seed of its split: the first digit is 9.
_DATA_SEED, _SPLIT_SEED = 2026091011, 9026091011

_PROJECT = """\
# Sixteen sensors and four regions of a line.  Which places of A and B are active, and is anything in C or D?
# Run it with `physupport run`; `physupport run --dry-run` says beforehand what it will do.

title = "Four regions"
level = {level}            # probability with which the truth may be rejected, between 0 and 1
budget = {budget}            # how many explanations may be asked about: a share, or a whole number of queries
seed = {seed}        # of the random split into rows that propose and rows that judge
policy = "regional"      # order of the questions: regional, fixed, random or farthest

[output]
folder = "report"        # written beside this file, as a whole; an earlier report there is replaced

[data.calibration]       # rows of random mixtures of all atoms; may be left out if the dictionary is known
file = "calibration.npy" # .npy, .npz, .csv, .mat, .h5; relative to this file
channels = 1             # the axis that runs over channels, by number or by name
law = "latent"           # latent: unknown coefficients; known codes: in further columns, or in a file `codes`
activity = {activity}           # latent only: how often an atom is active; a number, a list, or {{ from, to, count }}
noise = {calibration_noise}              # noise variance of a channel; likewise
proposal = {calibration_share}          # share of the rows that may propose; the others only judge
unit = "V"               # shown in the report

[data.deployment]        # rows of the signal that is asked about
file = "deployment.csv"
channels = "columns"
law = "covariance"       # covariance: coefficients are random, of variance `strength`; mean: they are fixed, `strength`
noise = {deployment_noise}
proposal = {deployment_share}
unit = "V"

[elements]
file = "elements.csv"    # columns id and region, and the coordinates named here
coordinates = ["x"]
responses = "responses.npy"  # a row for each channel and a column for each element; brought to norm 1
# ... or a response by formula: response = {{ kind = "peak", axis = {{ from = 0, to = 1, count = 16 }}, width = 0.085 }}
shared = "spare.npy"     # atoms that only the calibration meets, a column each; may be left out

# An uncertain parameter makes dictionary states of its own for every value (gain, offset, phase, width, position):
# [parameters.gain]
# values = [-0.05, 0.0, 0.05]

[regions.A]
strength = 1.0           # see `law`; a list gives several that may be
presence = "always"      # or optional: then its absence is asked about, too
tolerance = 0.035        # places within this distance count as one
ask = "finest"           # or what would do, a list of fine, group, presence, absence, ambiguity; or nothing

[regions.B]
strength = {strength_b}
tolerance = 0.02
# Named groups are reported where a single place cannot be; without them, the group is the region:
# groups = {{ left = ["B 0.405", "B 0.435"], right = ["B 0.465", "B 0.495"] }}

[regions.C]
strength = {strength_c}
presence = "optional"
tolerance = 0.035

[regions.D]
strength = 1.0
presence = "optional"
tolerance = 0.03

[supports]
max_active = 3           # at most so many regions at once; or list = [["A", "B"], ["A", "B", "C"], ["A", "B", "D"]]
"""


def four_region_example() -> Example:
    """The files of the project."""
    scene = next(each for each in design.SCENES if each.name == "weak-C")
    calibration, deployment = design.study_rows(scene, _DATA_SEED)
    library = design.library()
    elements = [
        [name, region, float(place)]
        for name, region, place in zip(library.ids, library.regions, library.coordinates[:, 0], strict=True)
    ]
    sensors = [f"sensor {c + 1}" for c in range(design.N_SENSORS)]
    return Example(
        {
            PROJECT_FILE: _project_text(),
            "elements.csv": csv_table(["id", "region", "x"], elements),
            "deployment.csv": csv_table(sensors, deployment.tolist()),
        },
        {
            "calibration.npy": calibration,
            "responses.npy": np.array(library.responses),
            "spare.npy": design.spare_atom()[:, None],
        },
    )


def _project_text() -> str:
    strengths = {region: f"{tau**2:.12g}" for region, tau in design.STRENGTHS.items()}
    return _PROJECT.format(
        level=design.LEVEL,
        budget=1.0,
        seed=_SPLIT_SEED,
        activity=design.LAW.p,
        calibration_noise=design.CALIBRATION_NOISE,
        deployment_noise=design.DEPLOYMENT_NOISE,
        calibration_share=design.SHARES[0],
        deployment_share=design.SHARES[1],
        strength_b=strengths["B"],
        strength_c=strengths["C"],
    )
