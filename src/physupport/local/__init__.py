"""Sections 2 and 3 of the paper: inference on one supplied coherent block."""
