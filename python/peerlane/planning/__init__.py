"""Workloads that a fabric would have to carry."""
