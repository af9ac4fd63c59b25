"""The base class of the exceptions of Peerlane."""

from __future__ import annotations

from peerlane._core import ModelError, ScenarioError, UnitError


class PeerlaneError(Exception):
    """The base class of all exceptions that Peerlane raises of its own.

    Each is a `ValueError`, a `RuntimeError` or a `LookupError`, too, where one of these fits.
    """

    __slots__ = ()


for _error in (ModelError, ScenarioError, UnitError):
    # The simulator makes them before this class is there.
    _error.__bases__ = (PeerlaneError, *_error.__bases__)
