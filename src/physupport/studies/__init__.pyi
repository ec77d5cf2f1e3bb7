from ._case import check_repeat as check_repeat, draw_coverage as draw_coverage, repeat_study as repeat_study
from ._divergences import (
    Divergence as Divergence,
    affinity_midpoint as affinity_midpoint,
    common_monte_carlo as common_monte_carlo,
    even_gauss_hermite as even_gauss_hermite,
    explanation_pair as explanation_pair,
    gauss_hermite as gauss_hermite,
    gaussian_affinity as gaussian_affinity,
    jeffreys_midpoint as jeffreys_midpoint,
    midpoint_quadrature as midpoint_quadrature,
    product_affinity as product_affinity,
    profiled_mean_distance as profiled_mean_distance,
    quotient_distance as quotient_distance,
    support_pair as support_pair,
    two_atom_profile as two_atom_profile,
)
from ._outcome import (
    JUDGED as JUDGED,
    STUDIES as STUDIES,
    Outcome as Outcome,
    check_judge as check_judge,
    check_study as check_study,
    load_study as load_study,
    make_output as make_output,
    write_outcome as write_outcome,
)
