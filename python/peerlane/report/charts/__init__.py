"""Draws the charts of pages: runs over time, wires, latencies, rates, and published values."""
