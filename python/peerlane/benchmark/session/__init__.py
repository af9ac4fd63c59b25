"""Measures the real time of programs in sessions against a bare socket and `peerlane run`."""
