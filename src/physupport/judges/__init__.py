"""Who may reject an explanation, at a level, with proven bounds of what decided it."""

from typing import TYPE_CHECKING

from .._lazy import published

if TYPE_CHECKING:
    from . import conformal as conformal, counts as counts, rotation as rotation, simulation as simulation
    from ._by_evidence import (
        ByEvidence as ByEvidence,
        Docket as Docket,
        EvidenceJudge as EvidenceJudge,
        verdicts as verdicts,
    )
    from ._by_splits import BySplits as BySplits
    from ._evidence import Evidence as Evidence, Factor as Factor, bank_evidence as bank_evidence
    from ._judge import (
        Judge as Judge,
        Panel as Panel,
        TableJudge as TableJudge,
        Verdict as Verdict,
        Verdicts as Verdicts,
        alone as alone,
        judge_facts as judge_facts,
    )
    from ._path import (
        JointPath as JointPath,
        doubling_checkpoints as doubling_checkpoints,
        joint_path as joint_path,
    )
    from ._proposal import (
        BestExplanation as BestExplanation,
        BestKey as BestKey,
        best_explanation as best_explanation,
        best_key as best_key,
    )
    from ._running import RunningEvidence as RunningEvidence
    from ._scored import Bounds as Bounds
    from ._specs import (
        JUDGE_MAKERS as JUDGE_MAKERS,
        JUDGES as JUDGES,
        MOST_SPLITS as MOST_SPLITS,
        JudgeSpec as JudgeSpec,
        Sealed as Sealed,
        SealedStream as SealedStream,
        check_laws as check_laws,
        check_rows as check_rows,
        completed_with as completed_with,
        decoded as decoded,
        gives_e_values as gives_e_values,
        make_judge as make_judge,
        register as register,
        shares_numerator as shares_numerator,
        splits_rows as splits_rows,
    )
    from ._states import QueryCount as QueryCount, key_verdicts as key_verdicts, verdicts_by_state as verdicts_by_state
else:
    __getattr__, __dir__, __all__ = published(__name__)
