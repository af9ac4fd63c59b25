"""Other simulators that do the job of `peerlane bench fabric`, each where it is installed."""
