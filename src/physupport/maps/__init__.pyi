from ._amounts import SignalAmounts as SignalAmounts
from ._fission import Fission as Fission, RotatedSignals as RotatedSignals
from ._invariant import InvariantSignals as InvariantSignals
from ._judge import BlockVerdicts as BlockVerdicts, ProtocolSignals as ProtocolSignals, SignalJudge as SignalJudge
from ._map import map_signals as map_signals
from ._protocol import GATES as GATES, LABELS as LABELS, Labeller as Labeller, MapProtocol as MapProtocol
from ._result import MOST_SIGNALS as MOST_SIGNALS, SignalMap as SignalMap, write_map_page as write_map_page
from ._signals import Signals as Signals, as_signals as as_signals
