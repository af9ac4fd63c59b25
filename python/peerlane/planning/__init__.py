"""Workloads for which a fabric can be planned."""
