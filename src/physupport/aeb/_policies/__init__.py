"""Which explanation to ask about next."""
