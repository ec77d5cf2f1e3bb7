"""Active endpoint bracketing: which explanations to ask about, and what may be said after every answer."""

from ._brackets import Brackets as Brackets
from ._budget import budget_queries as budget_queries
from ._controller import Tick as Tick
from ._controller import continue_run as continue_run
from ._controller import run as run
from ._policies._base import Policy as Policy
from ._policies._base import Proposals as Proposals
from ._policies._base import RunView as RunView
from ._policies._base import Selector as Selector
from ._policies._endpoints import EndpointPolicy as EndpointPolicy
from ._policies._endpoints import nuisance_order as nuisance_order
from ._policies._farthest import FarthestFirst as FarthestFirst
from ._policies._orders import FixedOrder as FixedOrder
from ._policies._orders import RandomOrder as RandomOrder
from ._policies._orders import proposal_order as proposal_order
from ._policies._regional import RegionalPolicy as RegionalPolicy
from ._policies._regional import plausible_order as plausible_order
from ._policies._witness_first import Obligation as Obligation
from ._policies._witness_first import WitnessFirst as WitnessFirst
from ._policies._witness_first import elsewhere as elsewhere
from ._policies._witness_first import presence as presence
from ._trace import Ending as Ending
from ._trace import Status as Status
from ._trace import Trace as Trace
