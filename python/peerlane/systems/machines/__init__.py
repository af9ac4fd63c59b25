"""Servers with GPUs, as people have measured them."""
