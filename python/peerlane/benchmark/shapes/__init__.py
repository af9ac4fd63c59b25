"""A fixed set of fabrics, measured so that two versions of the simulator compare."""
