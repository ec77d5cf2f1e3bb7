"""Recordings as snapshots: short-time Fourier transforms at given frequencies, in frames that do not overlap."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Final, final

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from .._checks import check_array, check_count, check_positive
from .._errors import MisuseError
from ._rows import part_of

# Seconds of a frame unless it is given: longer than the delays of most arrays, shorter than most waveforms change.
_USUAL_FRAME: Final = 0.032
# Widths of bins, rate / frame, that a frequency keeps from 0 and from half the rate, and from the next frequency: the
# spectrum of the window is wide by so many of them.
_EDGE: Final = 2.0
_APART: Final = 4.0
# Frames that a recording is cut into where the usual ones are longer than it.
_USUAL_FRAMES: Final = 64


def wav_rate(path: str | os.PathLike[str]) -> float | None:
    """The samples a second that a .wav file states; None of files of other endings."""
    if Path(path).suffix.lower() != ".wav":
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            rate, _ = scipy.io.wavfile.read(path, mmap=True)
        except ValueError:  # samples of three bytes cannot be mapped
            rate, _ = scipy.io.wavfile.read(path)
    return float(rate)


@final
@dataclass(frozen=True, slots=True)
class Frames:
    """Divide a recording into snapshots: one complex number for each frame, frequency and channel.

    rate: samples a second.  frequencies: in hertz.  frame: samples of a frame; a power of two of about 32 ms unless
    given.  gap: samples that are left out between frames, a quarter of a frame unless given.  segment: the part of the
    recording, in seconds.

    Frames have Hann's window, do not overlap and have a gap, so that noise whose correlation is short against a quarter
    of a frame is independent from frame to frame.  Frequencies are at least four bins apart, so that stationary noise
    is nearly independent from frequency to frequency.
    """

    rate: float
    frequencies: tuple[float, ...]
    frame: int
    gap: int
    segment: tuple[float, float] | None

    @classmethod
    def of(
        cls,
        rate: float,
        frequencies: ArrayLike,
        frame: int | None = None,
        gap: int | None = None,
        segment: Sequence[float] | None = None,
    ) -> "Frames":
        """Check the numbers, and fill in what is left out."""
        check_positive("sampling_rate", rate)
        chosen = np.sort(check_array("frequencies", np.atleast_1d(np.asarray(frequencies, dtype=np.float64)), (None,)))
        size = 2 ** round(log2(max(_USUAL_FRAME * rate, 8.0))) if frame is None else check_count("frame", frame, 8)
        step = size // 4 if gap is None else check_count("gap", gap, 0)
        frames = cls(float(rate), tuple(chosen.tolist()), size, step, None if segment is None else _ends(segment))
        frames._check_frequencies()
        return frames

    def _check_frequencies(self) -> None:
        chosen = np.array(self.frequencies)
        bin_width = self.rate / self.frame
        low, high = _EDGE * bin_width, 0.5 * self.rate - _EDGE * bin_width
        if not low <= chosen[0] <= chosen[-1] <= high:
            rule = f"lie between {low:g} and {high:g} Hz, at {self.rate:g} samples a second and {self.frame} a frame"
            outside = chosen[0] if chosen[0] < low else chosen[-1]
            needed = int(np.ceil(_EDGE * self.rate / outside)) if 0.0 < outside < low else 0
            remedy = f"Leave it out, or write frame = {needed}." if needed else "Leave it out."
            raise MisuseError("frequencies", rule, f"{outside:g}", remedy)
        least = float(np.diff(chosen).min(initial=np.inf))
        if least < _APART * bin_width * (1.0 - 1e-9):
            rule = f"lie at least {_APART * bin_width:g} Hz apart, four bins of a frame of {self.frame} samples"
            needed = int(np.ceil(_APART * self.rate / least)) if least > 0.0 else 0
            remedy = f"Leave some out, or write frame = {needed}." if needed else "Give each frequency once."
            raise MisuseError("frequencies", rule, f"{least:g} Hz", remedy)

    def rows(self, samples: NDArray[np.generic]) -> NDArray[np.complex128]:
        """(T, F q) snapshots of samples (n, q), the channels of the lowest frequency first.

        White noise keeps its variance.  The mean of each channel over a frame is taken off.
        """
        first, last = (0, len(samples)) if self.segment is None else self._samples(len(samples))
        hop = self.frame + self.gap
        count = (last - first + self.gap) // hop
        if count < 1:
            rule = f"hold a frame of {self.frame} samples"
            remedy = self.as_many(len(samples), _USUAL_FRAMES)
            raise MisuseError("recording", rule, f"{last - first} samples", remedy)
        window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(self.frame) / self.frame)
        times = np.arange(self.frame) / self.rate
        waves = np.exp(-2j * np.pi * np.outer(self.frequencies, times)) * (window / np.linalg.norm(window))
        made = np.empty((count, len(self.frequencies), samples.shape[1]), dtype=np.complex128)
        for t in range(count):
            start = first + t * hop
            piece = np.asarray(part_of(samples, slice(start, start + self.frame)), dtype=np.float64)
            made[t] = waves @ (piece - piece.mean(axis=0))
        return made.reshape(count, -1)

    def as_many(self, n_samples: int, least: int) -> str:
        """The remedy for a recording with too few frames: a frame and a gap that leave at least so many."""
        first, last = (0, n_samples) if self.segment is None else self._samples(n_samples)
        shorter = 2 ** int(log2(max((last - first) / (1.25 * least), 8.0)))
        return f"Write frame = {shorter} and gap = {shorter // 4}, or record longer."

    def _samples(self, n_samples: int) -> tuple[int, int]:
        assert self.segment is not None
        first, last = (round(end * self.rate) for end in self.segment)
        if last > n_samples:
            rule = f"end within the recording, which has {n_samples / self.rate:g} seconds"
            remedy = f"Write segment = [{self.segment[0]:g}, {n_samples / self.rate:.10g}]."
            raise MisuseError("segment", rule, f"{self.segment[1]:g}", remedy)
        return first, last

    def channels(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names of the columns of the rows."""
        if len(self.frequencies) == 1:
            return tuple(names)
        return tuple(f"{name} at {frequency:g} Hz" for frequency in self.frequencies for name in names)


def _ends(segment: Sequence[float]) -> tuple[float, float]:
    ends = check_array("segment", segment, (2,)).tolist()
    if not 0.0 <= ends[0] < ends[1]:
        remedy = "Write segment = [0, 2.5] for the first two and a half seconds."
        raise MisuseError("segment", "be [start, end] in seconds, start from 0 on and below end", ends, remedy)
    return ends[0], ends[1]
