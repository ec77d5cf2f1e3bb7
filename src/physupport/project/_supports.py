"""Which regions of a project may be active together."""

from .._errors import MisuseError
from ..banks import region_supports
from ._load import Project


def project_supports(project: Project) -> list[tuple[str, ...]]:
    """Those listed, or all that the presence of the regions allows."""
    regions, given = project.settings.regions, project.settings.supports
    if given.choices is not None:
        return _listed(project, given.choices)
    always = [name for name, region in regions.items() if region.presence == "always"]
    optional = [name for name, region in regions.items() if region.presence == "optional"]
    most = given.max_active
    if most is not None and not len(always) <= most <= len(regions):
        rule = f"lie between {len(always)}, the regions that are always there, and {len(regions)}, all of them"
        raise MisuseError(project.name("supports.max_active"), rule, most)
    return region_supports(always, optional, most)


def _listed(project: Project, choices: list[list[str]]) -> list[tuple[str, ...]]:
    """The supports of the file, after a look at whether they fit what the regions say of themselves."""
    regions = project.settings.regions
    for i, support in enumerate(choices):
        key = project.name(f"supports.list[{i}]")
        for name in support:
            if name not in regions:
                raise MisuseError(key, f"name regions of the file ({', '.join(regions)})", repr(name))
        if len({*support}) < len(support):
            raise MisuseError(key, "name each region once", support)
        if any({*support} == {*earlier} for earlier in choices[:i]):
            raise MisuseError(project.name("supports.list"), "hold each support once", support)
    for name, region in regions.items():
        found = "always" if all(name in support for support in choices) else "optional"
        if found != region.presence:
            remedy = "The list of supports says so."
            raise MisuseError(project.name(f"regions.{name}.presence"), f"be {found!r}", repr(region.presence), remedy)
    return [tuple(support) for support in choices]
