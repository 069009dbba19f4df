"""Oracles: short, plain, slow Python that says what is right."""
