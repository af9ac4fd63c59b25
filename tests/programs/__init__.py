"""Programs on simulated hosts."""
