"""Laws by name: made from options, and read back."""

from collections.abc import Mapping
from inspect import Parameter, signature

from .._errors import MisuseError
from .._stored import Refusal
from ._law import LAWS, Law, Part


def law_named(name: str) -> type[Law]:
    """The kind of law of this name."""
    if name not in LAWS:
        raise MisuseError("law", f"be one of {', '.join(LAWS)}", repr(name))
    return LAWS[name]


def make_law(name: str, options: Mapping[str, object]) -> Law:
    """A law of this name; options that are None count as left out."""
    law = law_named(name)
    known, given = signature(law).parameters, {key: value for key, value in options.items() if value is not None}
    for option, value in given.items():
        if option not in known:
            takers = [other.name for other in LAWS.values() if option in signature(other).parameters]
            rule = f"be given for {_listed(takers)} only" if takers else f"be one of {', '.join(known)}"
            raise MisuseError(option, rule, f"{value!r} for {name!r}")
    for option, parameter in known.items():
        if parameter.default is Parameter.empty and option not in given:
            raise MisuseError(option, f"be given for {name!r}", "none")
    return law(**given)


def laws_of_files(part: Part) -> tuple[str, ...]:
    """The laws of a part that a project file can name: those that can do without options."""
    return tuple(law.name for law in LAWS.values() if law.part == part and _needs_nothing(law))


def _needs_nothing(law: type[Law]) -> bool:
    return all(parameter.default is not Parameter.empty for parameter in signature(law).parameters.values())


def _listed(names: list[str]) -> str:
    return " and ".join(repr(name) for name in names)


def decode_law(node: Mapping[str, object], stream: str = "the stream") -> Law:
    """The law that `encode` wrote; one that is not known, or that was written in another way, is refused."""
    kind = node.get("kind")
    if not isinstance(kind, str) or kind not in LAWS:
        raise Refusal(f"{stream} has rows of the unknown kind {kind!r}")
    return LAWS[kind].decode(node, stream)
