from ._controller import (
    Tick as Tick,
    check_question as check_question,
    continue_run as continue_run,
    run as run,
)
from ._policies import (
    EndpointPolicy as EndpointPolicy,
    FarthestFirst as FarthestFirst,
    FixedOrder as FixedOrder,
    Obligation as Obligation,
    Policy as Policy,
    Proposals as Proposals,
    RandomOrder as RandomOrder,
    RunView as RunView,
    WitnessFirst as WitnessFirst,
    elsewhere as elsewhere,
    nuisance_order as nuisance_order,
    presence as presence,
    proposal_order as proposal_order,
)
from ._regional import RegionalPolicy as RegionalPolicy
from ._staircase import staircase as staircase
from ._trace import (
    INDETERMINATE as INDETERMINATE,
    REJECTED as REJECTED,
    WITNESSED as WITNESSED,
    Brackets as Brackets,
    Ending as Ending,
    Status as Status,
    Stop as Stop,
    Trace as Trace,
    budget_queries as budget_queries,
    check_stop as check_stop,
    replayed as replayed,
)
