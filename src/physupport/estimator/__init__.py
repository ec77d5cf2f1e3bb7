"""From a protocol and tables to a report in one call, and the same in the manner of scikit-learn."""

from ._analyse import analyse as analyse
from ._estimator import PhysicalSupport as PhysicalSupport
from ._policies import PolicyName as PolicyName
from ._policies import named_policy as named_policy
from ._result import Result as Result
