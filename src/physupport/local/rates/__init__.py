"""Information scales, least favourable pairs, secants and rates: what limits the physical resolution."""

from typing import TYPE_CHECKING

from ..._lazy import published

if TYPE_CHECKING:
    from ._chart import (
        CollapsedOperator as CollapsedOperator,
        TangentChart as TangentChart,
        balanced_dictionary as balanced_dictionary,
        collapsed_operator as collapsed_operator,
        compensated_generator as compensated_generator,
        invariant_differentials as invariant_differentials,
        tangent_chart as tangent_chart,
        two_atom_generator as two_atom_generator,
    )
    from ._chords import (
        dictionary_radius_constant_estimate as dictionary_radius_constant_estimate,
        differential_estimate as differential_estimate,
        differential_range as differential_range,
        information_estimate as information_estimate,
        moment_chord_estimate as moment_chord_estimate,
        orientation_chord_estimate as orientation_chord_estimate,
        profile_radius_estimate as profile_radius_estimate,
        statistical_chord_estimate as statistical_chord_estimate,
    )
    from ._design import MOST_ROWS as MOST_ROWS, Design as Design, moment_region_rows as moment_region_rows
    from ._gaussian_derivatives import (
        cubic_density_score as cubic_density_score,
        gaussian_covariance_derivative as gaussian_covariance_derivative,
        gaussian_envelope_constant as gaussian_envelope_constant,
        stratum_polynomial as stratum_polynomial,
    )
    from ._information import (
        Divergence as Divergence,
        OrientationInformation as OrientationInformation,
        affinity_midpoint as affinity_midpoint,
        common_monte_carlo as common_monte_carlo,
        gaussian_affinity as gaussian_affinity,
        jeffreys_midpoint as jeffreys_midpoint,
        midpoint_monte_carlo as midpoint_monte_carlo,
        midpoint_quadrature as midpoint_quadrature,
        orientation_information as orientation_information,
        orientation_information_quadrature as orientation_information_quadrature,
        product_affinity as product_affinity,
        product_affinity_deficit as product_affinity_deficit,
    )
    from ._planner import Plan as Plan, plan as plan, plan_sentences as plan_sentences
    from ._resolution import ResolutionMap as ResolutionMap, map_scales as map_scales, resolution_map as resolution_map
    from ._scales import (
        InformationScales as InformationScales,
        crossover_contrast as crossover_contrast,
        crossover_contrast_order as crossover_contrast_order,
        dictionary_radius as dictionary_radius,
        information_scales as information_scales,
        optimal_resolution as optimal_resolution,
        relative_resolution as relative_resolution,
        restricted_orbit_rate as restricted_orbit_rate,
        three_gate_lower_bound as three_gate_lower_bound,
        three_scale_upper_bound as three_scale_upper_bound,
        total_variation_from_affinity as total_variation_from_affinity,
        total_variation_from_divergence as total_variation_from_divergence,
        two_point_diameter as two_point_diameter,
    )
    from ._secant import (
        MeanPair as MeanPair,
        deployment_information as deployment_information,
        explanation_pair as explanation_pair,
        orbit_secant_estimate as orbit_secant_estimate,
        orientation_pair as orientation_pair,
        profiled_mean_distance as profiled_mean_distance,
        support_pair as support_pair,
        tangent_secant as tangent_secant,
        turned_block as turned_block,
        two_atom_profile as two_atom_profile,
        two_atom_secant as two_atom_secant,
    )
else:
    __getattr__, __dir__, __all__ = published(__name__)
