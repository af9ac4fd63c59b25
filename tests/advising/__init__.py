"""Rates and all-reduces of GPUs, and changes that matter."""
