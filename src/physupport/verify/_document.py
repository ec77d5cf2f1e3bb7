"""What all checks of a document share."""

from collections.abc import Mapping
from typing import Any

from .._stored import Refusal as Refusal

Node = Mapping[str, Any]
