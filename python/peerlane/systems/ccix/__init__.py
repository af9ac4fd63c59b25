"""A coherent host, FPGA cards with caches of its memory, and a lock table that they share."""
