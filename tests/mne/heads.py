"""A small head of mne's spheres, computed once for a process: 64 electrodes, 40 magnetometers, places every 20 mm."""

import functools
import os

os.environ.setdefault("MNE_USE_NUMBA", "false")  # to compile takes longer than all that is computed here

import numpy as np

import mne

mne.set_log_level("ERROR")


@functools.cache
def electrodes():
    montage = mne.channels.make_standard_montage("standard_1020")
    names = [n for n in mne.channels.make_standard_montage("biosemi64").ch_names if n in montage.ch_names]
    return mne.create_info(names, 1000.0, "eeg").set_montage(montage)


@functools.cache
def sphere():
    return mne.make_sphere_model("auto", "auto", electrodes())


@functools.cache
def both():
    """Electrodes and point magnetometers above them."""
    info = electrodes()
    others = mne.create_info([f"M{i:02d}" for i in range(40)], 1000.0, "mag")
    for channel, electrode in zip(others["chs"], info["chs"][::1], strict=False):
        outward = electrode["loc"][:3] - sphere()["r0"]
        outward /= np.linalg.norm(outward)
        along = np.linalg.svd(outward[None])[2][1:]
        channel["loc"][:3] = sphere()["r0"] + 0.125 * outward
        channel["loc"][3:12] = np.concatenate([along[0], np.cross(outward, along[0]), outward])
        channel["coil_type"] = 2000  # a point magnetometer
        channel["coord_frame"] = 1
    joined = mne.io.RawArray(np.zeros((64, 1)), info).add_channels(
        [mne.io.RawArray(np.zeros((40, 1)), others)], force_update_info=True
    )
    with joined.info._unlock():
        joined.info["dev_head_t"] = mne.Transform("meg", "head", np.eye(4))
    return joined.info


@functools.cache
def forward(kind="eeg"):
    spaces = mne.setup_volume_source_space(sphere=sphere(), pos=20.0, mindist=5.0, exclude=0.0)
    info = electrodes() if kind == "eeg" else both()
    return mne.make_forward_solution(info, None, spaces, sphere(), meg=kind != "eeg", mindist=5.0)


def field(number, moment, kind="eeg"):
    """Volts and teslas of a dipole at one of the places, 1 nAm along the moment."""
    gains = np.asarray(forward(kind)["sol"]["data"], dtype=float)
    return 1e-9 * gains[:, 3 * number : 3 * number + 3] @ moment


def measured(number=100, rho=20.0, seed=0, reference=0.0):
    """One averaged topography of a place, in white noise of 1 microvolt."""
    seen = field(number, np.array([0.6, 0.0, 0.8]))
    seen = seen - seen.mean()
    noise = np.random.default_rng(seed).standard_normal(len(seen))
    row = 1e-6 * (rho * seen / np.linalg.norm(seen) + noise) + reference
    return mne.EvokedArray(row[:, None], electrodes().copy(), tmin=0.1, nave=50)


def covariance():
    return mne.make_ad_hoc_cov(electrodes(), {"eeg": 1e-6})
