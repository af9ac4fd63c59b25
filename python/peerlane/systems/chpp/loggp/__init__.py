"""Calculates the source's LogGP model, and measures its parameters in simulated runs."""
