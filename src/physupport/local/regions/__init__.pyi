from ._correspondence import (
    CalibrationClass as CalibrationClass,
    CalibrationParameter as CalibrationParameter,
    CalibrationRegion as CalibrationRegion,
    Correspondence as Correspondence,
    DeploymentBall as DeploymentBall,
    Retained as Retained,
    combined_level as combined_level,
    deployment_ball as deployment_ball,
    deployment_radius as deployment_radius,
    profile_losses as profile_losses,
)
from ._inner import inner_bracket as inner_bracket, outer_bracket as outer_bracket
from ._moments import (
    fourth_cumulant as fourth_cumulant,
    fourth_moment as fourth_moment,
    inclusion_probabilities as inclusion_probabilities,
    power_coordinates as power_coordinates,
    projector_square_sum as projector_square_sum,
    projector_sum as projector_sum,
    sample_cumulant as sample_cumulant,
    second_moment as second_moment,
    squared_norm_moments as squared_norm_moments,
    symmetric_dimension as symmetric_dimension,
    symmetrized_product as symmetrized_product,
    symmetrized_square as symmetrized_square,
)
from ._reading import (
    PhysicalTarget as PhysicalTarget,
    Reading as Reading,
    Stage as Stage,
    physical_target as physical_target,
    reading as reading,
    rounded as rounded,
    targets as targets,
)
from ._regions import (
    inverted_median_of_means_region as inverted_median_of_means_region,
    median_distance_blocks as median_distance_blocks,
    median_of_means_blocks as median_of_means_blocks,
    median_of_means_region as median_of_means_region,
    moment_estimate as moment_estimate,
    moment_radii as moment_radii,
    norm_moment_bounds as norm_moment_bounds,
    total_variances as total_variances,
)
