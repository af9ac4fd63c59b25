"""Reports and drawings."""
