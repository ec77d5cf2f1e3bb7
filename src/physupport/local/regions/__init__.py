"""Which explanations the data keep: calibration moments and their regions, the deployment ball, profile losses."""

from typing import TYPE_CHECKING

from ..._lazy import published

if TYPE_CHECKING:
    from ._calibration import CalibrationClass as CalibrationClass, CalibrationParameter as CalibrationParameter
    from ._correspondence import (
        BoxFit as BoxFit,
        Correspondence as Correspondence,
        DeploymentBall as DeploymentBall,
        Retained as Retained,
        combined_level as combined_level,
        deployment_ball as deployment_ball,
        deployment_radius as deployment_radius,
        profile_losses as profile_losses,
    )
    from ._inner import inner_bracket as inner_bracket
    from ._median_of_means import (
        MomentRadii as MomentRadii,
        median_of_means_blocks as median_of_means_blocks,
        moment_estimate as moment_estimate,
        moment_radii as moment_radii,
        norm_moment_bounds as norm_moment_bounds,
        row_threshold as row_threshold,
    )
    from ._moments import (
        MomentInverse as MomentInverse,
        fourth_cumulant as fourth_cumulant,
        fourth_moment as fourth_moment,
        invert_moments as invert_moments,
        projector_square_sum as projector_square_sum,
        projector_sum as projector_sum,
        sample_cumulant as sample_cumulant,
        sample_fourth_moment as sample_fourth_moment,
        sample_second_moment as sample_second_moment,
        second_moment as second_moment,
        squared_norm_moments as squared_norm_moments,
    )
    from ._outer import outer_bracket as outer_bracket
    from ._reading import (
        PhysicalTarget as PhysicalTarget,
        Reading as Reading,
        Stage as Stage,
        physical_target as physical_target,
        reading as reading,
        targets as targets,
    )
    from ._regions import (
        CalibrationRegion as CalibrationRegion,
        MedianOfMeansRegion as MedianOfMeansRegion,
        inverted_median_of_means_region as inverted_median_of_means_region,
        median_distance_blocks as median_distance_blocks,
        median_of_means_region as median_of_means_region,
        total_variances as total_variances,
    )
    from ._tensors import (
        dense_tensor as dense_tensor,
        double_contraction as double_contraction,
        matrix_coordinates as matrix_coordinates,
        power_coordinates as power_coordinates,
        symmetric_dimension as symmetric_dimension,
        symmetrized_product as symmetrized_product,
        symmetrized_square as symmetrized_square,
        tensor_coordinates as tensor_coordinates,
    )
else:
    __getattr__, __dir__, __all__ = published(__name__)
