"""Results for readers: pages, charts, and the overhead of packets."""
