"""Published systems: their experiments, their published figures, and the comparison of both."""
