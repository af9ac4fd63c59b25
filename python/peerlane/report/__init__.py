"""Results to look at: pages, charts, the drawing of a fabric's topology, and its overhead."""
