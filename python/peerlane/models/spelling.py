"""Finds misspelt names in a model's class, which would have no effect."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from peerlane.models.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Collection

NEAR = 0.85
"""The similarity of two names, by `difflib`, above which a name counts as a misspelling."""


def refuse_misspelt(model: type, base: type, interface: Collection[str]) -> None:
    """Refuses a class that has a misspelt name of `interface`, and does not have the correct name.

    Raises:
        TypeError: The class has a misspelt name.
    """
    classes = [one for one in model.__mro__ if one not in base.__mro__]
    missing = [key for key in interface if all(key not in vars(one) for one in classes)]
    own = [key for key, one in vars(model).items() if not isinstance(one, Parameter)]
    for key in own:
        if key in interface or key.startswith("_"):
            continue
        for meant in get_close_matches(key.lower(), missing, 1, NEAR):
            right = f"did you mean {meant!r}? If not, begin the name with _"
            raise TypeError(f"{model.__name__}.{key} is no part of a device; {right}")
