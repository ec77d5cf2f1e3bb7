"""The finest statement that all retained explanations share."""

from ._reading import Reading as Reading
from ._reading import Stage as Stage
from ._reading import reading as reading
