"""How the eta of a cover is shared by places, strengths and noise."""

from ._load import Project
from ._sections import Between


def noise_range(project: Project) -> tuple[float, float] | None:
    """What the noise of the deployment lies between, if it has a range."""
    noise = project.settings.data.deployment.noise
    return noise.between if isinstance(noise, Between) else None


def strength_ranges(project: Project) -> dict[str, tuple[float, float]]:
    """The same of the strengths of regions."""
    strengths = {name: region.strength for name, region in project.settings.regions.items()}
    return {name: strength.between for name, strength in strengths.items() if isinstance(strength, Between)}


def eta_shares(project: Project) -> tuple[float, float, float]:
    r"""Of the eta of the file, the parts of places, strengths and noise: each coordinate, parameter and range has one.

    Cells along a dimension are as many as 1 / its part, so that equal parts make the product of all counts least.
    """
    settings = project.settings
    parameters = sum(spec.between is not None for spec in settings.parameters.values())
    places = len(settings.regions) * len(settings.elements.coordinates) + parameters
    ranges = len(strength_ranges(project)), int(noise_range(project) is not None)
    part = (0.0 if settings.cover is None else settings.cover.eta) / (places + sum(ranges))
    return part * places, part * ranges[0], part * ranges[1]
