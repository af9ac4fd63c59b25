"""The charts of pages: of a run over time, its wires and latencies, and of published figures."""
