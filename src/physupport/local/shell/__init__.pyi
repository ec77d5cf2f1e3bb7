from ._shell import (
    Amplitudes as Amplitudes,
    Block as Block,
    Frame as Frame,
    LocalDictionary as LocalDictionary,
    Shell as Shell,
    balanced_dictionary as balanced_dictionary,
    default_separated_atom as default_separated_atom,
    offset_basis as offset_basis,
    projector_distance as projector_distance,
    regular_simplex as regular_simplex,
    separated_atom as separated_atom,
    separated_offset as separated_offset,
)
from ._turns import (
    atom_velocities as atom_velocities,
    check_skew as check_skew,
    compensated_generator as compensated_generator,
    orbit_bank as orbit_bank,
    skew_basis as skew_basis,
    turned_block as turned_block,
    turns as turns,
    two_atom_generator as two_atom_generator,
)
