"""Who may reject an explanation."""

from ._checkpoints import check_checkpoints as check_checkpoints
from ._checkpoints import doubling_checkpoints as doubling_checkpoints
from ._evidence import Evidence as Evidence
from ._evidence import Factor as Factor
from ._evidence import KeyColumns as KeyColumns
from ._evidence import LogEvidence as LogEvidence
from ._evidence import bank_evidence as bank_evidence
from ._judge import EvidenceJudge as EvidenceJudge
from ._judge import Judge as Judge
from ._judge import Ruling as Ruling
from ._judge import TableJudge as TableJudge
from ._path import JointPath as JointPath
from ._path import joint_path as joint_path
from ._proposal import BestExplanation as BestExplanation
from ._proposal import BestKey as BestKey
from ._proposal import best_explanation as best_explanation
from ._proposal import best_key as best_key
from ._states import KeyVerdicts as KeyVerdicts
from ._states import key_verdicts as key_verdicts
from ._states import verdicts_by_state as verdicts_by_state
from ._verdicts import Judgement as Judgement
from ._verdicts import QueryCount as QueryCount
from ._verdicts import Verdict as Verdict
from ._verdicts import Verdicts as Verdicts
from ._verdicts import verdicts as verdicts
