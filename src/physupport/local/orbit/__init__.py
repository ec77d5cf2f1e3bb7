"""Every orientation of a coherent block in a declared box, and how far apart those that the data keep can be."""

from ._bracket import OrbitBracket as OrbitBracket, orbit_bracket as orbit_bracket
from ._evidence import OrbitEvidence as OrbitEvidence
from ._orbit import Orbit as Orbit
