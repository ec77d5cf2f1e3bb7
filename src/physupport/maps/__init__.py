"""Many signals, one bank: a label for every pixel, spot or frame."""

from typing import TYPE_CHECKING

from .._lazy import published

if TYPE_CHECKING:
    from ._alone import ProtocolSignals as ProtocolSignals
    from ._engine import BlockVerdicts as BlockVerdicts, SignalJudge as SignalJudge
    from ._fission import Fission as Fission
    from ._labels import LABELS as LABELS, Labeller as Labeller
    from ._map import map_signals as map_signals
    from ._page import MOST_SIGNALS as MOST_SIGNALS, write_map_page as write_map_page
    from ._protocol import GATES as GATES, MapProtocol as MapProtocol
    from ._result import SignalMap as SignalMap
    from ._rotated import RotatedSignals as RotatedSignals
    from ._signals import Signals as Signals, as_signals as as_signals
else:
    __getattr__, __dir__, __all__ = published(__name__)
