"""Parallel programs: what a rank can do, and the run of all ranks."""
