from ._identify import as_spectra as as_spectra, identify as identify
