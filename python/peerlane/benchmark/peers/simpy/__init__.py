"""The fabric benchmark on SimPy: links are SimPy processes and stores, written for Peerlane."""
