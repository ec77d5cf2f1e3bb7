from . import conformal as conformal, counts as counts, rotation as rotation, simulation as simulation
from ._by_evidence import ByEvidence as ByEvidence, EvidenceJudge as EvidenceJudge
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
from ._judge import (
    Judge as Judge,
    Panel as Panel,
    TableJudge as TableJudge,
    Verdict as Verdict,
    VerdictCache as VerdictCache,
    Verdicts as Verdicts,
)
from ._running import RunningEvidence as RunningEvidence, contradiction as contradiction
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
