"""Paths of keys and values, whose parts have dots between them, such as `devices.a.tags`."""

from peerlane._core import join_path, split_path

__all__ = ["join_path", "split_path"]
