"""Parallel programs: the calls of a rank, and the run of all ranks."""
