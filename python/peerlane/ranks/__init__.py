"""Runs parallel programs on simulated hosts, and provides the calls of their ranks."""
