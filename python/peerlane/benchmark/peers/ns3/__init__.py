"""The fabric benchmark on ns-3, a simulator of networks."""
