"""Shells, dictionaries and rotations used by the geometry tests."""

import numpy as np
import pytest

from physupport._checks import Interval
from physupport.local.shell import Block, Frame, LocalDictionary, Shell, default_separated_atom


def _shell(q, scale=0.1, cap=1.5, stretch=(0.8, 1.2), separated_radius=0.7, angle=None, frame=None):
    frame = Frame.standard(q) if frame is None else frame
    reference = default_separated_atom(frame)
    if angle is not None:
        reference = np.cos(angle) * frame.axis + np.sin(angle) * frame.basis[:, 0]
    return Shell(frame, scale, cap, Interval(*stretch), reference, separated_radius, Interval(0.5, 2.0))


def _rotation(rng, size):
    turn, triangle = np.linalg.qr(rng.standard_normal((size, size)))
    return turn * np.sign(np.diag(triangle))


def _neighbour(shell, dictionary, rng, step):
    """A dictionary moved by about `step` across the axis, with its atoms relabelled."""
    block = dictionary.block
    z = block.coordinates + step * rng.standard_normal(block.coordinates.shape) / np.sqrt(shell.q)
    return LocalDictionary(Block.from_coordinates(shell.frame, z[:, rng.permutation(shell.q)]), dictionary.separated)


@pytest.fixture(scope="session")
def make_shell():
    return _shell


@pytest.fixture(scope="session")
def make_rotation():
    return _rotation


@pytest.fixture(scope="session")
def make_neighbour():
    return _neighbour
