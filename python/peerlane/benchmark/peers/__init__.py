"""Other simulators that run the job of `peerlane bench fabric`, if they are installed."""
