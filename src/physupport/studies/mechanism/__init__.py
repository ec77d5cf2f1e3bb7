"""Mechanism study: does calibration see a turn of the block at sixth order, and deployment only through a contrast?"""

from ._draw import draw as draw
from ._run import run as run
