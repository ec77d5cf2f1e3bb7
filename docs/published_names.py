"""Which names the API pages show: those that the stub of a package, or else its `__init__.py`, imports."""

from griffe import Extension, Module


class PublishedNames(Extension):
    """Take the imports of a package for its `__all__`."""

    def on_module(self, *, mod: Module, **_: object) -> None:
        """Publish what the package imports by name."""
        if mod.is_init_module and mod.exports is None:
            mod.exports = [name for name, member in mod.members.items() if member.is_alias and not name.startswith("_")]
