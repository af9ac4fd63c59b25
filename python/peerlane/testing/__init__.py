"""A test bench for device models, without a fabric."""

from peerlane.testing.bench import Asked, Bench

__all__ = ["Asked", "Bench"]
