"""Circuits in the place of device models."""
