"""Runs a scenario with different values of some keys, and compares the results."""
