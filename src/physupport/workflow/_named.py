"""Errors from deeper down, told by the key of the project file that brought them about."""

from collections.abc import Iterator
from contextlib import contextmanager

from .._errors import MisuseError
from ._load import Project


@contextmanager
def named_by_key(project: Project, key: str) -> Iterator[None]:
    """Put file and key before what an error says."""
    try:
        yield
    except MisuseError as error:
        raise MisuseError(f"{project.name(key)}: {error.argument}", error.rule, error.value, error.remedy) from None
