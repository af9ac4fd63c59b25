"""Measured numbers, from the files of the tools that measure them."""
