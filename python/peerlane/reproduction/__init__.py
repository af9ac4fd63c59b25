"""Simulates published systems, and compares the simulated values with the published values."""
