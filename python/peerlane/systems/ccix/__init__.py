"""The system ccix: a coherent host, FPGA cards that cache its memory, and a shared lock table."""
