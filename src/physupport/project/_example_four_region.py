"""The four-region scene with a weak source in C: its real seed, its data, and a project that asks about it."""

import numpy as np

from ..studies import four_region as design
from ._example import PROJECT_FILE, Example, csv_table, stored_text

# One of the seeds of the study, and the seed of its split: the first digit is 9.
_DATA_SEED, _SPLIT_SEED = 2026091011, 9026091011


def four_region_example() -> Example:
    """The files of the project."""
    scene = next(known for known in design.SCENES if known.name == "weak-C")
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
    return stored_text(
        "four-region.toml",
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
