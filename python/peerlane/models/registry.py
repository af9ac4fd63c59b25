"""Registers the models that scenarios of this process can name, in addition to built-in models.

A program or the command line registers a model. A scenario only names models, and loads none.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from peerlane import _core
from peerlane.models.loading import Source, load_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_registered: dict[str, _core.DeviceModel] = {}


@contextmanager
def registered_models(models: Mapping[str, Source]) -> Iterator[None]:
    """Registers `models` in this context, so that scenarios of this process can name them.

    Raises:
        ValueError: A source is not a model, or has the name of a built-in model.
    """
    before = dict(_registered)
    _registered.update({model.name: model for model in load_all(models)})
    try:
        _core.catalogue(all_models())  # refuses the name of a built-in model
        yield
    finally:
        _registered.clear()
        _registered.update(before)


def all_models(models: Mapping[str, Source] | None = None) -> list[_core.DeviceModel]:
    """The registered models and `models`; a model in `models` replaces one of the same name."""
    return list((_registered | {one.name: one for one in load_all(models or {})}).values())


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """All models, profiles and parameters, with the parameters of registered models."""
    return _catalogue(tuple(_registered.values()))


@lru_cache(maxsize=8)
def _catalogue(models: tuple[_core.DeviceModel, ...]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(_core.catalogue(list(models)))
    return found
