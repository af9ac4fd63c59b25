"""A bench for tests of device models, without a fabric."""

from peerlane.testing.bench import Asked, Bench

__all__ = ["Asked", "Bench"]
