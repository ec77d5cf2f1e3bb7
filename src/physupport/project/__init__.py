"""What an explanation says physically, how far two of them are apart, and how far a retained set spreads."""

from ._inner import RetainedPair as RetainedPair
from ._inner import inner_bracket as inner_bracket
from ._outer import OuterBracket as OuterBracket
from ._outer import block_distance as block_distance
from ._outer import outer_bracket as outer_bracket
from ._outer import separated_distance as separated_distance
from ._region_table import TableRegions as TableRegions
from ._region_table import table_regions as table_regions
from ._regions import BankRegions as BankRegions
from ._regions import RegionalView as RegionalView
from ._regions import bank_regions as bank_regions
from ._regions import check_distances as check_distances
from ._regions import region_distances as region_distances
from ._targets import PhysicalTarget as PhysicalTarget
from ._targets import physical_target as physical_target
from ._targets import target_diameter as target_diameter
from ._targets import targets as targets
