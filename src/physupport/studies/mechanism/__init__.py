"""The mechanism study: calibration sees a turn of the block at sixth order, deployment only through a contrast."""

from ._draw import draw as draw
from ._run import run as run
