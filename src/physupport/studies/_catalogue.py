"""The studies by name. A study is imported when it is asked for: the names alone load none."""

from importlib import import_module
from types import MappingProxyType
from typing import cast

from .._errors import MisuseError
from ._published import Study

STUDIES = MappingProxyType({"mechanism": "mechanism", "four-region": "four_region", "global": "global_bank"})


def load_study(name: str) -> Study:
    """The study of that name.

    >>> sorted(STUDIES)
    ['four-region', 'global', 'mechanism']
    """
    if name not in STUDIES:
        raise MisuseError("study", f"be one of {', '.join(STUDIES)}", name)
    return cast(Study, import_module(f".{STUDIES[name]}", __package__))
