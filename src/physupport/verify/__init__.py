"""A second opinion on a saved report: every label derived again from its trace, and, with data, every verdict."""

from typing import TYPE_CHECKING

from .._lazy import published

if TYPE_CHECKING:
    from ._beside import verify_beside as verify_beside
    from ._verify import Verification as Verification, verify as verify
else:
    __getattr__, __dir__, __all__ = published(__name__)
