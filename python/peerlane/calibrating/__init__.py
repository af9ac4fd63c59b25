"""Fits keys of a scenario to measured numbers, and finds keys that the numbers do not determine."""
