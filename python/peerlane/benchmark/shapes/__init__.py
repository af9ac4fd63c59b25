"""A fixed set of fabrics, by which two versions of the simulator are compared."""
