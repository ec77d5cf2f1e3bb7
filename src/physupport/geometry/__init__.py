"""Unit atoms, coherent blocks and their shell, distances between dictionaries, and the invariants of a block."""

from ._block import Block as Block
from ._dictionary import LocalDictionary as LocalDictionary
from ._dictionary import default_separated_atom as default_separated_atom
from ._dictionary import separated_atom as separated_atom
from ._dictionary import separated_offset as separated_offset
from ._frame import Frame as Frame
from ._shell import Condition as Condition
from ._shell import Membership as Membership
from ._shell import Shell as Shell
from ._shell import projector_distance as projector_distance
from ._simplex import regular_simplex as regular_simplex
