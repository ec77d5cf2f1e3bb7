"""Active endpoint bracketing: which explanations to ask about, and what may be said after every answer."""

from typing import TYPE_CHECKING

from .._lazy import published

if TYPE_CHECKING:
    from ._controller import Tick as Tick, continue_run as continue_run, run as run
    from ._policies._base import (
        FarthestFirst as FarthestFirst,
        FixedOrder as FixedOrder,
        Policy as Policy,
        Proposals as Proposals,
        RandomOrder as RandomOrder,
        RunView as RunView,
        Selector as Selector,
        proposal_order as proposal_order,
    )
    from ._policies._endpoints import EndpointPolicy as EndpointPolicy, nuisance_order as nuisance_order
    from ._policies._regional import RegionalPolicy as RegionalPolicy
    from ._policies._witness_first import (
        Obligation as Obligation,
        WitnessFirst as WitnessFirst,
        elsewhere as elsewhere,
        presence as presence,
    )
    from ._trace import (
        Brackets as Brackets,
        Ending as Ending,
        Status as Status,
        Stop as Stop,
        Trace as Trace,
        budget_queries as budget_queries,
    )
else:
    __getattr__, __dir__, __all__ = published(__name__)
