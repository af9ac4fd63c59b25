"""Runs programs on simulated hosts, which wait for accesses, times and events of devices."""
