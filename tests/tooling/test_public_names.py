"""The top level stays small, and each of its names leads somewhere."""

import importlib

import pytest

import physupport

PUBLIC = {
    "Interval", "Library", "MisuseError", "PhysicalSupport", "Protocol", "RegionRule", "RegionalMap", "Report",
    "Resolution", "StreamPlan", "__version__", "library_bank",
}  # fmt: skip


def test_the_public_names_are_these():
    assert set(physupport.__all__) == PUBLIC


def test_the_top_level_stays_small():
    assert len(physupport.__all__) <= 15


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_public_name_is_the_object_of_its_home(name):
    home = importlib.import_module(physupport._HOME[name], "physupport")
    assert getattr(physupport, name) is getattr(home, name)
    assert name in dir(physupport)


def test_an_unknown_name_is_refused_by_name():
    with pytest.raises(AttributeError, match="module 'physupport' has no attribute 'nonsense'"):
        physupport.nonsense  # noqa: B018
