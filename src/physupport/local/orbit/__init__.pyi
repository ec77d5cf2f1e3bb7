from ._bracket import (
    OrbitBracket as OrbitBracket,
    OrbitEvidence as OrbitEvidence,
    orbit_bracket as orbit_bracket,
)
from ._orbit import Orbit as Orbit
