from ._assemble import Assembled as Assembled, assemble as assemble
from ._differences import report_differences as report_differences
from ._elements import check_size as check_size
from ._examples import EXAMPLES as EXAMPLES, PROJECT_FILE as PROJECT_FILE, write_example as write_example
from ._forecast import StreamForecast as StreamForecast, forecast as forecast
from ._identify import (
    DETECTORS_BY_NAME as DETECTORS_BY_NAME,
    identify as identify,
    identify_spectra as identify_spectra,
)
from ._judges_compared import (
    JudgeForecast as JudgeForecast,
    compare_judges as compare_judges,
    comparison_notes as comparison_notes,
)
from ._library import write_spectral_project as write_spectral_project
from ._load import Project as Project, load_project as load_project
from ._mixture import background_basis as background_basis
from ._next import candidates as candidates
from ._response_error import (
    ResponseError as ResponseError,
    response_error as response_error,
    write_error as write_error,
)
from ._rid import (
    USUAL_NUCLIDES as USUAL_NUCLIDES,
    category as category,
    external_answer as external_answer,
    identify_nuclides as identify_nuclides,
    nuclide_answer as nuclide_answer,
)
from ._run import FILES as FILES, Finished as Finished, run_project as run_project
from ._tables import planned_opponents as planned_opponents, read_tables as read_tables
