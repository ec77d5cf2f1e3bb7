"""Unit atoms, coherent blocks and their shell, distances between dictionaries, and the invariants of a block."""

from typing import TYPE_CHECKING

from ..._lazy import published

if TYPE_CHECKING:
    from ._block import (
        Block as Block,
        Frame as Frame,
        LocalDictionary as LocalDictionary,
        default_separated_atom as default_separated_atom,
        regular_simplex as regular_simplex,
        separated_atom as separated_atom,
        separated_offset as separated_offset,
        vertex_permutation as vertex_permutation,
    )
    from ._invariants import (
        affine_power_sums as affine_power_sums,
        cubic_invariant as cubic_invariant,
        cubic_stationary_point as cubic_stationary_point,
        cubic_stationary_values as cubic_stationary_values,
        inclusion_probabilities as inclusion_probabilities,
        invariant_coordinates as invariant_coordinates,
        invariant_distance as invariant_distance,
        normalized_cubic as normalized_cubic,
        orbit_differential as orbit_differential,
        polar_factors as polar_factors,
        power_sums as power_sums,
        projector_increment as projector_increment,
        projector_remainder as projector_remainder,
        projector_terms as projector_terms,
        remainder_constants as remainder_constants,
        shape_invariant as shape_invariant,
        simplex_cubic as simplex_cubic,
        subset_moments as subset_moments,
    )
    from ._margins import (
        Amplitudes as Amplitudes,
        amplitude_is_interior as amplitude_is_interior,
        balanced_amplitude_range as balanced_amplitude_range,
        lower_singular_constant as lower_singular_constant,
        matching_is_unique as matching_is_unique,
        separated_gap as separated_gap,
        separated_margin as separated_margin,
        support_margin as support_margin,
    )
    from ._quotient import (
        normalized_cubic_sensitivity as normalized_cubic_sensitivity,
        orbit_constant as orbit_constant,
        orbit_constant_estimate as orbit_constant_estimate,
        orbit_distance as orbit_distance,
        quotient_distance as quotient_distance,
        quotient_inverse_estimate as quotient_inverse_estimate,
        quotient_sensitivity as quotient_sensitivity,
    )
    from ._shell import Shell as Shell, coherence_bounds as coherence_bounds
    from ._turns import make_rotation as make_rotation, orbit_bank as orbit_bank, turns as turns
else:
    __getattr__, __dir__, __all__ = published(__name__)
