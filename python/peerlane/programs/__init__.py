"""Programs on simulated hosts: host threads, and the ranks of parallel programs."""
