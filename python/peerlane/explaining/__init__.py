"""Explanations of the rates of flows, and the effect of changes that lift a limit."""
