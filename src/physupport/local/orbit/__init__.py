"""Every orientation of a coherent block in a declared box, and how far apart those that the data keep can be."""

from typing import TYPE_CHECKING

from ..._lazy import published

if TYPE_CHECKING:
    from ._bracket import OrbitBracket as OrbitBracket, orbit_bracket as orbit_bracket
    from ._evidence import OrbitEvidence as OrbitEvidence
    from ._orbit import Orbit as Orbit
else:
    __getattr__, __dir__, __all__ = published(__name__)
