"""Sets of explanations, and how to build them: states, supports and nuisances as columns that are never written out."""

from ._bank import Bank as Bank
from ._bank import CalibrationParts as CalibrationParts
from ._bank import Columns as Columns
from ._bank import DeploymentParts as DeploymentParts
from ._bank import Explanation as Explanation
from ._bank import check_digest as check_digest
from ._builders import array_bank as array_bank
from ._builders import library_bank as library_bank
from ._library import Library as Library
from ._library import LibraryStates as LibraryStates
from ._nuisances import Nuisances as Nuisances
from ._nuisances import product_grid as product_grid
from ._orbit import orbit_bank as orbit_bank
from ._orbit import orbit_states as orbit_states
from ._orbit import turns as turns
from ._settings import LibraryFamily as LibraryFamily
from ._settings import LibrarySettings as LibrarySettings
from ._settings import SettingStates as SettingStates
from ._states import ArrayStates as ArrayStates
from ._states import StateFamily as StateFamily
from ._supports import all_supports as all_supports
from ._supports import region_supports as region_supports
