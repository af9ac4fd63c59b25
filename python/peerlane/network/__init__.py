"""Networks under load: sweeps of the offered load, and the bounds of the throughput."""
