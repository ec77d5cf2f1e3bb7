"""A second opinion on a saved report: every label derived again from its trace, and, with data, every verdict."""

from ._beside import verify_beside as verify_beside
from ._verify import Verification as Verification, verify as verify
