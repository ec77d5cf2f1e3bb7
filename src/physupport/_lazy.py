"""Packages that load what they publish when it is first asked for.

A package lists its public names as imports that only type checkers run, beside those that it needs from the start:

    if TYPE_CHECKING:
        from ._shell import Shell as Shell
    else:
        __getattr__, __dir__, __all__ = published(__name__)

The list is read back from there, so that it stands in one place.  A zip file may hold the package; bytecode alone does
not do, for which numba could not keep a kernel either.  Reading a project file, or saying that it is too
large, then loads neither kernels nor what draws.
"""

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib import import_module
from inspect import getsource
from itertools import chain
from types import ModuleType
from typing import TypeVar, final

Entry = TypeVar("Entry")
Published = tuple[Callable[[str], object], Callable[[], list[str]], list[str]]


def published(package: str) -> Published:
    """`__getattr__`, `__dir__` and `__all__` of a package whose names its source imports, most of them for checkers."""
    module = sys.modules[package]
    homes = dict(_listed(ast.parse(_source(module))))

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(homes[name], package)
        value = home if homes[name] == f".{name}" else getattr(home, name)
        setattr(module, name, value)  # the next time it is found without this function
        return value

    return load, lambda: sorted({*vars(module), *homes}), [*homes]


def _source(module: ModuleType) -> str:
    """The text of a package, in a folder or in a zip file."""
    try:
        return getsource(module)
    except OSError:
        rule = f"{module.__name__} needs its Python sources, and this installation has compiled files only"
        raise ImportError(f"{rule}: install it with its .py files.", name=module.__name__) from None


def _listed(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name -> module that has it, relative to the package, of every `import name as name`."""
    blocks = [block.body for block in tree.body if isinstance(block, ast.If)]
    for line in [*tree.body, *chain(*blocks)]:
        if isinstance(line, ast.ImportFrom) and line.level:
            names = [entry.name for entry in line.names if entry.name == entry.asname]
            yield from ((name, f"{'.' * line.level}{line.module or name}") for name in names)


@final
class Registry(MutableMapping[str, Entry]):
    """Entries by name; those of a package's own modules are entered when they are first asked for.

    homes: name -> module that enters it when it is loaded, relative to the package.
    """

    __slots__ = ("_entries", "_homes", "_package")

    def __init__(self, package: str, homes: Mapping[str, str]) -> None:
        self._package, self._homes = package, dict(homes)
        self._entries: dict[str, Entry] = {}

    def __getitem__(self, name: str) -> Entry:
        if name not in self._entries and name in self._homes:
            import_module(self._homes[name], self._package)
        return self._entries[name]

    def __setitem__(self, name: str, entry: Entry) -> None:
        self._entries[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._homes, **self._entries})

    def __len__(self) -> int:
        return len({*self._homes, *self._entries})

    def __contains__(self, name: object) -> bool:
        return name in self._homes or name in self._entries
