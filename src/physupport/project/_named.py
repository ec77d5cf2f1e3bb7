"""Errors from deeper down, told by the key of the project file that brought them about."""

from contextlib import AbstractContextManager

from .._errors import misuse_named
from ._load import Project


def named_by_key(project: Project, key: str) -> AbstractContextManager[None]:
    """Put file and key before what an error says; what names the file itself knows the key better."""
    file = project.name("")
    return misuse_named(lambda argument: argument if argument.startswith(file) else f"{project.name(key)}: {argument}")
