"""Explains the rates of flows, and measures the effect of changes that lift a limit."""
