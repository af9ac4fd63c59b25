"""How fast the simulator is."""
