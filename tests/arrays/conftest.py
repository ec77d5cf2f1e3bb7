"""Recordings of a line of microphones, as another program writes them."""

import numpy as np
import pytest
from scipy.io import wavfile

RATE, SPEED = 8000, 343.0
MICROPHONES = np.column_stack([0.08 * np.arange(4), np.zeros(4)])


def heard(azimuths, seed=0, seconds=1.5, noise=0.05, microphones=MICROPHONES):
    """(n, q) samples of independent white sources far away, each delayed exactly, and white noise of the sensors."""
    rng = np.random.default_rng(seed)
    n = int(seconds * RATE)
    found = noise * rng.standard_normal((n, len(microphones)))
    frequencies = np.fft.rfftfreq(n, 1.0 / RATE)
    for azimuth in azimuths:
        spectrum = np.fft.rfft(rng.standard_normal(n))
        towards = np.array([np.cos(np.deg2rad(azimuth)), np.sin(np.deg2rad(azimuth))])
        for m, place in enumerate(microphones):
            early = np.exp(2j * np.pi * frequencies * (place @ towards) / SPEED)
            found[:, m] += np.fft.irfft(spectrum * early, n)
    return found


@pytest.fixture
def recording(tmp_path):
    """A .wav of whole numbers with one source at 71 degrees, and the geometry beside it."""
    samples = heard([71.0])
    wavfile.write(tmp_path / "one.wav", RATE, (samples / np.abs(samples).max() * 30000).astype(np.int16))
    lines = [f"mic {m},{x:g},{y:g}" for m, (x, y) in enumerate(MICROPHONES)]
    (tmp_path / "mics.csv").write_text("\n".join(["channel,x,y", *lines]))
    return tmp_path
