"""Gaussian rows: known codes, a covariance, a mean, a mean with open coefficients."""
