"""Keys that are fitted to measured numbers."""
