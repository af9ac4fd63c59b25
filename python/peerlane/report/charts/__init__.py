"""The charts of pages: of a run over time, of its wires and latencies, of published figures."""
