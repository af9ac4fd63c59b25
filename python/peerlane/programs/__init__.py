"""Programs on simulated hosts: host threads, and the accesses and times that they wait for."""
