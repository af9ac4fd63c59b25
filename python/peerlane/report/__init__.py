"""Results to look at: pages, charts, and the overhead of packets."""
