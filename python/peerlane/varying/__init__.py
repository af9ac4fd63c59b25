"""Runs of one scenario with some of its keys varied: axes, points, metrics, and who runs them."""
