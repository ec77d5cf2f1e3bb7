"""One dipole between the places of a grid: `python -m benchmarks._meeg [data sets]`, ours beside what mne offers.

64 electrodes on a head of four spheres, places every 10 mm, a dipole anywhere at least 15 mm below the innermost skull,
of a random direction, in white noise; rho is the strength of its field over the noise.  `other head`: the data come
from a skull that conducts half as much and a cap that sits 5 mm further to the front.
"""

import os
import sys

os.environ.setdefault("MNE_USE_NUMBA", "false")
import numpy as np

import mne
from physupport.mne import locate

RHO, LEVEL, STEP = 20.0, 0.05, 10.0
HEADS = {"same head": (0.0, 0.004), "other head": (0.005, 0.002)}  # metres to the front, skull
WAYS = {"between": {}, "on the grid": {"between": False}, "error .1": {"error": 0.1}}


def cap(shift=0.0):
    """Electrodes of a cap, metres further to the front."""
    montage = mne.channels.make_standard_montage("standard_1020")
    names = [n for n in mne.channels.make_standard_montage("biosemi64").ch_names if n in montage.ch_names]
    found = montage.get_positions()
    places = {name: found["ch_pos"][name] + [0.0, shift, 0.0] for name in names}
    ends = {key: found[key] for key in ("nasion", "lpa", "rpa", "coord_frame")}
    info = mne.create_info(names, 1000.0, "eeg")
    return info.set_montage(mne.channels.make_dig_montage(places, **ends))


def head(info, skull):
    return mne.make_sphere_model("auto", "auto", info, sigmas=(0.33, 1.0, skull, 0.33))


def field(info, sphere, place, moment):
    spaces = mne.setup_volume_source_space(pos={"rr": place[None], "nn": np.array([[0.0, 0.0, 1.0]])})
    solved = mne.make_forward_solution(info, None, spaces, sphere, meg=False, mindist=0.0)
    seen = solved["sol"]["data"] @ moment
    return seen - seen.mean()


def peers(evoked, covariance, sphere, forward):
    """Places in metres by a dipole fit and the peak of sLORETA and dSPM."""
    averaged = evoked.copy().set_eeg_reference("average", projection=True, verbose="ERROR")
    averaged.apply_proj()
    dipole, _ = mne.fit_dipole(averaged, covariance, sphere, verbose="ERROR")
    found = {"fit_dipole": dipole.pos[0]}
    made = mne.minimum_norm.make_inverse_operator(averaged.info, forward, covariance, depth=0.8, loose=1.0)
    for method in ("sLORETA", "dSPM"):
        estimate = mne.minimum_norm.apply_inverse(averaged, made, 1.0 / 9.0, method, verbose="ERROR")
        found[method] = forward["source_rr"][int(np.argmax(estimate.data[:, 0]))]
    return found


def one(rng, sphere, others, forward, info):
    """What each way says of one dipole: of peers the error in mm; of ours nearest, kept places and extent."""
    direction, moment = rng.standard_normal((2, 3))
    radius = (0.9 * sphere.radius - 0.015) * rng.random() ** (1 / 3)
    place = sphere["r0"] + radius * direction / np.linalg.norm(direction) * np.array([1.0, 1.0, np.sign(direction[2])])
    noise = rng.standard_normal(len(info["ch_names"]))
    covariance = mne.make_ad_hoc_cov(info, {"eeg": 1e-6})
    said = {}
    for name, (own, other) in others.items():
        seen = field(own, other, place, moment)
        row = 1e-6 * (RHO * seen / np.linalg.norm(seen) + noise)
        evoked = mne.EvokedArray(row[:, None], info)
        for peer, found in peers(evoked, covariance, sphere, forward).items():
            said[name, peer] = 1000.0 * np.linalg.norm(found - place)
        for way, options in WAYS.items():
            found = locate(evoked, forward, covariance, level=LEVEL, **options)
            near = np.linalg.norm(found.positions - 1000.0 * place, axis=1).min(initial=np.inf)
            said[name, way] = (near, len(found.places), found.extent)
    return said


def main(count):
    mne.set_log_level("ERROR")
    info = cap()
    sphere = head(info, 0.004)
    others = {name: (cap(shift), head(cap(shift), skull)) for name, (shift, skull) in HEADS.items()}
    spaces = mne.setup_volume_source_space(sphere=sphere, pos=STEP, mindist=5.0, exclude=0.0)
    forward = mne.make_forward_solution(info, None, spaces, sphere, meg=False)
    all_said = []
    for number in range(count):
        all_said.append(one(np.random.default_rng(number), sphere, others, forward, info))
        if (number + 1) % 10 == 0 or number + 1 == count:
            show(all_said)


def show(all_said):
    """A line for each head and way; held: a place within a step and a half of the grid is kept."""
    for name, way in all_said[0]:
        found = np.array([said[name, way] for said in all_said])
        if way in WAYS:
            held = (found[:, 0] <= 0.5 * np.sqrt(3.0) * STEP).mean()
            empty = (found[:, 1] == 0).mean()
            places, extent = np.median(found[:, 1:], axis=0)
            line = f"held {held:.2f}, nothing fits {empty:.2f}, median {places:.0f} places, {extent:.0f} mm apart"
        else:
            middle, most = np.quantile(found, [0.5, 0.95])
            line = f"error {middle:.1f} mm (median), {most:.1f} mm (95 %)"
        print(f"{len(all_said)} {name}, {way}: {line}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
