"""Intel Programmable Acceleration Card with OPAE."""
