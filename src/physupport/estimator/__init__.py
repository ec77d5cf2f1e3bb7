"""From a protocol and tables to a report in one call, and the same in the manner of scikit-learn."""

from ._analyse import analyse as analyse
from ._estimator import PhysicalSupport as PhysicalSupport
from ._result import Result as Result
