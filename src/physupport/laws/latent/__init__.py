"""Rows with unseen codes: an exact mixture over all active sets."""
