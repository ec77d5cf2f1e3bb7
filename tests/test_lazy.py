"""Packages that load what they publish when it is asked for, from wherever they were installed."""

import compileall
import subprocess
import sys
import zipfile

import pytest

PACKAGE = """
from typing import TYPE_CHECKING
from physupport._lazy import published
if TYPE_CHECKING:
    from ._shelf import Thing as Thing
else:
    __getattr__, __dir__, __all__ = published(__name__)
"""
ASKED = "import sys, shop; before = 'shop._shelf' in sys.modules; print(before, shop.Thing, shop.__all__)"


@pytest.fixture
def shop(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "_shelf.py").write_text("Thing = 5\n")
    return folder


def asked(path):
    statement = f"import sys; sys.path.insert(0, {str(path)!r}); {ASKED}"
    return subprocess.run([sys.executable, "-c", statement], capture_output=True, text=True, timeout=60)


def test_a_name_is_loaded_when_it_is_asked_for_also_from_a_zip_file(shop, tmp_path):
    with zipfile.ZipFile(tmp_path / "shop.zip", "w") as archive:
        for path in shop.iterdir():
            archive.write(path, f"shop/{path.name}")
    assert asked(tmp_path).stdout == asked(tmp_path / "shop.zip").stdout == "False 5 ['Thing']\n"


def test_compiled_files_alone_are_refused_in_words(shop, tmp_path):
    compileall.compile_dir(shop, quiet=1, legacy=True)
    for path in shop.glob("*.py"):
        path.unlink()
    error = asked(tmp_path).stderr.splitlines()[-1]
    assert error.startswith("ImportError: shop needs its Python sources, and this installation has compiled files only")
