"""The class of all warnings about a device model."""

import warnings
from inspect import currentframe
from traceback import walk_stack


class ModelWarning(UserWarning):
    """A device model that is probably wrong; the message has the form `DEVICE: why; the remedy`."""


def warn(message: str) -> None:
    """Warns of a device model, at the nearest calling line outside of Peerlane.

    Warns:
        ModelWarning: Always.
    """
    modules = (str(frame.f_globals.get("__name__")) for frame, _ in walk_stack(currentframe()))
    level = next((at for at, one in enumerate(modules, 1) if one.split(".")[0] != "peerlane"), 1)
    warnings.warn(ModelWarning(message), stacklevel=level)
