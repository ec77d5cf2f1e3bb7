"""How loops are compiled, and when machine code kept on disk is too old."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def cached_njit(**options: object) -> Callable[[Function], Function]:
    """Compiles a function at its first call and keeps the machine code on disk, until any module with kernels changes.

    numba alone compiles anew only if the function's own file changes.  But constants and functions of other modules are
    built into the machine code, and the old one would run on work arrays of the new one's shape.  options: numba's.
    """

    def compiled(function: Function) -> Function:
        dispatcher = njit(cache=True, **options)(function)  # type: ignore[call-overload]  # it types each option
        # Where these are not what they have been since 0.59, or nothing is compiled, numba's own rule remains.
        file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
        if file is not None and hasattr(file, "_source_stamp"):
            file._source_stamp = (file._source_stamp, kernels_stamp())
        return cast(Function, dispatcher)

    return compiled


def inner_njit(fastmath: set[str] | None = None) -> Callable[[Function], Function]:
    """Compiles what only compiled functions call: no way in from Python, no file of its own, in two thirds of the time.

    A new user waits for it.  fastmath: which liberties the compiler has with sums and products.
    """
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "fastmath": fastmath or False}
    return cast(Callable[[Function], Function], njit(**options))  # type: ignore[call-overload]  # two are not in its types


@cache
def kernels_stamp() -> str:
    """A digest of all modules with kernels: those that import from this one."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        text = path.read_bytes()
        if b"._compiled import" in text:
            digest.update(text)
    return digest.hexdigest()
