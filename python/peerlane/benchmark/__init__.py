"""The speed of the simulator itself, and of other simulators on the same task."""
