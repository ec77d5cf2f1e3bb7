from . import conformal as conformal, counts as counts, rotation as rotation, simulation as simulation
from ._amounts import (
    Amounts as Amounts,
    Interval as Interval,
    amounts_reason as amounts_reason,
    listed_columns as listed_columns,
    sublevel as sublevel,
    union as union,
)
from ._by_evidence import ByEvidence as ByEvidence, EvidenceJudge as EvidenceJudge
from ._by_invariant import ByInvariant as ByInvariant
from ._decide import (
    best_explanation as best_explanation,
    best_keys as best_keys,
    verdicts as verdicts,
)
from ._evidence import (
    Bounds as Bounds,
    Evidence as Evidence,
    Factor as Factor,
    bank_evidence as bank_evidence,
    doubling_checkpoints as doubling_checkpoints,
    joint_path as joint_path,
)
from ._invariant import SharedEvidence as SharedEvidence
from ._judge import (
    Judge as Judge,
    Panel as Panel,
    TableJudge as TableJudge,
    Verdict as Verdict,
    VerdictCache as VerdictCache,
    Verdicts as Verdicts,
)
from ._running import (
    RUNNING as RUNNING,
    RunningEvidence as RunningEvidence,
    RunningStream as RunningStream,
    contradiction as contradiction,
)
from ._specs import (
    JUDGES as JUDGES,
    MOST_SPLITS as MOST_SPLITS,
    JudgeSpec as JudgeSpec,
    Sealed as Sealed,
    SealedStream as SealedStream,
    check_laws as check_laws,
    decoded as decoded,
    judge_options as judge_options,
    make_judge as make_judge,
    register as register,
)
