"""Published systems: their experiments, their published figures, and the verdict."""
