"""Planning: what an experiment can resolve, with numbers, and what to raise to resolve more."""

from dataclasses import dataclass
from typing import final

from ..._checks import check_positive
from ._design import Design, block_scale
from ._gates import Gate, explanation_gate, support_gate
from ._joint import block_information, joint_information
from ._moment_rows import moment_region_rows
from ._orientation import OrientationInformation
from ._remedies import Remedies, remedies
from ._resolution import PlannedResolution, dictionary_diameters, planned_resolution
from ._scales import InformationScales, information_scales


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """The gates, the resolution behind them, the paper's scales, and the remedies for a wanted resolution."""

    explanation: Gate
    support: Gate
    resolution: PlannedResolution
    scales: InformationScales
    remedies: Remedies | None
    moment_rows: (
        int | None
    )  # N from which the moment region begins to see turns of the attainable size; None: no inside


def plan(design: Design, wanted: float | None = None, information: OrientationInformation | None = None) -> Plan:
    """Plan one experiment. The numbers are local asymptotics of the exact model: what to expect, not a guarantee.

    wanted: a physical diameter to reach.  information: that of the same block, law and noise (`block_information`),
    computed here unless given; pass it again to plan many experiments with one block.
    """
    known = block_information(design) if information is None else information
    scales = information_scales(
        n_calibration=design.n_calibration,
        n_deployment=design.n_deployment,
        scale=block_scale(design.dictionary),
        r=len(design.support),
        weakest=design.amplitudes.block.lower,
        noisiest=design.sigma,
    )
    joint, resolved = joint_information(known, design), planned_resolution(known, design)
    block, separated = dictionary_diameters(joint, design.level, design.n_calibration, design.n_deployment)
    return Plan(
        explanation_gate(design, separated),
        support_gate(design, block),
        resolved,
        scales,
        None if wanted is None else remedies(known, design, check_positive("wanted", wanted)),
        moment_region_rows(design, resolved.attainable) if resolved.sees_inside else None,
    )
