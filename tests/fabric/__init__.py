"""Fabrics and simulations: building, settings, workloads and what happens in them."""
