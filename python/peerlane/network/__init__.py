"""Sweeps the offered load of networks, and calculates bounds of their throughput."""
