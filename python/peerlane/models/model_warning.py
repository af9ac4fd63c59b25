"""Defines the class of all warnings about device models."""

import warnings
from inspect import currentframe
from traceback import walk_stack


class ModelWarning(UserWarning):
    """A warning that a device model is probably wrong: `DEVICE: reason; correction`."""


def warn(message: str) -> None:
    """Warns about a device model, at the nearest line of the call stack outside of Peerlane.

    Warns:
        ModelWarning: Always.
    """
    modules = (str(frame.f_globals.get("__name__")) for frame, _ in walk_stack(currentframe()))
    level = next((at for at, one in enumerate(modules, 1) if one.split(".")[0] != "peerlane"), 1)
    warnings.warn(ModelWarning(message), stacklevel=level)
