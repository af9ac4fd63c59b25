"""Writes reports: pages and charts of results, and the overhead of packets."""
