"""The paper's three studies, from their seeds, as short programs on the public pieces."""

from typing import TYPE_CHECKING

from .._lazy import published

if TYPE_CHECKING:
    from ._coverage import check_repeat as check_repeat, draw_coverage as draw_coverage, repeat_study as repeat_study
    from ._published import Outcome as Outcome
    from ._tasks import (
        JUDGED as JUDGED,
        STUDIES as STUDIES,
        check_judge as check_judge,
        check_study as check_study,
        load_study as load_study,
    )
    from ._writing import make_output as make_output, write_outcome as write_outcome
else:
    __getattr__, __dir__, __all__ = published(__name__)
