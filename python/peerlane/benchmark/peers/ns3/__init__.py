"""The job on ns-3, a simulator of networks."""
