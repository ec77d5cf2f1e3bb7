"""Many signals, one bank: a label for every pixel, spot or frame."""

from ._engine import BlockVerdicts as BlockVerdicts, block_judge as block_judge
from ._labels import LABELS as LABELS, Labeller as Labeller
