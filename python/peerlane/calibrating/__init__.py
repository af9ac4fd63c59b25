"""Fits keys of a scenario to measured numbers, and finds what these numbers cannot tell."""
