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
        named = project.name("")
        # What names the file itself knows the key better.
        argument = error.argument if error.argument.startswith(named) else f"{project.name(key)}: {error.argument}"
        raise MisuseError(argument, error.rule, error.value, error.remedy) from None
