"""Calculates which workloads a fabric can carry."""
