"""Other simulators that run the task of `peerlane bench fabric`, if they are installed."""
