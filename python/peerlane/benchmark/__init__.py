"""Measures the speed of the simulator, and the speed of other simulators on the same task."""
