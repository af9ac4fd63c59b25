"""Loads device models from classes, objects, Python files and shared libraries."""

from __future__ import annotations

import inspect
import re
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from peerlane import _core
from peerlane.models.device import Device, declaration, name_of
from peerlane.models.parameter import OWN
from peerlane.models.python_file import load_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

    from typing_extensions import TypeIs

    from peerlane.models.parameter import Written


class Library:
    """A model in a shared library, such as `Library("target/release/libssd.so")`.

    Args:
        path: The path of the library.

    Raises:
        ValueError: The file has no model, or a model for another version of the interface.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self.name = self.path.stem.removeprefix("lib").replace("_", "-")
        load(self.name, self)


Source = type[Device] | Device | Library | str | PathLike[str]
"""What a device model can be loaded from: a class, an object, which is the only device of the
model, or a file (`FILE.py:CLASS`, `libNAME.so`)."""


def name(source: type[Device] | Device | Library) -> str:
    """The name of a model that is used without a given name."""
    if isinstance(source, Library):
        return source.name
    return name_of(source if isinstance(source, type) else type(source))


def load_all(models: Mapping[str, Source]) -> list[_core.DeviceModel]:
    """Loads models; their keys are their names in scenarios.

    Raises:
        ValueError: A source is not a model; the message has the reason.
    """
    return [load(name, source) for name, source in models.items()]


def load(name: str, source: object) -> _core.DeviceModel:
    """Loads a model, whose code is run; `name` is its name in scenarios.

    Raises:
        TypeError: `source` is no class, object, library or file.
        ValueError: `source` has no model; the message has the reason.
    """
    if isinstance(source, Library):
        source = source.path
    if isinstance(source, str | PathLike):
        path, wanted = _split(fspath(source))
        if path.is_dir():
            right = (
                "write the path of a Python file or a library, such as target/release/libNAME.so"
            )
            raise ValueError(f"{path} is a folder; {right}")
        if not path.exists() and path.with_suffix(".py").is_file():
            raise ValueError(f"there is no file {path}; write {path.with_suffix('.py')}")
        if path.suffix != ".py":
            return _library(name, path, _changed(path))
        return _of_file(name, path, wanted, _changed(path))
    if isinstance(source, type) and issubclass(source, Device):
        return _of_class(name, source)  # type: ignore[arg-type]
    if isinstance(source, Device):
        return _of_object(name, source)
    right = "give a class derived from peerlane.Device, an object of it, a Library or a file"
    raise TypeError(f"{source!r} is no device model; {right}")


def settings_of(device: Device) -> dict[str, Written]:
    """The parameters that a program has set on a device, with values in the form of scenarios."""
    return dict(vars(device).get(OWN, {}))


Own = type[Device] | Device | Library


def with_model(models: Mapping[str, Own], model: object) -> tuple[str, dict[str, Own]]:
    """Adds a model to the models of a scenario; returns its name, and all models.

    If another model has the same name, a number is added to the name.

    Raises:
        TypeError: `model` is not a model.
        ValueError: `model` is an object that is already a device of the scenario.
    """
    if not is_model(model):
        right = "give a built-in model's name, a class derived from peerlane.Device, or a Library"
        raise TypeError(f"{model!r} is no device model; {right}")
    first = known_as = name(model)
    number = 1
    while known_as in models:
        known = models[known_as]
        if isinstance(model, Device) and known is model:
            own = type(model).__name__
            right = f"give each device its own {own}(), or the class"
            raise ValueError(f"this {own} is another device of the fabric already; {right}")
        if not isinstance(model, Device) and _is_same(known, model):
            return known_as, dict(models)
        number += 1
        known_as = f"{first}-{number}"
    return known_as, {**models, known_as: model}


def refuse_file(model: str | None) -> None:
    """Refuses the path of a file as the argument that must be the name of a model.

    Raises:
        TypeError: `model` is a path.
    """
    if model is not None and model.endswith((".py", ".so", ".dylib")):
        right = "the class itself" if model.endswith(".py") else f"peerlane.Library({model!r})"
        raise TypeError(f"{model!r} is a file, and no name of a model; give {right}")


def is_model(model: object) -> TypeIs[Own]:
    """Whether `source` is a model itself, and not the path of a file."""
    is_class = isinstance(model, type) and issubclass(model, Device)
    return is_class or isinstance(model, Device | Library)


def _is_same(one: Own, other: Own) -> bool:
    if isinstance(one, Library) and isinstance(other, Library):
        return one.path == other.path
    return one is other


def refuse_many(models: Mapping[str, Own]) -> None:
    """Refuses objects as models if a fabric is simulated several times at once.

    Raises:
        ValueError: One of the models is an object.
    """
    objects = [model for model in models.values() if isinstance(model, Device)]
    if objects:
        own = type(objects[0]).__name__
        raise ValueError(
            f"an object of {own} is one device, and many are simulated; give the class {own}"
        )


def _split(source: str) -> tuple[Path, str]:
    """The path of a file, and the name of the class in it, if one is given."""
    found = re.fullmatch(r"(.*\.py):(\w*)", source)
    return (Path(found[1]), found[2]) if found else (Path(source), "")


def _changed(path: Path) -> int:
    """The time of a file's last change, for which the file is loaded again."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=64)
