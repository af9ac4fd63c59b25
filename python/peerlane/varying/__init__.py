"""Runs of one scenario with different values of some keys: axes, points, metrics and workers."""
