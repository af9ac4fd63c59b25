"""Programs on simulated hosts: host threads, and what they wait for."""