def _library(name: str, path: Path, changed: int) -> _core.DeviceModel:
    del changed
    return _core.load_model(name, str(path))


@lru_cache(maxsize=64)
def _of_class(name: str, model: type[Device]) -> _core.DeviceModel:
    try:
        inspect.signature(model.__init__).bind("self")
    except TypeError as error:
        right = "declare its arguments as a Parameter each"
        raise ValueError(f"{model.__name__} cannot be made ({error}); {right}") from None

    def make(device: str, values: dict[str, Any]) -> Device:
        return _made(device, _with_values(model(), values))

    return _core.DeviceModel(name, declaration(model), make)


def _of_object(name: str, device: Device) -> _core.DeviceModel:
    def make(known_as: str, values: dict[str, Any]) -> Device:
        return _made(known_as, _with_values(device, values))

    return _core.DeviceModel(name, declaration(type(device), settings_of(device)), make)


Devices = WeakValueDictionary[str, Device]
"""The devices of a simulation that have a model in Python, by their names."""

_making: ContextVar[Devices | None] = ContextVar("making", default=None)


@contextmanager
def devices_made() -> Iterator[Devices]:
    """Collects the devices that are created in this context."""
    devices: Devices = WeakValueDictionary()
    token = _making.set(devices)
    try:
        yield devices
    finally:
        _making.reset(token)


def _made(name: str, device: Device) -> Device:
    """Sets the name of a device, and adds the device to the simulation that is being created."""
    vars(device).update(_known_as=name, _has_dropped=False)
    devices = _making.get()
    if devices is not None:
        devices[name] = device
    return device


def _with_values(device: Device, values: dict[str, Any]) -> Device:
    own = settings_of(device)
    for key, value in values.items():
        setattr(device, key, value)
    # Only values that the user's program has set stay recorded, not the values for one simulation.
    vars(device)[OWN] = own
    return device


@lru_cache(maxsize=64)
def _of_file(name: str, path: Path, wanted: str, changed: int) -> _core.DeviceModel:
    del changed
    module = _module(path)
    found = [
        one
        for _, one in inspect.getmembers(module, inspect.isclass)
        if issubclass(one, Device) and one.__module__ == module.__name__
    ]
    named = [one for one in found if one.__name__ == wanted] if wanted else found
    if len(named) != 1:
        names = [one.__name__ for one in found]
        other = getattr(module, wanted, None) if wanted else None
        if isinstance(other, type):
            right = f"write class {wanted}(peerlane.Device) in this file"
            raise ValueError(f"{path}: {wanted} is not a model of this file; {right}")
        if not names:
            right = "write class MyDevice(peerlane.Device)"
            raise ValueError(f"{path} has no class derived from peerlane.Device; {right}")
        advice = _core.advice(wanted, names) if wanted else f"write {path}:{names[0]}"
        has = f"no class {wanted!r}" if wanted else f"several models ({', '.join(names)})"
        raise ValueError(f"{path} has {has}; {advice}")
    try:
        return _of_class(name, named[0])  # type: ignore[arg-type]
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _module(path: Path) -> ModuleType:
    if not path.is_file():
        raise ValueError(f"there is no file {path}; write the path of a Python file or a library")
    return load_file(path, "peerlane_model")
