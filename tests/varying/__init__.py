"""Sweeps, repeated runs and clusters."""
