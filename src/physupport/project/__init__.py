"""What an explanation says physically: its elements, the distance between two of them, and how far a retained set spreads."""

from ._inner import RetainedPair as RetainedPair
from ._inner import inner_bracket as inner_bracket
from ._outer import OuterBracket as OuterBracket
from ._outer import block_distance as block_distance
from ._outer import outer_bracket as outer_bracket
from ._outer import separated_distance as separated_distance
from ._targets import PhysicalTarget as PhysicalTarget
from ._targets import physical_target as physical_target
from ._targets import target_diameter as target_diameter
from ._targets import targets as targets
