"""Composite explanations judged by rotations of their residuals: exact, with nothing known but whiteness."""

from ._companions import Companions as Companions
from ._free import FreeRows as FreeRows
from ._judge import ByRotation as ByRotation, GateFacts as GateFacts, RotationJudge as RotationJudge
from ._mean import MeanRows as MeanRows
from ._outsiders import Finding as Finding, Outsiders as Outsiders, ordered_axis as ordered_axis, scanned as scanned
from ._table import RotationTable as RotationTable, whitening as whitening
