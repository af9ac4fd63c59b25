"""Scenarios and their keys, fabrics after enumeration, and their simulation."""
