"""Fabrics built in code."""
