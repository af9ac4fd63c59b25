"""Draws the topology of a fabric as an SVG element, for a page, a notebook or a paper."""

from peerlane.topology.draw import draw

__all__ = ["draw"]
