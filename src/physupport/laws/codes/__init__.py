"""Laws of the calibration coefficients, and the Gaussian mixtures they make of the rows."""
