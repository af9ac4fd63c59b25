"""Other simulators, doing the same job in the same run."""
